// Anything that a rank and its program do with memory, in random order and with a kernel that disturbs: every byte is
// compared with a shadow copy. With a device that fails the process ends with a message, and with none that lies does
// it go on with something else than it wrote.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "arena_fixture.h"
#include "memory/overwrites.h"
#include "seed.h"
#include "storage/disturbing_kernel.h"
#include "storage/spill_file.h"

namespace spillway::memory {
namespace {

using storage::DisturbingKernel;
using storage::Failure;
using storage::FirstFailure;

constexpr int kSteps = 250;
constexpr uint64_t kMostLiveBytes = 32 * kMiB;

// An allocation, and what it should hold.
struct Block {
  unsigned char* memory = nullptr;
  std::vector<unsigned char> shadow;
  std::vector<bool> is_known;  // of each page: it holds what `shadow` says

  uint64_t bytes() const { return shadow.size(); }
  void resize(uint64_t bytes) {
    shadow.resize(bytes);
    is_known.resize((bytes + kPageBytes - 1) / kPageBytes, false);
  }
};

struct Range {
  uint64_t begin = 0;
  uint64_t bytes = 0;

  uint64_t end() const { return begin + bytes; }
};

class StressedProgram {
 public:
  StressedProgram(Arena& arena, uint64_t seed) : arena_(arena), random_(seed) {
    MemoryAccount account = Account::hooks();
    account.spare_limit = [] { return spare_limit; };
    account_ = account;
    arena_.keep_checksums();
    arena_.heed(overwrites_);
  }

  // Some seeds read little: goes on until what should happen has happened, too.
  template <typename Predicate>
  void run(const base::SpillDirectories& directories, Predicate has_happened) {
    arena_.attach(account_, directories);
    for (int step = 0; step < kSteps || !has_happened(); ++step) {
      take_step();
      check(Account::managed == arena_.managed_bytes(), "what is allocated is charged");
    }
    charge();
    for (const Block& block : blocks_) compare(block, {0, block.bytes()});
    arena_.check_what_was_loaded();
    while (!blocks_.empty()) free_block();
    arena_.drop_spare();
    check(Account::managed == 0 && arena_.managed_bytes() == 0, "nothing is left when all is freed");
  }

 private:
  void take_step() {
    spare_limit = random_.one_in(2) ? 32 * kMiB : 0;
    if (blocks_.empty() || (random_.one_in(6) && live_bytes() < kMostLiveBytes)) return allocate();
    Block& block = blocks_[random_.below(blocks_.size())];
    switch (random_.below(16)) {
      case 0:
        return free_block();
      case 1:
        return resize(block);
      case 2:
      case 3:
      case 4:
        return write(block, some_of(block));
      case 5:
      case 6:
        return compare(block, some_of(block));
      case 7:
        return use_range(block);
      case 8:
        return discard(block);
      case 9:
        return renew(block);
      case 10:
        return advise(block);
      case 11:
        arena_.drop_spare();
        return;
      default:
        return block_in_a_call();
    }
  }

  // The rank sleeps and its memory is wanted; others may look into it meanwhile, and messages arrive.
  void block_in_a_call() {
    std::vector<Overwrite> arriving;
    std::vector<std::pair<Block*, Range>> whole;
    for (Block& block : blocks_) {
      if (!random_.one_in(4)) continue;
      const Range range = some_of(block);
      const bool is_whole = random_.one_in(2);
      arriving.emplace_back(overwrites_, block.memory + range.begin, range.bytes, is_whole);
      if (is_whole && arriving.back()) whole.emplace_back(&block, range);
    }
    for (const auto& [block, range] : whole) make_unknown(*block, range);
    for (uint64_t times = 1 + random_.below(3); times > 0; --times) {
      const uint64_t wanted = random_.one_in(2) ? kEverything : random_.below(kMostLiveBytes);
      const UnloadResult result = arena_.unload(wanted, random_.one_in(4));
      Account::resident -= result.released_bytes;
      Account::managed -= result.freed_bytes;
      if (random_.one_in(2)) {
        Block& block = blocks_[random_.below(blocks_.size())];
        whole.empty() && random_.one_in(2) ? write(block, some_of(block)) : compare(block, some_of(block));
      }
      if (random_.one_in(2)) arena_.unload_again();
    }
    arriving.clear();
    charge();
    for (const auto& [block, range] : whole) write(*block, range);
  }

