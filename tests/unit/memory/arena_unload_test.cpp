// What unloading writes, and that everything reads back bit for bit.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <thread>

#include "arena_fixture.h"
#include "seed.h"
#include "storage/refusing_kernel.h"

namespace spillway::memory {
namespace {

constexpr uint64_t kPage = kPageBytes;

TEST_F(ArenaTest, takes_unloaded_memory_out_of_memory) {
  unsigned char* memory = allocate(4 * kMiB);
  fill(memory, 4 * kMiB, 3);
  const UnloadResult result = unload();
  EXPECT_EQ(result.released_bytes, 4 * kMiB);
  EXPECT_EQ(result.written_bytes, 4 * kMiB);
  EXPECT_EQ(result.loaded_bytes, 0u);
  EXPECT_EQ(bytes_in_state(memory, 4 * kMiB, PageState::absent), 4 * kMiB);
  EXPECT_TRUE(is_filled(memory, 4 * kMiB, 3));
}

TEST_F(ArenaTest, writes_only_pages_that_were_ever_touched) {
  unsigned char* memory = allocate(kMiB);  // less than a huge page
  for (uint64_t page : {3, 4, 5, 100, 255}) memory[page * kPage + 7] = 1;
  const uint64_t touched = bytes_in_state(memory, kMiB, PageState::dirty);
  EXPECT_EQ(unload_and_charge_again().written_bytes, touched);
  EXPECT_GE(touched, 5 * kPage);
  EXPECT_LE(touched, 320 * kKiB);  // kernels may bring in up to 64 KiB at a time
}

TEST_F(ArenaTest, writes_nothing_for_memory_that_was_never_touched) {
  unsigned char* memory = allocate(64 * kMiB);
  EXPECT_EQ(unload_and_charge_again().written_bytes, 0u);
  EXPECT_TRUE(is_zero(memory, 64 * kMiB));
}

TEST_F(ArenaTest, never_writes_clean_memory_twice) {
  unsigned char* memory = allocate(8 * kMiB);
  fill(memory, 8 * kMiB, 1);
  unload_and_charge_again();
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(is_filled(memory, 8 * kMiB, 1));
    const UnloadResult result = unload_and_charge_again();
    EXPECT_EQ(result.written_bytes, 0u);
    EXPECT_EQ(result.loaded_bytes, 8 * kMiB);
  }
  EXPECT_EQ(unload_and_charge_again().loaded_bytes, 0u) << "not touched since the last unload";
}

TEST_F(ArenaTest, writes_exactly_the_pages_that_changed_when_they_lie_apart) {
  unsigned char* memory = allocate(8 * kMiB);
  fill(memory, 8 * kMiB, 1);
  unload_and_charge_again();
  uint64_t changed = 0;
  for (uint64_t at = 0; at < 8 * kMiB; at += 17 * kPage + 64 * kKiB) {
    memory[at + 5] ^= 0xff;
    changed += kPage;
  }
  EXPECT_EQ(unload_and_charge_again().written_bytes, changed);
  for (uint64_t at = 0; at < 8 * kMiB; at += 17 * kPage + 64 * kKiB) memory[at + 5] ^= 0xff;
  EXPECT_TRUE(is_filled(memory, 8 * kMiB, 1));
}

TEST_F(ArenaTest, leaves_the_stack_alone_that_it_runs_on) {
  static Arena* arena;
  static UnloadResult result;
  arena = &arena_;
  unsigned char* stack = allocate(kMiB);
  unsigned char* memory = allocate(kMiB);
  fill(memory, kMiB, 1);
  ucontext_t here{}, there{};
  getcontext(&there);
  there.uc_stack.ss_sp = stack;
  there.uc_stack.ss_size = kMiB;
  there.uc_link = &here;
  makecontext(
      &there, +[] { result = arena->unload(kEverything); }, 0);
  swapcontext(&here, &there);
  EXPECT_EQ(result.released_bytes, kMiB);
  EXPECT_GT(bytes_in_state(stack, kMiB, PageState::dirty), 0u);
  EXPECT_EQ(bytes_in_state(memory, kMiB, PageState::absent), kMiB);
  EXPECT_TRUE(is_filled(memory, kMiB, 1));
}

TEST_F(ArenaTest, writes_close_pages_in_one_piece) {
  unsigned char* memory = allocate(2 * kMiB);
  fill(memory, 2 * kMiB, 1);
  unload_and_charge_again();
  memory[10 * kPage] ^= 0xff;
  memory[20 * kPage] ^= 0xff;
  EXPECT_EQ(unload_and_charge_again().written_bytes, 11 * kPage);
  memory[10 * kPage] ^= 0xff;
  memory[20 * kPage] ^= 0xff;
  EXPECT_TRUE(is_filled(memory, 2 * kMiB, 1));
}

TEST_F(ArenaTest, shows_zeros_where_the_place_in_the_file_had_another_user_before) {
  unsigned char* old = allocate(8 * kMiB);
  fill(old, 8 * kMiB, 9);
  unload_and_charge_again();
  arena_.free(old);
  unsigned char* fresh = allocate(8 * kMiB);
  ASSERT_EQ(fresh, old);
  fresh[3 * kMiB] = 1;
  unload_and_charge_again();
  EXPECT_EQ(fresh[3 * kMiB], 1);
  fresh[3 * kMiB] = 0;
  EXPECT_TRUE(is_zero(fresh, 8 * kMiB));
  unload_and_charge_again();
  EXPECT_TRUE(is_zero(fresh, 8 * kMiB));
}

TEST_F(ArenaTest, shows_zeros_where_smaller_allocations_follow_a_larger_one) {
  unsigned char* old = allocate(4 * kMiB);
  fill(old, 4 * kMiB, 9);
  unload_and_charge_again();
  arena_.free(old);
  for (int i = 0; i < 32; ++i) {
    unsigned char* small = allocate(128 * kKiB);
    ASSERT_TRUE(small >= old && small < old + 4 * kMiB);
    small[i * kPage] = 1;
    unload_and_charge_again();
    small[i * kPage] = 0;
    ASSERT_TRUE(is_zero(small, 128 * kKiB));
  }
}

TEST_F(ArenaTest, keeps_pages_that_were_only_read_before_as_zeros) {
  unsigned char* memory = allocate(4 * kMiB);
  EXPECT_TRUE(is_zero(memory, 4 * kMiB));
  unload_and_charge_again();
  EXPECT_TRUE(is_zero(memory, 4 * kMiB));
}

// Every state that memory can be in, in random order, against a copy of it that is never unloaded.
class RandomUnloadTest : public ArenaTest {
 public:
  explicit RandomUnloadTest(const std::filesystem::path& parent = std::filesystem::temp_directory_path())
      : ArenaTest(parent) {}

