#include "keyvalue/task_hosts.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/host_names.h"
#include "keyvalue/failure.h"

namespace spillway::keyvalue {
namespace {

using Names = std::vector<std::string>;

Placement placement_of(int process, int process_count, int o_tasks, MPI_D_Mode mode = MPI_D_MODE_MAPREDUCE) {
  Configuration configuration;
  configuration.o_tasks = o_tasks;
  return {mode, configuration, process, process_count};
}

std::string refusal_of(const Placement& placement, const Names& of_tasks) {
  try {
    const TaskHosts hosts(Names(static_cast<size_t>(placement.process_count()), "one"), placement, of_tasks);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), MPI_D_ERR_CONF);
    return failure.what();
  }
  return "";
}

TEST(TaskHosts, a_host_is_known_with_and_without_its_domain) {
  EXPECT_TRUE(base::is_same_host("node1", "NODE1"));
  EXPECT_TRUE(base::is_same_host("node1", "node1.example.org"));
  EXPECT_TRUE(base::is_same_host("node1.Example.org", "node1.example.org"));
  EXPECT_FALSE(base::is_same_host("node1.example.org", "node1.example.com"));
  EXPECT_FALSE(base::is_same_host("node1", "node10"));
  EXPECT_FALSE(base::is_same_host("node10.example.org", "node1"));
  EXPECT_FALSE(base::is_same_host("", "node1"));
  EXPECT_TRUE(base::is_same_host(base::host_name().data(), base::host_name().data()));
}

TEST(TaskHosts, a_name_that_is_written_whole_is_that_hosts_and_one_that_two_have_is_refused) {
  const Names processes = {"one", "one.b.org", "two.a.org", "two.b.org"};
  const Placement placement = placement_of(0, 4, 3);
  const TaskHosts hosts(processes, placement, {"one.b.org", "ONE", "two.b.org"});
  EXPECT_EQ(hosts.of_tasks(), (std::vector<int>{1, 0, 3}));
  try {
    const TaskHosts unclear(processes, placement, {"", "two", ""});
    ADD_FAILURE() << "task 1 has got a host";
  } catch (const Failure& failure) {
    EXPECT_NE(
        std::string(failure.what()).find("O task 1 has its input on host two, which may be two.a.org or two.b.org"),
        std::string::npos);
  }
}

std::vector<int> own_o_tasks(const Placement& placement) {
  std::vector<int> own;
  for (int task = 0; (task = placement.next_own_o_task(task)) < placement.o_tasks(); ++task) own.push_back(task);
  return own;
}

TEST(TaskHosts, each_task_is_run_once_by_a_process_of_its_host) {
  const Names processes = {"one", "two", "one", "three"};
  const Names of_tasks = {"one", "", "one", "two", "one", "TWO.example.org", ""};
  const std::vector<std::vector<int>> expected = {{0, 4}, {1, 3, 5}, {2, 6}, {}};
  for (const MPI_D_Mode mode : {MPI_D_MODE_MAPREDUCE, MPI_D_MODE_ITERATION})
    for (int process = 0; process < 4; ++process) {
      Placement placement = placement_of(process, 4, 7, mode);
      const TaskHosts hosts(processes, placement, of_tasks);
      EXPECT_EQ(hosts.of_tasks(), (std::vector<int>{0, -1, 0, 1, 0, 1, -1}));
      EXPECT_EQ(hosts.here(), (std::vector<int>{0, 1, 0, 2})[static_cast<size_t>(process)]);
      placement.place_o_tasks(hosts.processes_of_tasks());
      EXPECT_EQ(own_o_tasks(placement), expected[static_cast<size_t>(process)]);
    }
}

TEST(TaskHosts, records_for_an_o_task_go_where_it_is) {
  Placement placement = placement_of(1, 4, 4, MPI_D_MODE_ITERATION);
  EXPECT_FALSE(placement.has_process_several_o_tasks());
  EXPECT_EQ(placement.to_o_tasks_and_driver().process_of(1), 1);
  placement.place_o_tasks(
      TaskHosts({"one", "two", "one", "two"}, placement, {"two", "two", "two", ""}).processes_of_tasks());
  EXPECT_TRUE(placement.has_process_several_o_tasks());
  const Route route = placement.to_o_tasks_and_driver();
  const int expected[] = {1, 3, 1, 3, 0};  // the last one is the driver
  for (uint32_t partition = 0; partition < 5; ++partition) EXPECT_EQ(route.process_of(partition), expected[partition]);
  for (int process = 0; process < 4; ++process) EXPECT_TRUE(route.receives(process));
}

TEST(TaskHosts, without_hosts_tasks_are_those_of_processes_in_turn) {
  EXPECT_EQ(own_o_tasks(placement_of(1, 3, 8)), (std::vector<int>{1, 4, 7}));
  EXPECT_TRUE(own_o_tasks(placement_of(2, 3, 2)).empty());
}

TEST(TaskHosts, what_does_not_fit_the_job_is_refused) {
  EXPECT_EQ(refusal_of(placement_of(0, 2, 2), {"", "lost"}),
            "O task 1 has its input on host lost, where this job has no process: those are on one\n"
            "  Remedy: start it on that host, too, or name the host as `hostname` does there");
  EXPECT_EQ(
      refusal_of(placement_of(0, 2, 3), {"", "one"}).find("MPI_D_INPUT_HOSTS is about 2 O tasks, and the job has 3"),
      0u);
  for (const MPI_D_Mode mode : {MPI_D_MODE_COMMON, MPI_D_MODE_STREAMING})
    EXPECT_EQ(refusal_of(placement_of(0, 2, 1, mode), {"one"})
                  .find("MPI_D_INPUT_HOSTS is of the modes MapReduce and iteration"),
              0u);
}

}  // namespace
}  // namespace spillway::keyvalue
