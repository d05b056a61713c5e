#include "launch/job.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <string>
#include <utility>

namespace spillway::launch {

using node::MessageKind;

namespace {

constexpr int kRanks = 3;
constexpr uint64_t kFarFuture = UINT64_MAX;
constexpr int exited_with(int status) { return status << 8; }

// Counts what the parents of the ranks are told.
class RecordedNodes final : public Nodes {
 public:
  void tell_parent(int rank, MessageKind kind) override { ++told[{rank, kind}]; }
  void signal_parents(int /*number*/) override {}
  void mark_failed() override { has_failed = true; }
  void retire(int /*rank*/) override {}
  bool is_in_critical_section(int /*rank*/) const override { return false; }
  std::string host_of(int rank) const override { return "host" + std::to_string(rank); }

  std::map<std::pair<int, MessageKind>, int> told;
  bool has_failed = false;
};

class JobTest : public testing::Test {
 protected:
  JobTest() {
    for (int rank = 0; rank < kRanks; ++rank) {
      job_.parent_came(rank, 500 + rank);
      job_.program_started(rank, 1000 + rank);
    }
  }

  void attach_all() {
    for (int rank = 0; rank < kRanks; ++rank) job_.library_came(rank);
  }

  // How often a rank's parent has been told `kind`, since the last question.
  int told(int rank, MessageKind kind) { return std::exchange(nodes_.told[{rank, kind}], 0); }
  bool was_each_told(MessageKind kind) {
    bool all = true;
    for (int rank = 0; rank < kRanks; ++rank) all = told(rank, kind) == 1 && all;
    return all;
  }