 protected:
  using Shadow = std::vector<unsigned char>;

  void SetUp() override {
    arena_.heed(overwrites_);
    ArenaTest::SetUp();
  }

  void play(uint64_t seed, int steps) {
    Random random(seed);
    for (int step = 0; step < steps && !HasFailure(); ++step) {
      const uint64_t dice = random.below(100);
      if (dice < 20 || shadows_.empty())
        add(random);
      else if (dice < 28)
        remove(any(random));
      else if (dice < 38)
        overwrite(*any(random), random);
      else if (dice < 70)
        change(*any(random), random);
      else if (dice < 80)
        compare(*any(random));
      else if (dice < 85)
        arena_.load_expected(random.one_in(2) ? Expected::used : Expected::rewritten);
      else
        unload_some(random);
    }
    charge_all();  // changes were made while it was not charged, as other threads may
    unload_and_charge_again();
    for (auto& entry : shadows_) compare(entry);
    EXPECT_EQ(unload_and_charge_again().written_bytes, 0u) << "it has only been read since the last unload";
    while (!shadows_.empty()) remove(shadows_.begin());
    EXPECT_EQ(Account::managed, 0u);
    EXPECT_EQ(Account::resident, 0u);
  }

 private:
  using Entries = std::map<unsigned char*, Shadow>;

  Entries::iterator any(Random& random) {
    return std::next(shadows_.begin(), static_cast<std::ptrdiff_t>(random.below(shadows_.size())));
  }

  void add(Random& random) {
    if (arena_.managed_bytes() > 48 * kMiB) return remove(any(random));
    const uint64_t bytes = 1 + random.below(random.one_in(3) ? 9 * kMiB : 600 * kKiB);
    unsigned char* memory = allocate(bytes);
    ASSERT_NE(memory, nullptr);
    shadows_[memory] = Shadow(arena_.usable_bytes(memory));
  }

