#include "node/ledger.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/clock.h"
#include "ledger_fixture.h"

namespace spillway::node {
namespace {

TEST_F(LedgerTest, charges_what_is_allocated_and_gives_back_what_is_freed) {
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.scheduler.acquire_slot();
  rank.allocate(3 * kMiB);
  rank.allocate(5 * kMiB);
  EXPECT_EQ(resident(0), 8 * kMiB);
  EXPECT_EQ(segment_.header().resident_bytes, 8 * kMiB);
  EXPECT_EQ(segment_.header().peak_bytes, 8 * kMiB);
  rank.free_all();
  EXPECT_EQ(segment_.header().resident_bytes, 0u);
  EXPECT_EQ(segment_.rank(0).managed_bytes, 0u);
  EXPECT_EQ(segment_.header().peak_bytes, 8 * kMiB);
  EXPECT_EQ(broken_invariant(segment_), "");
}

TEST_F(LedgerTest, makes_room_at_the_cost_of_a_blocked_rank) {
  std::thread other = sleeper(1, 20 * kMiB);
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.scheduler.acquire_slot();
  rank.allocate(20 * kMiB);
  EXPECT_EQ(resident(0), 20 * kMiB);
  EXPECT_EQ(resident(1), kBudget - kStoreFloor - 20 * kMiB) << "no more is asked for than is missing";
  EXPECT_EQ(segment_.rank(1).managed_bytes, 20 * kMiB);
  EXPECT_EQ(segment_.header().loading_ranks, 0u);
  end(rank, 1, other);
}

TEST_F(LedgerTest, lets_ranks_keep_spare_memory_up_to_half_of_the_budget) {
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.scheduler.acquire_slot();
  rank.allocate(kBudget / 2 - kStoreFloor);
  EXPECT_EQ(rank.ledger.spare_limit(), kBudget / 8 / 4);
  rank.allocate(kMiB);
  EXPECT_EQ(rank.ledger.spare_limit(), 0u);
}

TEST_F(LedgerTest, drops_the_ranks_own_spare_memory_before_it_says_that_the_rank_does_not_fit) {
  static SimulatedRank* rank;
  SimulatedRank only(mapped_again(segment_), 0);
  rank = &only;
  RankHooks hooks = only.self.hooks();
  hooks.drop_spare = [] {
    rank->free_any(0);
    return 20 * kMiB;
  };
  only.self.set_hooks(hooks);
  only.scheduler.acquire_slot();
  only.allocate(20 * kMiB);
  only.allocate(20 * kMiB);
  EXPECT_EQ(resident(0), 20 * kMiB);
  EXPECT_EQ(segment_.rank(0).managed_bytes, 20 * kMiB);
  EXPECT_EQ(broken_invariant(segment_), "");
}

TEST_F(LedgerTest, asks_first_the_rank_that_blocked_last) {
  std::thread first = sleeper(1, 8 * kMiB);
  std::thread second = sleeper(2, 8 * kMiB);
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.scheduler.acquire_slot();
  rank.allocate(20 * kMiB);
  EXPECT_EQ(resident(1), 8 * kMiB);
  EXPECT_EQ(resident(2), kBudget - kStoreFloor - 28 * kMiB);
  rank.free_all();
  rank.notify(1);
  end(rank, 2, second);
  first.join();
}

TEST_F(LedgerTest, leaves_pinned_memory_alone) {
  std::thread pinned = sleeper(1, 8 * kMiB, 1);
  std::thread other = sleeper(2, 8 * kMiB);
  std::thread newest = sleeper(3, 8 * kMiB, 1);
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.scheduler.acquire_slot();
  rank.allocate(10 * kMiB);
  EXPECT_EQ(resident(1), 8 * kMiB);
  EXPECT_EQ(resident(2), kBudget - kStoreFloor - 26 * kMiB);
  EXPECT_EQ(resident(3), 8 * kMiB);
  rank.free_all();
  rank.notify(1);
  rank.notify(2);
  end(rank, 3, newest);
  pinned.join();
  other.join();
}

TEST_F(LedgerTest, goes_beyond_the_budget_when_nobody_can_ever_make_room) {
  std::thread pinned = sleeper(1, 20 * kMiB, 1);
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.scheduler.acquire_slot();
  rank.allocate(20 * kMiB);
  EXPECT_EQ(resident(0), 20 * kMiB);
  EXPECT_EQ(segment_.header().peak_bytes, 40 * kMiB);
  end(rank, 1, pinned);
}

TEST_F(LedgerTest, lets_a_ready_rank_go_on_whose_memory_must_stay_until_then) {
  std::thread pinned([this] {
    SimulatedRank rank(mapped_again(segment_), 1);
    rank.scheduler.acquire_slot();
    rank.allocate(20 * kMiB);
    rank.self.record().pins = 1;
    rank.wait_for_news(1);
    rank.self.record().pins = 0;
    rank.wait_for_news(2);
    retire_rank(rank.self.segment(), 1);
  });
  while (segment_.rank(1).wake_at == 0) usleep(100);
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.scheduler.acquire_slot();
  rank.notify(1);
  while (static_cast<RankState>(segment_.rank(1).state.load()) != RankState::ready) usleep(100);
  rank.allocate(20 * kMiB);
  EXPECT_EQ(resident(0), 20 * kMiB);
  EXPECT_LE(segment_.header().peak_bytes, kBudget);
  EXPECT_EQ(segment_.rank(0).has_lent, 0u);
  EXPECT_EQ(broken_invariant(segment_), "");
  end(rank, 1, pinned);
}

TEST_F(LedgerTest, goes_on_when_a_rank_gives_up_less_than_it_is_charged_for) {
  std::thread stubborn = prepared_sleeper(1, 20 * kMiB, [](SimulatedRank& rank) { rank.may_unload = false; });
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.scheduler.acquire_slot();
  std::atomic<bool> allocated = false;
  std::thread watch([&] {
    for (int waited = 0; !allocated && waited < 5000; ++waited) usleep(1000);
    if (!allocated) base::fatal("two ranks ask and answer each other forever");
  });
  rank.allocate(20 * kMiB);
  allocated = true;
  watch.join();
  EXPECT_EQ(resident(0), 20 * kMiB);
  end(rank, 1, stubborn);
}

TEST_F(LedgerTest, does_not_wait_forever_for_a_rank_inside_the_mpi_library) {
  // It may be in there until this rank comes too: a fence of a window is not gathered.
  std::thread other = sleeper(1, 20 * kMiB);
  segment_.rank(1).state = static_cast<uint32_t>(RankState::delegated);
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.scheduler.acquire_slot();
  const uint64_t begin = base::now_ns();
  rank.allocate(20 * kMiB);
  EXPECT_LT(base::now_ns() - begin, 10000000000u);
  EXPECT_EQ(resident(0), 20 * kMiB);
  segment_.rank(1).state = static_cast<uint32_t>(RankState::blocked_receive);
  end(rank, 1, other);
}

TEST_F(LedgerTest, asks_a_rank_again_whose_threads_could_not_be_stopped) {
  std::thread busy = busy_sleeper(1, 20 * kMiB, 3, ThreadStop::not_now);
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.scheduler.acquire_slot();
  rank.allocate(20 * kMiB);
  EXPECT_LE(segment_.header().peak_bytes, kBudget);
  EXPECT_EQ(resident(1), kBudget - kStoreFloor - 20 * kMiB);
  end(rank, 1, busy);
}

TEST_F(LedgerTest, does_not_ask_forever_where_threads_never_stop) {
  std::thread busy = busy_sleeper(1, 20 * kMiB, ~0u, ThreadStop::not_now);
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.scheduler.acquire_slot();
  const uint64_t begin = base::now_ns();
  rank.allocate(20 * kMiB);
  EXPECT_LT(base::now_ns() - begin, 10000000000u);
  EXPECT_EQ(resident(0), 20 * kMiB);
  EXPECT_EQ(resident(1), 20 * kMiB);
  end(rank, 1, busy);
}

TEST_F(LedgerTest, does_not_wait_for_threads_that_may_not_be_stopped) {
  std::thread busy = busy_sleeper(1, 20 * kMiB, ~0u, ThreadStop::not_allowed);
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.scheduler.acquire_slot();
  const uint64_t begin = base::now_ns();
  rank.allocate(20 * kMiB);
  EXPECT_LT(base::now_ns() - begin, 900000000u);
  EXPECT_EQ(resident(1), 20 * kMiB);
  end(rank, 1, busy);
}

TEST_F(LedgerTest, makes_a_rank_wait_again_when_the_node_is_over_its_budget) {
  // A thread that cannot sleep took more than there was; the next rank to run pays, not the machine.
  std::thread other = sleeper(1, 20 * kMiB);
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.scheduler.acquire_slot();
  rank.ledger.charge(20 * kMiB);
  rank.scheduler.release_slot(RankState::blocked_receive);
  rank.scheduler.acquire_slot();
  EXPECT_LE(segment_.header().resident_bytes, kBudget - kStoreFloor);
  rank.ledger.give_back(20 * kMiB, 20 * kMiB);
  end(rank, 1, other);
}

TEST_F(LedgerTest, charges_memory_from_before_the_rank_attached) {
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.ledger.adopt(8 * kMiB, 8 * kMiB);
  EXPECT_EQ(segment_.header().resident_bytes, 8 * kMiB) << "it has been in memory all along";
  rank.scheduler.acquire_slot();
  EXPECT_EQ(segment_.header().resident_bytes, 8 * kMiB);
  EXPECT_EQ(broken_invariant(segment_), "");
}

TEST_F(LedgerTest, charges_static_data_like_allocations) {
  std::thread other = sleeper(1, 20 * kMiB);
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.adopt_untouched(16 * kMiB);
  EXPECT_EQ(resident(0), 0u);
  rank.scheduler.acquire_slot();
  EXPECT_EQ(resident(0), 16 * kMiB) << "it may touch them now";
  EXPECT_LE(resident(1), kBudget - kStoreFloor - 16 * kMiB);
  end(rank, 1, other);
}

TEST_F(LedgerTest, leaves_untouched_static_data_out_that_do_not_fit) {
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.adopt_untouched(100 * kMiB);
  rank.scheduler.acquire_slot();
  EXPECT_EQ(resident(0), kBudget - kStoreFloor) << "as much as fits is charged";
  rank.allocate(20 * kMiB);
  EXPECT_EQ(resident(0), kBudget - kStoreFloor);
  EXPECT_EQ(segment_.rank(0).managed_bytes, kBudget - kStoreFloor);
  EXPECT_EXIT(rank.allocate(kBudget), testing::ExitedWithCode(1), "needs 52 MiB");
  EXPECT_EQ(broken_invariant(segment_), "");
}

TEST_F(LedgerTest, leaves_more_untouched_static_data_out_when_others_take_more_meanwhile) {
  static SimulatedRank* other;
  static uint64_t (*leave_out)(uint64_t);
  SimulatedRank grows(mapped_again(segment_), 1);
  SimulatedRank rank(mapped_again(segment_), 0);
  other = &grows;
  RankHooks hooks = rank.self.hooks();
  leave_out = hooks.uncount_untouched;
  hooks.uncount_untouched = [](uint64_t wanted) {
    const uint64_t bytes = leave_out(wanted);
    other->ledger.set_base(60 * kMiB);
    return bytes;
  };
  rank.self.set_hooks(hooks);
  rank.adopt_untouched(100 * kMiB);
  rank.scheduler.acquire_slot();
  EXPECT_LT(resident(0), kBudget - kStoreFloor);
  EXPECT_EQ(broken_invariant(segment_), "");
}

TEST_F(LedgerTest, leaves_untouched_static_data_out_rather_than_overdraw) {
  std::thread other = sleeper(1, 20 * kMiB, 1);
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.adopt_untouched(16 * kMiB);
  rank.scheduler.acquire_slot();
  EXPECT_EQ(resident(0), 10 * kMiB);
  EXPECT_LE(segment_.header().peak_bytes, kBudget);
  end(rank, 1, other);
}

TEST_F(LedgerTest, names_what_a_rank_needs_that_can_never_fit) {
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.scheduler.acquire_slot();
  rank.allocate(kBudget - kStoreFloor);
  EXPECT_EXIT(rank.allocate(kMiB), testing::ExitedWithCode(1), "needs 31 MiB.*--memory 32M");
}

TEST_F(LedgerTest, accepts_the_budget_that_it_names) {
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.scheduler.acquire_slot();
  for (uint64_t own : {31 * kMiB, 100 * kMiB, 5000 * kMiB, 100000 * kMiB}) {
    testing::internal::CaptureStderr();
    const pid_t pid = fork();
    if (pid == 0) {
      rank.use_in_this_thread();
      rank.allocate(own);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    ASSERT_EQ(status, 1 << 8);
    const std::string text = testing::internal::GetCapturedStderr();
    const auto named = text.find("--memory ", text.find("Remedy"));
    ASSERT_NE(named, std::string::npos) << text;
    SegmentConfig enough = config_of(1);
    enough.budget_bytes = std::stoull(text.substr(named + 9)) * kMiB;
    Segment larger = Segment::create(enough);
    SimulatedRank fits(mapped_again(larger), 0);
    fits.scheduler.acquire_slot();
    fits.allocate(own);
    EXPECT_EQ(larger.rank(0).resident_bytes, own);
  }
}

TEST_F(LedgerTest, counts_processes_beyond_their_allowance) {
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.scheduler.acquire_slot();
  rank.ledger.set_base(kAllowance);
  rank.allocate(20 * kMiB);
  EXPECT_EQ(segment_.header().peak_bytes, 20 * kMiB);
  rank.ledger.set_base(kAllowance + 4 * kMiB);
  EXPECT_EQ(segment_.header().peak_bytes, 24 * kMiB);
  rank.ledger.set_base(kAllowance - kMiB);
  EXPECT_EQ(segment_.header().base_bytes, kAllowance - kMiB);
  EXPECT_EQ(segment_.header().peak_bytes, 24 * kMiB);
}

TEST_F(LedgerTest, keeps_room_for_the_growth_of_what_is_never_unloaded) {
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.scheduler.acquire_slot();
  rank.ledger.set_base(kAllowance);
  rank.allocate(kBudget - kStoreFloor - kGrowth);
  EXPECT_EXIT(rank.allocate(kMiB), testing::ExitedWithCode(1), "needs 27 MiB");
  rank.ledger.set_base(kAllowance + kGrowth);
  EXPECT_LE(segment_.header().peak_bytes, kBudget - kStoreFloor);
}

TEST_F(LedgerTest, counts_envelopes_that_wait_like_processes) {
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.scheduler.acquire_slot();
  rank.ledger.set_base(kAllowance);
  segment_.header().used_cells = 4 * kMiB / kCellBytes;
  rank.allocate(20 * kMiB);
  EXPECT_EQ(segment_.header().peak_bytes, 24 * kMiB);
}

class StoreChargeTest : public LedgerTest {};

TEST_F(StoreChargeTest, always_has_its_floor) {
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.scheduler.acquire_slot();
  rank.allocate(kBudget - kStoreFloor);
  EXPECT_TRUE(rank.ledger.charge_store(kStoreFloor));
  EXPECT_FALSE(rank.ledger.charge_store(1));
  rank.ledger.give_back_store(kMiB);
  EXPECT_TRUE(rank.ledger.charge_store(kMiB));
  EXPECT_LE(segment_.header().peak_bytes, kBudget);
}

TEST_F(StoreChargeTest, leaves_room_for_the_largest_rank_in_each_slot) {
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.scheduler.acquire_slot();
  rank.allocate(20 * kMiB);
  rank.scheduler.release_slot(RankState::blocked_receive);
  EXPECT_TRUE(rank.ledger.charge_store(12 * kMiB));
  EXPECT_FALSE(rank.ledger.charge_store(8192));
}

TEST_F(StoreChargeTest, gives_free_chunks_back_before_the_budget_is_overdrawn) {
  // Chunks that became free while a rank waits for room are still charged until somebody trims the store.
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.scheduler.acquire_slot();
  ASSERT_TRUE(rank.ledger.charge_store(20 * kMiB));
  static SegmentHeader* header = nullptr;
  static Ledger* ledger = nullptr;
  static int calls = 0;
  header = &segment_.header();
  ledger = &rank.ledger;
  RankHooks hooks = rank.self.hooks();
  hooks.trim_store = []() -> uint64_t {
    if (++calls == 1) return 0;  // nothing is free yet when the rank begins to wait
    const uint64_t freed = header->store_bytes;
    if (freed != 0) ledger->give_back_store(freed);
    return freed;
  };
  rank.self.set_hooks(hooks);
  rank.allocate(20 * kMiB);
  EXPECT_EQ(segment_.header().store_bytes, 0u);
  EXPECT_LE(segment_.header().peak_bytes, kBudget);
}

TEST_F(StoreChargeTest, moves_waiting_messages_to_storage_before_the_budget_is_overdrawn) {
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.scheduler.acquire_slot();
  ASSERT_TRUE(rank.ledger.charge_store(20 * kMiB));
  static Ledger* ledger = nullptr;
  static uint64_t asked = 0;
  ledger = &rank.ledger;
  RankHooks hooks = rank.self.hooks();
  hooks.spill_store = [](uint64_t wanted) {
    asked = wanted;
    ledger->give_back_store(wanted);
    return wanted;
  };
  rank.self.set_hooks(hooks);
  rank.allocate(20 * kMiB);
  EXPECT_EQ(asked, 40 * kMiB - kBudget) << "no more than is missing";
  EXPECT_LE(segment_.header().peak_bytes, kBudget);
}

TEST_F(StoreChargeTest, waits_for_messages_that_come_in_before_the_budget_is_overdrawn) {
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.scheduler.acquire_slot();
  ASSERT_TRUE(rank.ledger.charge_store(20 * kMiB));
  segment_.courier().pins = 1;
  static Ledger* ledger = nullptr;
  static RankRecord* courier = nullptr;
  ledger = &rank.ledger;
  courier = &segment_.courier();
  RankHooks hooks = rank.self.hooks();
  hooks.spill_store = [](uint64_t wanted) -> uint64_t {
    if (courier->pins != 0) return 0;
    ledger->give_back_store(wanted);
    return wanted;
  };
  rank.self.set_hooks(hooks);
  std::thread incoming([] {
    usleep(50000);
    courier->pins = 0;
  });
  rank.allocate(20 * kMiB);
  incoming.join();
  EXPECT_LE(segment_.header().peak_bytes, kBudget);
}

TEST_F(StoreChargeTest, leaves_the_store_its_floor) {
  SimulatedRank rank(mapped_again(segment_), 0);
  rank.scheduler.acquire_slot();
  ASSERT_TRUE(rank.ledger.charge_store(kStoreFloor));
  RankHooks hooks = rank.self.hooks();
  hooks.spill_store = [](uint64_t) -> uint64_t {
    ADD_FAILURE() << "asked for messages that cost nothing";
    return 0;
  };
  rank.self.set_hooks(hooks);
  rank.allocate(kBudget - kStoreFloor);
  EXPECT_LE(segment_.header().peak_bytes, kBudget);
}

class TwoSlotLedgerTest : public LedgerTest {
 protected:
  TwoSlotLedgerTest() : LedgerTest(2) {}
};

TEST_F(TwoSlotLedgerTest, lets_two_ranks_that_each_hold_what_the_other_needs_both_go_on) {
  for (int repetition = 0; repetition < 20; ++repetition) {
    ForkedRanks ranks(config_of(2));
    for (uint32_t i = 0; i < 2; ++i)
      ranks.start(i, [i](Segment segment) {
        SimulatedRank rank(std::move(segment), i);
        rank.scheduler.acquire_slot();
        for (int part = 0; part < 12; ++part) {
          rank.allocate(2 * kMiB);
          usleep(200);
        }
        retire_rank(rank.self.segment(), i);
      });
    ASSERT_TRUE(ranks.join(20));
    EXPECT_LE(ranks.segment().header().peak_bytes, kBudget);
  }
}

TEST_F(TwoSlotLedgerTest, lets_nobody_pass_a_waiting_rank_without_end) {
  // Rank 0 needs all but 2 MiB; ranks 1 to 3 take turns in the other slot and need 8 MiB each, so whatever is unloaded
  // for rank 0 could go to the next of them for ever.
  struct Progress {
    std::atomic<uint32_t> is_waiting, has_room;
    std::atomic<uint64_t> turns_meanwhile;
  };
  auto& progress = shared_with_children<Progress>();
  ForkedRanks ranks(config_of(2));
  for (uint32_t i = 1; i < 4; ++i)
    ranks.start(i, [&progress, i](Segment segment) {
      SimulatedRank rank(std::move(segment), i);
      rank.unload_time_us = 3000;
      rank.scheduler.acquire_slot();
      for (int part = 0; part < 8; ++part) rank.allocate(kMiB);
      const uint64_t begin = base::now_ns();
      while (progress.has_room == 0 && base::now_ns() - begin < 5000000000u) {
        usleep(300);
        if (progress.is_waiting != 0) ++progress.turns_meanwhile;
        rank.scheduler.release_slot(RankState::blocked_receive);
        rank.scheduler.acquire_slot();
      }
      retire_rank(rank.self.segment(), i);
    });
  ranks.start(0, [&progress](Segment segment) {
    SimulatedRank rank(std::move(segment), 0);
    usleep(20000);
    rank.scheduler.acquire_slot();
    progress.is_waiting = 1;
    rank.allocate(kBudget - kStoreFloor - 2 * kMiB);
    progress.has_room = 1;
    retire_rank(rank.self.segment(), 0);
  });
  EXPECT_TRUE(ranks.join(30));
  EXPECT_LT(progress.turns_meanwhile, 100u);
  EXPECT_LE(ranks.segment().header().peak_bytes, kBudget);
}

}  // namespace
}  // namespace spillway::node
