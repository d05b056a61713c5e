// Allocations of several regions: no more of one goes than is wanted, and what others use of it is all that stays.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "memory/arena.h"
#include "memory/arena_fixture.h"

namespace spillway::memory {
namespace {

constexpr uint64_t kRegion = 16 * kMiB;
constexpr uint64_t kBytes = 2 * kRegion + kRegion / 4;  // three regions, the last one short

class ArenaRegionsTest : public ArenaTest {
 protected:
  void SetUp() override {
    arena_.respect([](uint64_t begin, uint64_t end) { return begin <= used && used < end; });
    ArenaTest::SetUp();
    used = 0;
    memory_ = allocate(kBytes);
    fill(memory_, kBytes, 1);
  }

  uint64_t resident_bytes() const { return kBytes - PageMap::absent_bytes(address_of(0), kBytes); }
  uint64_t address_of(uint64_t offset) const { return reinterpret_cast<uint64_t>(memory_) + offset; }

  static inline uint64_t used = 0;
  unsigned char* memory_ = nullptr;
};

TEST_F(ArenaRegionsTest, no_more_is_unloaded_than_is_wanted) {
  EXPECT_EQ(unload(kMiB).released_bytes, kRegion / 4);
  EXPECT_EQ(resident_bytes(), 2 * kRegion);
  EXPECT_EQ(unload(kRegion).released_bytes, kRegion);
  EXPECT_EQ(resident_bytes(), kRegion);
  EXPECT_EQ(Account::resident, kRegion);
  EXPECT_TRUE(is_filled(memory_, kBytes, 1));
  charge_all();
  fill(memory_, kBytes, 2);
  EXPECT_EQ(unload_and_charge_again().released_bytes, kBytes);
  EXPECT_EQ(resident_bytes(), 0);
  EXPECT_TRUE(is_filled(memory_, kBytes, 2));
}

TEST_F(ArenaRegionsTest, the_front_stays) {
  unload(kRegion);
  EXPECT_EQ(PageMap::absent_bytes(address_of(0), kRegion), 0);
}

TEST_F(ArenaRegionsTest, of_what_others_use_only_that_region_stays) {
  used = address_of(kRegion + kMiB);
  EXPECT_EQ(arena_.bytes_used_by_others(), kRegion);
  EXPECT_EQ(unload().released_bytes, kBytes - kRegion);
  EXPECT_EQ(PageMap::absent_bytes(address_of(kRegion), kRegion), 0);
  EXPECT_EQ(resident_bytes(), kRegion);
  used = 0;
  EXPECT_EQ(unload().released_bytes, kRegion);
  EXPECT_TRUE(is_filled(memory_, kBytes, 1));
}

TEST_F(ArenaRegionsTest, ranges_may_cross_regions) {
  unload_and_charge_again();
  EXPECT_EQ(arena_.load_range(memory_ + kRegion - kMiB, 2 * kMiB), RangeResult::done);
  EXPECT_EQ(PageMap::absent_bytes(address_of(kRegion - kMiB), 2 * kMiB), 0);
  UnloadResult result;
  memset(memory_ + kRegion - kMiB, 3, 2 * kMiB);
  EXPECT_EQ(arena_.unload_range(memory_ + kRegion - kMiB, 2 * kMiB, result), RangeResult::done);
  EXPECT_EQ(result.written_bytes, 2 * kMiB);
  EXPECT_EQ(PageMap::absent_bytes(address_of(kRegion - kMiB), 2 * kMiB), 2 * kMiB);
  EXPECT_EQ(memory_[kRegion - 1], 3);
  EXPECT_EQ(arena_.discard_range(memory_ + kRegion - kMiB, 2 * kMiB), RangeResult::done);
  EXPECT_TRUE(is_zero(memory_ + kRegion - kMiB, 2 * kMiB));
  EXPECT_EQ(arena_.load_range(memory_, kBytes + 1), RangeResult::not_managed);
}

TEST_F(ArenaRegionsTest, a_range_that_others_use_in_part_is_unloaded_but_for_that) {
  used = address_of(0);
  UnloadResult result;
  EXPECT_EQ(arena_.unload_range(memory_, kBytes, result), RangeResult::pinned);
  EXPECT_EQ(resident_bytes(), kRegion);
  EXPECT_TRUE(is_filled(memory_, kBytes, 1));
}

TEST_F(ArenaRegionsTest, renewed_ranges_may_cross_regions) {
  unload_and_charge_again();
  arena_.renew(memory_ + kRegion - kMiB, 2 * kMiB);
  memset(memory_ + kRegion - kMiB, 4, 2 * kMiB);
  EXPECT_EQ(unload_and_charge_again().loaded_bytes, 0);
  EXPECT_EQ(memory_[kRegion], 4);
  EXPECT_TRUE(is_filled(memory_, kRegion - kMiB, 1));
}

TEST_F(ArenaRegionsTest, freeing_gives_back_what_is_charged_of_it) {
  unload(kRegion);
  arena_.free(memory_);
  EXPECT_EQ(Account::managed, 0);
  EXPECT_EQ(Account::resident, 0);
  EXPECT_EQ(arena_.managed_bytes(), 0);
}

TEST_F(ArenaRegionsTest, entries_are_used_again) {
  for (int i = 0; i < 30000; ++i) {  // 90,000 regions
    arena_.free(memory_);
    memory_ = allocate(kBytes);
    ASSERT_NE(memory_, nullptr);
  }
  fill(memory_, kBytes, 5);
  unload_and_charge_again();
  EXPECT_TRUE(is_filled(memory_, kBytes, 5));
}

TEST(RegionsTest, of_which_there_can_be_no_more_are_told_of_once) {
  static int times = 0;
  MemoryAccount account = Account::hooks();
  account.is_in_want = [](Want want) { times += want == Want::regions ? 1 : 100; };
  const storage::ScratchDirectory directory;
  Arena arena(kAddressBytes);
  arena.attach(account, base::SpillDirectories(directory.path()));
  for (uint32_t i = 0; i < Arena::kMaximumRegions; ++i) ASSERT_NE(arena.allocate(64 * kKiB, 1), nullptr);
  EXPECT_EQ(times, 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(arena.allocate(64 * kKiB, 1), nullptr);
  alignas(kPageBytes) static unsigned char variable[kMiB];
  EXPECT_EQ(arena.adopt(variable, sizeof variable, Beginning::zeros).managed_bytes, 0u);
  EXPECT_EQ(times, 1);
  EXPECT_EQ(Account::managed, Arena::kMaximumRegions * 64 * kKiB);
}

// All mappings of a process that the kernel allows, while this lives.
class AllMappings {
 public:
  AllMappings() : pages_(static_cast<char*>(mmap(nullptr, kBytes, PROT_NONE, kFlags, -1, 0))) {
    for (uint64_t at = kPageBytes; at < kBytes && !is_refused_; at += 2 * kPageBytes)
      is_refused_ = mmap(pages_ + at, kPageBytes, PROT_READ, kFlags | MAP_FIXED, -1, 0) == MAP_FAILED;
  }
  ~AllMappings() { munmap(pages_, kBytes); }
  AllMappings(const AllMappings&) = delete;
  AllMappings& operator=(const AllMappings&) = delete;

  bool is_refused() const { return is_refused_; }

 private:
  static constexpr uint64_t kBytes = kPageBytes << 18;  // of two mappings for each two pages
  static constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  char* pages_;
  bool is_refused_ = false;
};

TEST(RegionsTest, that_the_kernel_refuses_are_told_of_once) {
  static int times = 0;
  MemoryAccount account = Account::hooks();
  account.is_in_want = [](Want want) { times += want == Want::mappings ? 1 : 100; };
  const storage::ScratchDirectory directory;
  Arena arena(kAddressBytes);
  arena.attach(account, base::SpillDirectories(directory.path()));
  {
    const AllMappings all;
    if (!all.is_refused()) GTEST_SKIP() << "NOT TESTED, too few mappings: vm.max_map_count is more than 262144";
    for (int i = 0; i < 3; ++i) EXPECT_EQ(arena.allocate(kMiB, 1), nullptr);
  }
  EXPECT_EQ(times, 1);
  EXPECT_EQ(Account::managed, 0u);
  EXPECT_NE(arena.allocate(kMiB, 1), nullptr);
  EXPECT_EQ(times, 1);
}

TEST(LargeAllocationsTest, of_terabytes_have_regions) {
  Arena arena;
  for (int i = 0; i < 6; ++i) EXPECT_NE(arena.allocate(512ull << 30, 1), nullptr);
}

using ArenaRegionsDeathTest = ArenaRegionsTest;

TEST_F(ArenaRegionsDeathTest, a_region_in_the_middle_is_no_allocation) {
  EXPECT_DEATH(arena_.free(memory_ + kRegion), "not the beginning of an allocation");
}

}  // namespace
}  // namespace spillway::memory