  void charge() {
    if (random_.one_in(3)) arena_.load_expected(Expected::used);
    arena_.mark_all_charged();
    Account::resident = Account::managed;
    arena_.load_expected(Expected::rewritten);
  }

  void allocate() {
    const uint64_t bytes = 1 + (random_.one_in(4) ? random_.below(20 * kMiB) : random_.below(2 * kMiB));
    const uint64_t alignment = random_.one_in(4) ? uint64_t{1} << random_.below(23) : 1;
    const bool is_zero = random_.one_in(2);
    Block block;
    block.memory =
        static_cast<unsigned char*>(arena_.allocate(bytes, alignment, is_zero ? Contents::zero : Contents::any));
    check(block.memory != nullptr && reinterpret_cast<uint64_t>(block.memory) % alignment == 0, "aligned memory");
    check(arena_.usable_bytes(block.memory) >= bytes, "as much as was asked for");
    block.resize(bytes);
    if (is_zero) block.is_known.assign(block.is_known.size(), true);
    blocks_.push_back(std::move(block));
  }

  void free_block() {
    std::swap(blocks_[random_.below(blocks_.size())], blocks_.back());
    compare(blocks_.back(), some_of(blocks_.back()));
    arena_.free(blocks_.back().memory);
    blocks_.pop_back();
  }

  // As realloc does it.
  void resize(Block& block) {
    const uint64_t bytes = 1 + random_.below(2 * block.bytes());
    if (!arena_.resize_in_place(block.memory, bytes)) {
      auto* moved = static_cast<unsigned char*>(arena_.allocate(bytes, 1));
      memcpy(moved, block.memory, std::min(bytes, block.bytes()));
      arena_.free(block.memory);
      block.memory = moved;
    }
    // The last page of before may be known in part only.
    if (bytes > block.bytes() && block.bytes() % kPageBytes != 0) block.is_known.back() = false;
    block.resize(bytes);
    compare(block, {0, bytes});
  }

  void write(Block& block, Range range) {
    range = with_unknown_pages(block, range);
    const uint64_t kind = random_.below(4);
    for (uint64_t at = range.begin; kind != 0 && at < range.end(); ++at)
      block.shadow[at] = kind == 1 ? 0 : static_cast<unsigned char>(at * 31 + at / kPageBytes * 17 + count_);
    ++count_;
    // Kind 0: what it held before.
    memcpy(block.memory + range.begin, block.shadow.data() + range.begin, range.bytes);
    for (uint64_t page = range.begin / kPageBytes; page * kPageBytes < range.end(); ++page) block.is_known[page] = true;
  }

  void compare(const Block& block, const Range& range) {
    for (uint64_t at = range.begin; at < range.end();) {
      const uint64_t page = at / kPageBytes, end = std::min(range.end(), (page + 1) * kPageBytes);
      if (block.is_known[page] && memcmp(block.memory + at, block.shadow.data() + at, end - at) != 0)
        check(false, "memory holds what was written to it");
      at = end;
    }
  }

  void use_range(Block& block) {
    const Range range = some_of(block);
    UnloadResult result;
    if (random_.one_in(2))
      check(arena_.unload_range(block.memory + range.begin, range.bytes, result) == RangeResult::done, "unloaded");
    else
      check(arena_.load_range(block.memory + range.begin, range.bytes) == RangeResult::done, "loaded");
    compare(block, range);
  }

  void discard(Block& block) {
    const Range range = some_of(block);
    check(arena_.discard_range(block.memory + range.begin, range.bytes) == RangeResult::done, "discarded");
    make_unknown(block, range);
  }

  void renew(Block& block) {
    const Range range = some_of(block);
    arena_.renew(block.memory + range.begin, range.bytes);
    make_unknown(block, range);
    write(block, range);
  }

  void advise(Block& block) {
    const Range range = some_of(block);
    const auto advice = static_cast<Advice>(random_.below(4));
    check(arena_.advise_range(block.memory + range.begin, range.bytes, advice) == RangeResult::done, "advised");
  }

  // The pages that lie wholly in the range.
  static void make_unknown(Block& block, const Range& range) {
    for (uint64_t page = (range.begin + kPageBytes - 1) / kPageBytes; (page + 1) * kPageBytes <= range.end(); ++page)
      block.is_known[page] = false;
  }

