#include "memory/small_heap.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>

#include "arena_fixture.h"
#include "seed.h"

namespace spillway::memory {
namespace {

class SmallHeapTest : public ArenaTest {
 protected:
  unsigned char* take(size_t bytes, size_t alignment = 1) {
    return static_cast<unsigned char*>(heap_.allocate(bytes, alignment, cache_));
  }
  void give(void* memory) { heap_.free(memory, cache_); }

  std::vector<unsigned char*> take_many(size_t count, size_t bytes) {
    std::vector<unsigned char*> all(count);
    for (unsigned char*& each : all) {
      each = take(bytes);
      fill(each, bytes, reinterpret_cast<uint64_t>(each));
    }
    return all;
  }
  void give_all(const std::vector<unsigned char*>& all) {
    for (unsigned char* each : all) give(each);
  }

  // The page with the address.
  static bool is_page(const void* address, PageState state) {
    const Pages page = pages_around(address, 1);
    return bytes_in_state(page.address(), page.bytes, state) == kPageBytes;
  }

  SmallHeap heap_{arena_};
  ThreadCache cache_{};
};

TEST_F(SmallHeapTest, gives_at_least_the_size_asked_for_and_at_most_a_quarter_or_a_page_more) {
  for (size_t bytes = 0; bytes <= SmallHeap::kMostBytes; bytes += bytes < 2000 ? 1 : 997) {
    unsigned char* memory = take(bytes);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<uint64_t>(memory) % 16, 0u);
    const size_t usable = heap_.usable_bytes(memory);
    EXPECT_GE(usable, bytes);
    EXPECT_LE(usable, bytes <= 8192 ? std::max<size_t>(bytes + 16, bytes + bytes / 4) : bytes + kPageBytes) << bytes;
    fill(memory, usable, bytes);
    EXPECT_TRUE(heap_.contains(memory));
  }
}

TEST_F(SmallHeapTest, aligns_as_asked) {
  for (size_t alignment = 1; alignment <= SmallHeap::kMostAlignment; alignment *= 2)
    for (size_t bytes :
         {size_t{1}, size_t{24}, size_t{100}, size_t{1000}, size_t{5000}, size_t{9000}, size_t{200000}}) {
      unsigned char* memory = take(bytes, alignment);
      EXPECT_EQ(reinterpret_cast<uint64_t>(memory) % alignment, 0u) << bytes << " bytes, alignment " << alignment;
      EXPECT_GE(heap_.usable_bytes(memory), bytes);
    }
}

TEST_F(SmallHeapTest, knows_its_pieces_from_large_allocations) {
  EXPECT_FALSE(heap_.contains(allocate(kMiB)));
  EXPECT_TRUE(heap_.contains(take(100)));
}

TEST_F(SmallHeapTest, gives_freed_pieces_out_again) {
  unsigned char* first = take(100);
  give(first);
  EXPECT_EQ(take(100), first);
  unsigned char* whole = take(100 * kKiB);
  give(whole);
  EXPECT_EQ(take(100 * kKiB), whole);
}

// What a list of `count` pieces takes, and that freeing them in any order leaves nothing.
TEST_F(SmallHeapTest, charges_little_more_than_what_is_used_and_gives_all_back) {
  for (size_t bytes : {size_t{16}, size_t{80}, size_t{1024}, size_t{5000}, size_t{40000}}) {
    auto all = take_many(20 * kMiB / bytes, bytes);
    const auto used = static_cast<double>(all.size() * heap_.usable_bytes(all[0]));
    EXPECT_LT(static_cast<double>(Account::managed), used * 1.3) << bytes;
    std::mt19937_64 random(test_seed());
    std::shuffle(all.begin(), all.end(), random);
    give_all(all);
    heap_.flush(cache_);
    heap_.tidy();
    EXPECT_EQ(Account::managed, 0u) << bytes;
  }
}

TEST_F(SmallHeapTest, uses_what_has_been_freed_before_it_takes_more) {
  give_all(take_many(2000, 5000));
  const uint64_t charged = Account::managed;
  for (int round = 0; round < 20; ++round) give_all(take_many(2000, 5000));
  EXPECT_LE(Account::managed, charged + 2 * kMiB);
  give_all(take_many(10, 100));
  EXPECT_LE(Account::managed, charged + 2 * kMiB);
}

TEST_F(SmallHeapTest, begins_with_little) {
  take(1);
  EXPECT_EQ(Account::managed, 64 * kKiB);
}

TEST_F(SmallHeapTest, keeps_the_contents_on_storage) {
  const auto all = take_many(20000, 300);
  for (int round = 0; round < 3; ++round) {
    unload_and_charge_again();
    for (unsigned char* each : all) ASSERT_TRUE(is_filled(each, 300, reinterpret_cast<uint64_t>(each)));
  }
}

TEST_F(SmallHeapTest, is_unloaded_after_large_allocations) {
  const auto all = take_many(2000, 1000);
  unsigned char* large = allocate(8 * kMiB);
  fill(large, 8 * kMiB, 1);
  unload(8 * kMiB);
  EXPECT_EQ(bytes_in_state(large, 8 * kMiB, PageState::absent), 8 * kMiB);
  EXPECT_TRUE(is_page(all[0], PageState::dirty));
  unload();
  EXPECT_TRUE(is_page(all[0], PageState::absent));
}

TEST_F(SmallHeapTest, brings_nothing_back_to_allocate_and_to_free) {
  const auto all = take_many(4000, 1000);
  unload_and_charge_again();
  for (size_t i = 0; i < all.size(); i += 2) give(all[i]);
  for (size_t i = 0; i < all.size() / 4; ++i) take(1000);
  uint64_t resident = 0;
  for (unsigned char* each : all) resident += !is_page(each, PageState::absent);
  EXPECT_EQ(resident, 0u);
}

TEST_F(SmallHeapTest, writes_nothing_of_what_has_been_freed) {
  const auto all = take_many(100, 100 * kKiB);
  for (size_t i = 1; i < all.size(); ++i) give(all[i]);
  heap_.tidy();
  EXPECT_LE(unload().written_bytes, 200 * kKiB);
  EXPECT_TRUE(is_filled(all[0], 100 * kKiB, reinterpret_cast<uint64_t>(all[0])));
}

TEST_F(SmallHeapTest, resizes_in_place_what_fits_and_is_not_much_too_large) {
  unsigned char* memory = take(1000);
  EXPECT_TRUE(heap_.resize_in_place(memory, 1024));
  EXPECT_TRUE(heap_.resize_in_place(memory, 600));
  EXPECT_FALSE(heap_.resize_in_place(memory, 100));
  EXPECT_FALSE(heap_.resize_in_place(memory, 1025));
  EXPECT_TRUE(heap_.resize_in_place(take(1), 7));
}

TEST_F(SmallHeapTest, ends_the_process_for_what_is_no_allocation) {
  unsigned char* piece = take(100);
  unsigned char* whole = take(20000);
  EXPECT_EXIT(give(piece + 16), testing::ExitedWithCode(1), "is not the beginning of an allocation");
  EXPECT_EXIT(give(whole + kPageBytes), testing::ExitedWithCode(1), "is not the beginning of an allocation");
  EXPECT_EXIT(heap_.usable_bytes(whole + 16), testing::ExitedWithCode(1), "is not the beginning of an allocation");
  give(whole);
  EXPECT_EXIT(give(whole), testing::ExitedWithCode(1), "is not the beginning of an allocation");
  unsigned char* large_piece = take(5000);
  give(large_piece);
  EXPECT_EXIT(give(large_piece), testing::ExitedWithCode(1), "is not the beginning of an allocation");
}

TEST_F(SmallHeapTest, keeps_nothing_for_a_thread_that_has_ended) {
  give_all(take_many(1000, 100));
  cache_.close();
  heap_.flush(cache_);
  give(take(100));
  heap_.tidy();
  EXPECT_EQ(Account::managed, 0u);
}

TEST_F(SmallHeapTest, says_when_the_system_has_no_memory) {
  Arena full(1);  // fewer addresses than are worth reserving
  SmallHeap heap(full);
  EXPECT_EQ(heap.allocate(100, 1, cache_), nullptr);
}

// Allocates, frees and resizes at random, and unloads now and then; each allocation is as it was filled.
TEST_F(SmallHeapTest, keeps_every_byte_of_a_random_program) {
  std::mt19937_64 random(test_seed());
  std::map<unsigned char*, std::pair<size_t, uint64_t>> live;  // bytes and what they were filled with
  const auto random_bytes = [&] { return random() % (size_t{1} << (4 + random() % 14)); };
  for (uint64_t step = 0; step < 60000; ++step) {
    if (live.size() < 100 || (random() % 2 == 0 && live.size() < 3000)) {
      const size_t bytes = random_bytes();
      unsigned char* memory = take(bytes, size_t{1} << random() % 9);
      const auto next = live.lower_bound(memory);
      ASSERT_TRUE(next == live.end() || memory + bytes <= next->first);
      ASSERT_TRUE(next == live.begin() || std::prev(next)->first + std::prev(next)->second.first <= memory);
      fill(memory, bytes, step);
      live[memory] = {bytes, step};
    } else {
      auto chosen = live.lower_bound(std::prev(live.end())->first - random() % (64 * kMiB));
      if (chosen == live.end()) chosen = live.begin();
      ASSERT_TRUE(is_filled(chosen->first, chosen->second.first, chosen->second.second));
      give(chosen->first);
      live.erase(chosen);
    }
    if (step % 5000 == 0) {
      heap_.tidy();
      unload_and_charge_again();
    }
  }
  for (const auto& [memory, contents] : live) {
    ASSERT_TRUE(is_filled(memory, contents.first, contents.second));
    give(memory);
  }
  heap_.flush(cache_);
  heap_.tidy();
  EXPECT_EQ(Account::managed, 0u);
}

TEST_F(SmallHeapTest, serves_several_threads_and_what_one_allocates_another_may_free) {
  constexpr size_t kSlots = 512;
  static std::atomic<unsigned char*> slots[kSlots];
  const uint64_t seed = test_seed();
  std::vector<std::thread> threads;
  for (uint64_t number = 0; number < 4; ++number)
    threads.emplace_back([&, number] {
      ThreadCache cache{};
      std::mt19937_64 random(seed + number);
      for (int step = 0; step < 100000; ++step) {
        const size_t bytes = 8 + random() % (step % 100 == 0 ? 30000 : 600);
        auto* memory = static_cast<unsigned char*>(heap_.allocate(bytes, 1, cache));
        memset(memory, static_cast<int>(bytes % 251), bytes);
        memcpy(memory, &bytes, sizeof bytes);
        unsigned char* before = slots[random() % kSlots].exchange(memory);
        if (before == nullptr) continue;
        size_t its_bytes = 0;
        memcpy(&its_bytes, before, sizeof its_bytes);
        for (size_t i = sizeof its_bytes; i < its_bytes; ++i) ASSERT_EQ(before[i], its_bytes % 251);
        heap_.free(before, cache);
      }
      heap_.flush(cache);
    });
  for (std::thread& thread : threads) thread.join();
  for (auto& slot : slots)
    if (unsigned char* memory = slot.exchange(nullptr); memory != nullptr) give(memory);
  heap_.flush(cache_);
  heap_.tidy();
  EXPECT_EQ(Account::managed, 0u);
}

// Threads that cannot be stopped may write to small allocations, the program's and libraries', at any time.
TEST_F(SmallHeapTest, stays_in_memory_while_other_threads_cannot_be_stopped) {
  arena_.control_threads(ThreadControl{[] { return ThreadsAre::trusted; }, [] {}});
  const auto all = take_many(2000, 1000);
  unsigned char* large = allocate(8 * kMiB);
  fill(large, 8 * kMiB, 1);
  const UnloadResult result = unload();
  EXPECT_EQ(result.released_bytes, 8 * kMiB);
  EXPECT_FALSE(result.is_refused);
  EXPECT_TRUE(is_page(all[0], PageState::dirty));
  EXPECT_EQ(arena_.bytes_used_by_others(), Account::managed - 8 * kMiB);
}

}  // namespace
}  // namespace spillway::memory
