#include "launch/remote_nodes.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <sstream>
#include <thread>

#include "base/clock.h"
#include "courier/sockets.h"

namespace spillway::launch {
namespace {

constexpr uint64_t kSecond = 1000000000;

NodeOptions options_of_two_nodes() {
  NodeOptions options;
  options.rank_count = 2;
  options.listen = "127.0.0.1";
  return options;
}

class RemoteNodesTest : public testing::Test {
 protected:
  RemoteNodesTest() { nodes_.report_to(job_); }

  // After so many looks, a second apart.
  std::optional<Failure> missing_after(int looks) {
    std::optional<Failure> found;
    for (int look = 0; look < looks && !found; ++look) found = nodes_.look_for_missing_ranks(now_ns_ += kSecond);
    return found;
  }

  // The agent of another node, which has joined.
  std::unique_ptr<ControlConnection> joined_node() {
    std::istringstream where(nodes_.where_to_join());
    courier::NodeAddress address;
    where >> address.host >> address.port;
    auto node = std::make_unique<ControlConnection>(
        loop_, courier::begin_connect(address), [](const ControlMessage&) {}, [this] { is_over_ = true; });
    node->send({ControlKind::join, -1, 4711, false, nodes_.secret() + "\nhost7"});
    pass_messages();
    return node;
  }

  void pass_messages() {
    for (int i = 0; i < 10; ++i) loop_.wait(10);
  }

  const NodeOptions options_ = options_of_two_nodes();
  EventLoop loop_;
  RemoteNodes nodes_{loop_, options_};
  Job job_{nodes_, 2, "mpiexec", [](const std::string&) {}};
  uint64_t now_ns_ = base::now_ns();
  bool is_over_ = false;
};

TEST_F(RemoteNodesTest, ranks_that_do_not_come_are_missed_after_two_minutes) {
  EXPECT_FALSE(missing_after(119));
  ASSERT_TRUE(missing_after(2));
}

TEST_F(RemoteNodesTest, time_in_which_the_machine_stood_still_or_the_job_was_stopped_is_not_counted) {
  now_ns_ += 1000 * kSecond;
  EXPECT_FALSE(missing_after(100));
  nodes_.signal_parents(SIGTSTP);
  EXPECT_FALSE(missing_after(1000));
}

TEST_F(RemoteNodesTest, who_speaks_another_version_is_named_where_ranks_do_not_come_and_ends_nothing) {
  Failure before;
  nodes_.explain(before);
  EXPECT_EQ(before.cause, "");
  std::istringstream where(nodes_.where_to_join());
  courier::NodeAddress address;
  where >> address.host >> address.port;
  const base::Descriptor stranger = courier::begin_connect(address);
  ASSERT_TRUE(stranger);
  ASSERT_TRUE(loop_.wait(1000));
  const uint32_t header[7] = {0x53504c4a, 9999, 1, 0, 0, 0, 0};
  ASSERT_EQ(send(stranger.number(), header, sizeof header, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof header));
  ASSERT_TRUE(loop_.wait(1000));
  EXPECT_TRUE(job_.is_running());
  EXPECT_FALSE(job_.failure());
  Failure failure;
  failure.cause = "it could not start the ranks";
  nodes_.explain(failure);
  EXPECT_NE(failure.cause.find("another version of Spillway"), std::string::npos);
  EXPECT_NE(failure.cause.find("127.0.0.1"), std::string::npos);
}

TEST_F(RemoteNodesTest, agent_that_does_not_answer_at_the_end_is_named) {
  const auto node = joined_node();
  nodes_.finish(false);
  EXPECT_FALSE(nodes_.have_all_reported());
  EXPECT_EQ(nodes_.silent_hosts(), std::vector<std::string>{"host7"});
  node->send({ControlKind::report, -1, 0, false, "early"});
  pass_messages();
  EXPECT_EQ(nodes_.silent_hosts(), std::vector<std::string>{"host7"});
  node->send({ControlKind::report, -1, 1, false, "last"});
  pass_messages();
  EXPECT_TRUE(nodes_.have_all_reported());
  EXPECT_TRUE(nodes_.silent_hosts().empty());
  EXPECT_FALSE(is_over_);
}

// Slurm kills them as soon as their ranks' parents are gone.
TEST_F(RemoteNodesTest, agent_that_is_lost_soon_after_the_release_is_not_named_where_the_machine_stood_still) {
  auto node = joined_node();
  nodes_.tell_parent(0, node::MessageKind::release);
  EXPECT_TRUE(nodes_.have_been_released());
  std::this_thread::sleep_for(std::chrono::milliseconds(4500));  // nobody looks
  node.reset();
  pass_messages();
  EXPECT_TRUE(nodes_.have_all_reported());
  EXPECT_TRUE(nodes_.silent_hosts().empty());
}

TEST_F(RemoteNodesTest, agent_that_is_lost_long_after_the_release_is_named) {
  auto node = joined_node();
  nodes_.tell_parent(0, node::MessageKind::release);
  now_ns_ = base::now_ns();
  for (int look = 0; look < 5; ++look) nodes_.look_after_release(now_ns_ += kSecond);
  node.reset();
  pass_messages();
  EXPECT_EQ(nodes_.silent_hosts(), std::vector<std::string>{"host7"});
}

}  // namespace
}  // namespace spillway::launch