  void remove(Entries::iterator entry) {
    compare(*entry);
    arena_.free(entry->first);
    shadows_.erase(entry);
  }

  void change(Entries::value_type& entry, Random& random) {
    auto& [memory, shadow] = entry;
    const uint64_t begin = random.below(shadow.size());
    const uint64_t length = 1 + random.below(random.one_in(2) ? 10000 : shadow.size() - begin);
    const uint64_t end = std::min<uint64_t>(begin + length, shadow.size());
    const uint64_t stride = random.one_in(3) ? 1 : 1 + random.below(random.one_in(2) ? 3 * kPage : 50 * kPage);
    const auto value = static_cast<unsigned char>(random.below(256));
    for (uint64_t at = begin; at < end; at += stride) memory[at] = shadow[at] = static_cast<unsigned char>(value + at);
  }

  // As a receive does that the rank waits for.
  void overwrite(Entries::value_type& entry, Random& random) {
    auto& [memory, shadow] = entry;
    const uint64_t begin = random.below(shadow.size());
    const uint64_t bytes = 1 + random.below(shadow.size() - begin);
    const bool is_whole = random.one_in(2);
    {
      const Overwrite expected(overwrites_, memory + begin, bytes, is_whole);
      if (!random.one_in(3)) unload_some(random);
      if (random.one_in(2)) arena_.load_expected(random.one_in(2) ? Expected::used : Expected::rewritten);
    }
    const uint64_t come = is_whole ? bytes : 1 + random.below(bytes);
    arena_.renew(memory + begin, come);
    const auto value = static_cast<unsigned char>(random.below(256));
    for (uint64_t at = begin; at < begin + come; ++at) memory[at] = shadow[at] = static_cast<unsigned char>(value + at);
  }

  void compare(Entries::value_type& entry) {
    EXPECT_EQ(memcmp(entry.first, entry.second.data(), entry.second.size()), 0);
  }

  void unload_some(Random& random) {
    const uint64_t wanted = random.one_in(3) ? kEverything : random.below(Account::managed + kMiB);
    const uint64_t resident_before = Account::resident;
    const UnloadResult result = unload(wanted);
    EXPECT_GE(result.released_bytes, std::min(wanted, resident_before));
    EXPECT_LE(result.written_bytes, result.released_bytes);
    if (random.one_in(2)) charge_all();
  }

  Entries shadows_;
  Overwrites overwrites_;
};

TEST_F(RandomUnloadTest, reads_back_bit_for_bit) { play(test_seed(), 600); }

class RandomUnloadInMemoryTest : public RandomUnloadTest {
 public:
  RandomUnloadInMemoryTest() : RandomUnloadTest("/dev/shm") {}
};

TEST_F(RandomUnloadInMemoryTest, reads_back_bit_for_bit_from_a_file_system_in_memory) { play(test_seed(), 300); }

class RandomUnloadDeathTest : public RandomUnloadTest {
 protected:
  [[noreturn]] void play_without(storage::Refusal refusal) {
    storage::refuse(refusal);
    new (&arena_) Arena(kAddressBytes);  // the one that SetUp attached has its file already
    SetUp();
    play(test_seed(), 150);
    _exit(HasFailure() ? 1 : 0);
  }
};

TEST_F(RandomUnloadDeathTest, reads_back_bit_for_bit_without_direct_writing) {
  EXPECT_EXIT(play_without(storage::Refusal::direct_flag), testing::ExitedWithCode(0), "");
}

TEST_F(RandomUnloadDeathTest, reads_back_bit_for_bit_without_preallocation) {
  EXPECT_EXIT(play_without(storage::Refusal::preallocation), testing::ExitedWithCode(0), "");
}

TEST_F(RandomUnloadDeathTest, reads_back_bit_for_bit_without_nameless_files) {
  EXPECT_EXIT(play_without(storage::Refusal::nameless_files), testing::ExitedWithCode(0), "");
}

TEST_F(RandomUnloadDeathTest, ends_with_a_message_when_the_device_is_full) {
  EXPECT_EXIT(play_without(storage::Refusal::space), testing::ExitedWithCode(1),
              "cannot put .* MiB more into the spill directory");
}

// A thread that counts in memory, and can be stopped between two stores.
class ThreadControlTest : public ArenaTest {
 protected:
  void SetUp() override {
    may_stop = true;
    stops = reached = released = 0;
    arena_.control_threads(ThreadControl{stop, [] { released = stops.load(); }});
    ArenaTest::SetUp();
  }