  // All of the pages at its ends that are not known.
  static Range with_unknown_pages(const Block& block, const Range& range) {
    uint64_t begin = range.begin, end = range.end();
    if (!block.is_known[begin / kPageBytes]) begin -= begin % kPageBytes;
    if (!block.is_known[(end - 1) / kPageBytes])
      end = std::min(block.bytes(), (end + kPageBytes - 1) / kPageBytes * kPageBytes);
    return {begin, end - begin};
  }

  // All of it, the pages between two, or the bytes.
  Range some_of(const Block& block) {
    if (random_.one_in(3)) return {0, block.bytes()};
    uint64_t begin = random_.below(block.bytes());
    if (random_.one_in(2)) begin -= begin % kPageBytes;
    return {begin, 1 + random_.below(block.bytes() - begin)};
  }

  uint64_t live_bytes() const {
    uint64_t sum = 0;
    for (const Block& block : blocks_) sum += block.bytes();
    return sum;
  }

  // Ends the process: a failure that is only noted would be hidden by the end that a failing device brings.
  static void check(bool holds, const char* what) {
    if (holds) return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
  }

  static inline uint64_t spare_limit = 0;

  Arena& arena_;
  Random random_;
  Overwrites overwrites_;
  MemoryAccount account_;
  std::vector<Block> blocks_;
  uint64_t count_ = 0;
};

// In one spill directory, or in several.
base::SpillDirectories directories_of(const char* path, uint64_t seed) {
  base::SpillDirectories directories;
  while (directories.count < 1 + seed % 3) directories.paths[directories.count++] = path;
  return directories;
}

void run_stressed_program(const char* directory, uint64_t seed, Failure failure, uint64_t first_failing,
                          FirstFailure first = FirstFailure::anywhere) {
  const auto arena = std::make_unique<Arena>(kAddressBytes);
  DisturbingKernel kernel(seed, failure, first_failing, first);
  kernel.run([&] {
    StressedProgram(*arena, seed).run(directories_of(directory, seed), [&] {
      return failure == Failure::none || kernel.has_failed();
    });
  });
  EXPECT_GT(kernel.disturbed(), 0u);
}

// The program ends by itself only if nothing has failed.
void expect_end(Failure failure, const std::string& message, FirstFailure first = FirstFailure::anywhere) {
  const storage::ScratchDirectory directory;
  const uint64_t seed = test_seed();
  const uint64_t first_failing = 1 + Random(seed).below(20);
  EXPECT_EXIT(run_stressed_program(directory.path(), seed, failure, first_failing, first), testing::ExitedWithCode(1),
              message);
}

TEST(ArenaStressTest, keeps_every_byte) {
  const storage::ScratchDirectory directory;
  run_stressed_program(directory.path(), test_seed(), Failure::none, 0);
}

TEST(ArenaStressDeathTest, ends_when_the_device_is_full) {
  expect_end(Failure::full, "cannot put [0-9]+ MiB more into the spill directory");
}

TEST(ArenaStressDeathTest, ends_when_the_device_cannot_be_written) {
  expect_end(Failure::unwritable, "cannot write [0-9]+ MiB in the spill directory .*Input/output error");
}

// Nobody waits for these writes before they are needed; files without direct I/O have none of them.
void expect_end_by_submitted_write(Failure failure, const std::string& message) {
  const storage::ScratchDirectory directory;
  storage::SpillFile file;
  file.create(directory.path());
  if (!file.is_direct()) GTEST_SKIP() << "no direct I/O in " << directory.path();
  expect_end(failure, "a submitted transfer fails\n(.*\n)*spillway: " + message, FirstFailure::submitted);
}

TEST(ArenaStressDeathTest, ends_when_a_submitted_write_finds_the_device_full) {
  expect_end_by_submitted_write(Failure::full, "cannot put [0-9]+ MiB more into the spill directory");
}

TEST(ArenaStressDeathTest, ends_when_a_submitted_write_cannot_be_done) {
  expect_end_by_submitted_write(Failure::unwritable,
                                "cannot write [0-9]+ MiB in the spill directory .*Input/output error");
}

TEST(ArenaStressDeathTest, ends_when_the_device_cannot_be_read) {
  expect_end(Failure::unreadable, "cannot read back [0-9]+ MiB in the spill directory .*Input/output error");
}

TEST(ArenaStressDeathTest, ends_when_the_device_returns_something_else) {
  expect_end(Failure::damaged, "read something else from the spill directory");
}

}  // namespace
}  // namespace spillway::memory
