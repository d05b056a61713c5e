#include "memory/arena.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <thread>

#include "arena_fixture.h"

namespace spillway::memory {
namespace {

TEST_F(ArenaTest, hands_out_zeroed_memory_of_at_least_the_size_asked_for) {
  for (uint64_t bytes : {uint64_t{1}, 64 * kKiB, kMiB, kMiB + 1, 5 * kMiB + 17}) {
    unsigned char* memory = allocate(bytes);
    ASSERT_NE(memory, nullptr);
    EXPECT_GE(arena_.usable_bytes(memory), bytes);
    EXPECT_TRUE(is_zero(memory, arena_.usable_bytes(memory)));
    fill(memory, arena_.usable_bytes(memory), bytes);
  }
}

TEST_F(ArenaTest, aligns_as_asked_and_large_allocations_to_huge_pages) {
  allocate(kMiB);
  for (uint64_t alignment : {uint64_t{16}, 4 * kKiB, 64 * kKiB, 2 * kMiB, 64 * kMiB}) {
    const auto address = reinterpret_cast<uint64_t>(allocate(kMiB, alignment));
    EXPECT_EQ(address % alignment, 0u) << alignment;
    EXPECT_EQ(address % (64 * kKiB), 0u);
  }
  EXPECT_EQ(reinterpret_cast<uint64_t>(allocate(2 * kMiB)) % (2 * kMiB), 0u);
}

TEST_F(ArenaTest, knows_its_own_addresses_from_others) {
  unsigned char* memory = allocate(kMiB);
  int on_the_stack = 0;
  EXPECT_TRUE(arena_.contains(memory));
  EXPECT_TRUE(arena_.contains(memory + kMiB - 1));
  EXPECT_FALSE(arena_.contains(&on_the_stack));
  EXPECT_FALSE(arena_.contains(nullptr));
  EXPECT_FALSE(arena_.contains(this));
  EXPECT_FALSE(Arena().contains(memory));
}

TEST_F(ArenaTest, never_takes_a_foreign_address_for_its_own_while_another_thread_reserves) {
  for (int repetition = 0; repetition < 20; ++repetition) {
    Arena fresh(kAddressBytes);
    std::atomic<bool> done = false;
    std::thread other([&] {
      int on_the_stack = 0;
      while (!done) {
        ASSERT_FALSE(fresh.contains(&on_the_stack));
        ASSERT_FALSE(fresh.contains(this));
      }
    });
    fresh.allocate(kMiB, 1);
    done = true;
    other.join();
  }
}

TEST_F(ArenaTest, gives_freed_addresses_out_again_and_zeroed) {
  unsigned char* first = allocate(3 * kMiB);
  fill(first, 3 * kMiB, 1);
  arena_.free(first);
  unsigned char* second = allocate(3 * kMiB);
  EXPECT_EQ(first, second);
  EXPECT_TRUE(is_zero(second, 3 * kMiB));
}

TEST_F(ArenaTest, gives_freed_memory_back_to_the_system) {
  unsigned char* memory = allocate(4 * kMiB);
  fill(memory, 4 * kMiB, 1);
  arena_.free(memory);
  EXPECT_EQ(bytes_in_state(memory, 4 * kMiB, PageState::absent), 4 * kMiB);
}

TEST_F(ArenaTest, resizes_in_place_only_within_what_is_mapped_and_not_to_less_than_half) {
  unsigned char* memory = allocate(4 * kMiB);
  EXPECT_TRUE(arena_.resize_in_place(memory, 4 * kMiB));
  EXPECT_TRUE(arena_.resize_in_place(memory, 3 * kMiB));
  EXPECT_FALSE(arena_.resize_in_place(memory, 4 * kMiB + 1));
  EXPECT_FALSE(arena_.resize_in_place(memory, 2 * kMiB));
  EXPECT_EQ(arena_.usable_bytes(memory), 4 * kMiB);
}

TEST_F(ArenaTest, has_nothing_for_a_size_that_no_machine_has) {
  EXPECT_EQ(allocate(~uint64_t{0}), nullptr);
  EXPECT_EQ(allocate(~uint64_t{0} - 70000), nullptr);
  EXPECT_EQ(allocate(1ull << 50), nullptr);
  EXPECT_EQ(Account::managed, 0u);
  EXPECT_EQ(Account::resident, 0u);
  EXPECT_NE(allocate(kMiB), nullptr);
}

TEST_F(ArenaTest, accounts_for_every_byte_whatever_its_residency_when_it_is_freed) {
  unsigned char* first = allocate(3 * kMiB);
  unsigned char* second = allocate(2 * kMiB);
  unsigned char* third = allocate(kMiB);
  EXPECT_EQ(Account::resident, 6 * kMiB);
  const UnloadResult result = unload(4 * kMiB);
  EXPECT_EQ(result.released_bytes, 5 * kMiB) << "whole allocations, as many as it takes";
  EXPECT_EQ(Account::resident, kMiB);
  arena_.free(first);
  EXPECT_EQ(Account::resident, kMiB);
  charge_all();
  arena_.free(second);
  arena_.free(third);
  EXPECT_EQ(Account::resident, 0u);
  EXPECT_EQ(Account::managed, 0u);
  EXPECT_EQ(arena_.managed_bytes(), 0u);
}

TEST_F(ArenaTest, releases_nothing_twice) {
  fill(allocate(2 * kMiB), 2 * kMiB, 1);
  EXPECT_EQ(unload().released_bytes, 2 * kMiB);
  EXPECT_EQ(unload().released_bytes, 0u);
  charge_all();
  EXPECT_EQ(unload().released_bytes, 2 * kMiB);
}

TEST_F(ArenaTest, reports_what_was_allocated_before_it_was_attached) {
  Arena early(kAddressBytes);
  void* memory = early.allocate(2 * kMiB, 1);
  early.allocate(kMiB, 1);
  EXPECT_EQ(early.attach(Account::hooks(), base::SpillDirectories(directory_.path())), 3 * kMiB);
  EXPECT_EQ(Account::resident, 0u) << "the rank itself charges what attach reports";
  Account::managed = Account::resident = 3 * kMiB;
  early.free(memory);
  EXPECT_EQ(Account::resident, kMiB);
}

TEST_F(ArenaTest, misses_no_allocation_of_a_thread_while_it_is_attached) {
  for (int repetition = 0; repetition < 20; ++repetition) {
    Arena early(kAddressBytes);
    static std::atomic<uint64_t> charged;
    charged = 0;
    std::thread other([&] {
      for (int i = 0; i < 200; ++i) early.allocate(64 * kKiB, 1);
    });
    const uint64_t before = early.attach(MemoryAccount{[](uint64_t bytes) { charged += bytes; }, nullptr},
                                         base::SpillDirectories(directory_.path()));
    other.join();
    EXPECT_EQ(before + charged, early.managed_bytes());
  }
}

TEST_F(ArenaTest, charges_nobody_once_it_is_detached) {
  unsigned char* memory = allocate(kMiB);
  arena_.detach();
  arena_.free(memory);
  allocate(5 * kMiB);
  EXPECT_EQ(Account::resident, kMiB);
}

using ArenaDeathTest = ArenaTest;

TEST_F(ArenaDeathTest, names_an_address_that_is_freed_but_was_never_allocated) {
  unsigned char* memory = allocate(kMiB);
  EXPECT_EXIT(arena_.free(memory + 64), testing::ExitedWithCode(1), "not the beginning of an allocation");
  EXPECT_EXIT(arena_.free(memory + 64 * kKiB), testing::ExitedWithCode(1), "not the beginning of an allocation");
  EXPECT_EXIT((arena_.free(memory), arena_.free(memory)), testing::ExitedWithCode(1),
              "not the beginning of an allocation");
}

TEST_F(ArenaDeathTest, leaves_it_to_the_c_library_when_addresses_are_short) {
  EXPECT_EXIT(
      {
        rlimit limit{};
        limit.rlim_cur = limit.rlim_max = 1ull << 32;
        setrlimit(RLIMIT_AS, &limit);
        Arena late(kAddressBytes);
        late.attach(Account::hooks(), base::SpillDirectories(directory_.path()));
        _exit(late.allocate(kMiB, 1) == nullptr && Account::resident == 0 ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace spillway::memory