  static ThreadsAre stop() {
    if (!may_stop) return ThreadsAre::not_now;
    ++stops;
    while (reached < stops) sched_yield();
    return ThreadsAre::stopped;
  }

  static void heed_stop() {
    const uint64_t number = stops;
    if (number == released) return;
    reached = number;
    while (released < number) sched_yield();
  }

  static void need_no_stop() { reached = ~uint64_t{0}; }

  static inline std::atomic<bool> may_stop;
  static inline std::atomic<uint64_t> stops, reached, released;
};

TEST_F(ThreadControlTest, loses_no_store_of_a_thread_that_is_stopped_meanwhile) {
  unsigned char* memory = allocate(4 * kMiB);
  std::atomic<bool> is_over = false;
  std::thread other([&] {
    for (uint64_t count = 0; !is_over || count % (kMiB / 2) != 0; ++count) {
      auto& value = reinterpret_cast<uint64_t*>(memory)[count % (kMiB / 2)];
      if (value != count / (kMiB / 2)) {
        ADD_FAILURE() << "store " << count << " found " << value;
        break;
      }
      ++value;
      heed_stop();
    }
    need_no_stop();
  });
  for (int round = 0; round < 100; ++round) {
    unload_and_charge_again();
    arena_.unload_again();
    arena_.load_expected(Expected::rewritten);
  }
  is_over = true;
  other.join();
}

// No thread writes to the range itself. All of the region is unloaded for the first time, and when a part was renewed.
TEST_F(ThreadControlTest, loses_no_store_beside_a_range_that_is_unloaded) {
  unsigned char* memory = allocate(4 * kMiB);
  std::atomic<bool> is_over = false;
  std::thread other([&] {
    constexpr uint64_t kWords = 2 * kMiB / sizeof(uint64_t);
    auto* words = reinterpret_cast<uint64_t*>(memory + 2 * kMiB);
    for (uint64_t count = 0; !is_over || count % kWords != 0; ++count) {
      if (words[count % kWords] != count / kWords) {
        ADD_FAILURE() << "store " << count << " found " << words[count % kWords];
        break;
      }
      ++words[count % kWords];
      heed_stop();
    }
    need_no_stop();
  });
  for (int round = 0; round < 100; ++round) {
    memset(memory, round, 2 * kMiB);
    UnloadResult result;
    EXPECT_EQ(arena_.unload_range(memory, kMiB, result), RangeResult::done);
    arena_.renew(memory, 2 * kMiB);
  }
  is_over = true;
  other.join();
  EXPECT_GE(stops, 50u);
}

TEST_F(ThreadControlTest, unloads_nothing_beside_a_range_while_threads_cannot_be_stopped) {
  unsigned char* memory = allocate(4 * kMiB);
  fill(memory, 4 * kMiB, 1);
  may_stop = false;
  UnloadResult result;
  EXPECT_EQ(arena_.unload_range(memory, kMiB, result), RangeResult::pinned);
  EXPECT_EQ(result.written_bytes, 0u);
  EXPECT_EQ(bytes_in_state(memory, 4 * kMiB, PageState::dirty), 4 * kMiB);
  EXPECT_EQ(arena_.unload_range(memory, 4 * kMiB, result), RangeResult::done);
  EXPECT_TRUE(is_filled(memory, 4 * kMiB, 1));
  EXPECT_EQ(arena_.unload_range(memory, kMiB, result), RangeResult::done);
}

TEST_F(ThreadControlTest, gives_up_only_spare_regions_while_threads_cannot_be_stopped) {
  unsigned char* memory = allocate(4 * kMiB);
  fill(memory, 4 * kMiB, 1);
  may_stop = false;
  const UnloadResult refused = unload();
  EXPECT_TRUE(refused.is_refused);
  EXPECT_EQ(refused.released_bytes + refused.written_bytes, 0u);
  EXPECT_EQ(bytes_in_state(memory, 4 * kMiB, PageState::dirty), 4 * kMiB);
  may_stop = true;
  need_no_stop();
  const UnloadResult result = unload();
  EXPECT_FALSE(result.is_refused);
  EXPECT_EQ(result.released_bytes, 4 * kMiB);
  EXPECT_TRUE(is_filled(memory, 4 * kMiB, 1));
}

}  // namespace
}  // namespace spillway::memory