  RecordedNodes nodes_;
  std::string told_user_;
  Job job_{nodes_, kRanks, "mpiexec", [this](const std::string& text) { told_user_ += text; }};
};

TEST_F(JobTest, node_that_gives_up_ends_all_with_its_cause_and_remedy) {
  attach_all();
  job_.node_gave_up("node7", "no descriptors left\n  Remedy: raise `ulimit -n`");
  EXPECT_TRUE(was_each_told(MessageKind::kill));
  ASSERT_TRUE(job_.failure());
  EXPECT_EQ(describe(*job_.failure()),
            "spillway: host node7 cannot take part\n  Cause:  no descriptors left.\n  Remedy: raise `ulimit -n`.\n");
}

TEST_F(JobTest, releases_ranks_only_when_all_have_ended_well) {
  attach_all();
  for (int rank = 0; rank < kRanks; ++rank) job_.rank_finalized(rank);
  job_.program_ended(0, 0);
  job_.program_ended(1, 0);
  EXPECT_EQ(told(0, MessageKind::release), 0);
  job_.program_ended(2, 0);
  EXPECT_TRUE(was_each_told(MessageKind::release));
  EXPECT_EQ(job_.exit_status(), 0);
  EXPECT_FALSE(job_.failure());
}

TEST_F(JobTest, first_failure_ends_all_and_wins) {
  attach_all();
  job_.program_ended(1, SIGSEGV);
  EXPECT_TRUE(was_each_told(MessageKind::kill));
  EXPECT_TRUE(nodes_.has_failed);
  job_.program_ended(0, SIGKILL);
  job_.program_ended(2, SIGKILL);
  EXPECT_TRUE(was_each_told(MessageKind::release));
  ASSERT_TRUE(job_.failure());
  EXPECT_EQ(job_.failure()->world_rank, 1);
  EXPECT_EQ(job_.failure()->pid, 1001);
  EXPECT_EQ(job_.failure()->host, "host1");
  EXPECT_EQ(job_.exit_status(), 128 + SIGSEGV);
}

TEST_F(JobTest, status_zero_without_finalize_is_a_failure) {
  attach_all();
  job_.program_ended(2, 0);
  ASSERT_TRUE(job_.failure());
  EXPECT_EQ(job_.failure()->what, "exited without calling MPI_Finalize");
  EXPECT_EQ(job_.exit_status(), 1);
}

TEST_F(JobTest, status_zero_without_mpi_is_none) {
  for (int rank = 0; rank < kRanks; ++rank) job_.program_ended(rank, 0);
  EXPECT_FALSE(job_.failure());
  EXPECT_TRUE(was_each_told(MessageKind::release));
}

TEST_F(JobTest, rank_that_never_initialised_is_a_failure_once_another_has) {
  job_.program_ended(0, 0);
  EXPECT_FALSE(job_.failure());
  job_.library_came(1);
  ASSERT_TRUE(job_.failure());
  EXPECT_EQ(job_.failure()->world_rank, 0);
}

TEST_F(JobTest, rank_that_lost_its_parent_is_not_said_to_have_exited) {
  job_.parent_lost(0);
  job_.library_came(1);
  EXPECT_FALSE(job_.failure());
  job_.pass_time(kFarFuture);
  ASSERT_TRUE(job_.failure());
  EXPECT_EQ(job_.failure()->what, "lost its parent process, spillway-rank");
}

TEST_F(JobTest, rank_that_dies_in_finalize_ends_all) {
  attach_all();
  for (int rank = 0; rank < kRanks; ++rank) job_.rank_finalized(rank);
  job_.program_ended(1, SIGKILL);
  EXPECT_TRUE(was_each_told(MessageKind::kill));
  ASSERT_TRUE(job_.failure());
  EXPECT_EQ(job_.failure()->what, "was killed by signal 9 (Killed) in MPI_Finalize");
}

TEST_F(JobTest, bad_status_after_finalize_ends_nobody) {
  attach_all();
  for (int rank = 0; rank < kRanks; ++rank) {
    job_.rank_finalized(rank);
    job_.rank_left_finalize(rank);
  }
  job_.program_ended(1, exited_with(9));
  EXPECT_EQ(told(0, MessageKind::kill), 0);
  EXPECT_TRUE(job_.is_running());
  job_.program_ended(0, exited_with(4));
  job_.program_ended(2, 0);
  EXPECT_TRUE(was_each_told(MessageKind::release));
  EXPECT_EQ(job_.exit_status(), 9);
}

TEST_F(JobTest, own_words_of_a_rank_are_the_message) {
  attach_all();
  job_.rank_gave_up(0, "called MPI_Abort", exited_with(7));
  job_.program_ended(0, exited_with(1));
  EXPECT_EQ(job_.failure()->what, "called MPI_Abort");
  EXPECT_EQ(job_.exit_status(), 7);
}

TEST_F(JobTest, names_the_rank_whose_parent_died_first_whatever_the_order_of_reports) {
  for (const int rank : {2, 0, 1}) job_.parent_died(rank);
  for (const int rank : {0, 1, 2}) job_.parent_lost(rank);
  job_.pass_time(job_.deadline_ns());
  EXPECT_EQ(job_.failure()->world_rank, 2);
  EXPECT_EQ(job_.failure()->pid, 1002);
}

TEST_F(JobTest, lost_library_waits_for_a_better_explanation) {
  attach_all();
  job_.library_lost(1);
  EXPECT_FALSE(job_.failure());
  EXPECT_NE(job_.deadline_ns(), 0u);
  job_.program_ended(1, SIGABRT);
  EXPECT_EQ(job_.exit_status(), 128 + SIGABRT);
}

TEST_F(JobTest, lost_library_becomes_a_failure_when_nothing_explains_it) {
  attach_all();
  job_.library_lost(1);
  job_.pass_time(kFarFuture);
  ASSERT_TRUE(job_.failure());
  EXPECT_EQ(job_.failure()->world_rank, 1);
  EXPECT_TRUE(was_each_told(MessageKind::kill));
}

TEST_F(JobTest, launcher_that_ends_early_is_a_failure) {
  attach_all();
  job_.launcher_ended(SIGKILL);
  EXPECT_TRUE(job_.is_running());
  job_.pass_time(kFarFuture);
  EXPECT_EQ(job_.exit_status(), 128 + SIGKILL);
  EXPECT_TRUE(was_each_told(MessageKind::kill));
}

TEST_F(JobTest, rank_that_writes_to_a_launcher_that_was_killed_is_not_the_cause) {
  attach_all();
  job_.library_lost(1);
  job_.program_ended(1, SIGPIPE);
  job_.launcher_ended(SIGKILL);
  job_.pass_time(kFarFuture);
  ASSERT_TRUE(job_.failure());
  EXPECT_EQ(job_.failure()->what, "the MPI launcher mpiexec was killed by signal 9 (Killed)");
  EXPECT_EQ(job_.exit_status(), 128 + SIGKILL);
}

TEST_F(JobTest, rank_that_writes_to_a_pipe_nobody_reads_is_a_failure_where_the_launcher_lives) {
  attach_all();
  job_.library_lost(1);
  job_.program_ended(1, SIGPIPE);
  job_.pass_time(kFarFuture);
  ASSERT_TRUE(job_.failure());
  EXPECT_EQ(job_.failure()->what, "was killed by signal 13 (Broken pipe)");
  EXPECT_EQ(job_.failure()->world_rank, 1);
}

TEST_F(JobTest, rank_that_writes_to_a_pipe_nobody_reads_is_the_cause_of_what_others_do_then) {
  attach_all();
  job_.library_lost(2);
  job_.program_ended(1, SIGPIPE);
  job_.program_ended(2, exited_with(1));
  job_.rank_gave_up(0, "the connection is gone", exited_with(1));
  job_.pass_time(kFarFuture);
  ASSERT_TRUE(job_.failure());
  EXPECT_EQ(job_.failure()->what, "was killed by signal 13 (Broken pipe)");
  EXPECT_EQ(job_.failure()->world_rank, 1);
}

TEST_F(JobTest, signal_gives_ranks_time_and_then_kills) {
  attach_all();
  job_.interrupted(SIGTERM);
  EXPECT_EQ(told(0, MessageKind::kill), 0);
  job_.program_ended(0, SIGTERM);
  EXPECT_EQ(told(1, MessageKind::release), 0);
  job_.pass_time(kFarFuture);
  EXPECT_EQ(told(1, MessageKind::kill), 1);
  EXPECT_EQ(job_.exit_status(), 128 + SIGTERM);
}

TEST_F(JobTest, second_signal_kills_at_once) {
  attach_all();
  job_.interrupted(SIGINT);
  job_.interrupted(SIGINT);
  EXPECT_TRUE(was_each_told(MessageKind::kill));
  EXPECT_EQ(job_.exit_status(), 128 + SIGINT);
}

TEST_F(JobTest, gives_up_on_ranks_and_launcher_that_do_not_end) {
  attach_all();
  job_.program_ended(0, SIGSEGV);
  job_.pass_time(kFarFuture);
  EXPECT_EQ(told(1, MessageKind::release), 1);
  EXPECT_FALSE(job_.gave_up_on_launcher());
  job_.pass_time(kFarFuture);
  EXPECT_TRUE(job_.gave_up_on_launcher());
}

TEST_F(JobTest, each_warning_is_given_once) {
  for (const char* text : {"host a is in no rack", "host b is in no rack", "host a is in no rack"}) job_.warn(text);
  EXPECT_EQ(told_user_, "spillway: host a is in no rack\nspillway: host b is in no rack\n");
}

TEST_F(JobTest, rank_that_comes_too_late_is_sent_home) {
  job_.program_ended(0, SIGSEGV);
  job_.program_ended(1, SIGKILL);
  job_.program_ended(2, SIGKILL);
  EXPECT_TRUE(was_each_told(MessageKind::release));
  EXPECT_EQ(told(2, MessageKind::kill), 1);
  job_.parent_came(2, 502);
  EXPECT_EQ(told(2, MessageKind::release), 1);
  EXPECT_EQ(told(2, MessageKind::kill), 1);
}

TEST(Failure, quotes_the_launcher_where_one_of_its_processes_was_lost) {
  const std::string error = "[mpiexec@vm] process reading stdin too slowly\n";
  Failure lost = failure_of_lost_parent();
  quote_launcher(lost, error);
  EXPECT_NE(describe(lost).find("own words:\n    [mpiexec@vm] process reading stdin too slowly"), std::string::npos);
  Failure other = failure_of_exit(SIGSEGV, Finalize::not_called);
  quote_launcher(other, error);
  EXPECT_EQ(describe(other).find("stdin"), std::string::npos);
}

TEST(Failure, every_signal_to_the_job_has_cause_and_remedy) {
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT}) {
    const Failure failure = failure_of_interrupt(number);
    EXPECT_FALSE(failure.cause.empty() || failure.remedy.empty()) << number;
  }
}

TEST(Failure, message_names_rank_host_process_cause_and_remedy) {
  Failure failure = failure_of_exit(SIGKILL, Finalize::not_called);
  failure.world_rank = 3;
  failure.pid = 4711;
  failure.host = "vm";
  const std::string text = describe(failure);
  EXPECT_EQ(text.find("spillway: rank 3 on host vm (process 4711) was killed by signal 9 (Killed)\n  Cause:  "), 0u);
  EXPECT_NE(text.find("\n  Remedy: "), std::string::npos);
}

}  // namespace
}  // namespace spillway::launch
