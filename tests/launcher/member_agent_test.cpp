#include "launch/member_agent.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "courier/sockets.h"

namespace spillway::launch {
namespace {

constexpr int kPatienceMs = 20000;  // by looks, of which a machine that stands still has none
constexpr int kLookMs = 10;
constexpr uint32_t kRanks = 4;

// A file as MPI libraries leave it behind.
class LeftSegment {
 public:
  LeftSegment() : path_("/dev/shm/ucx_shm_posix_spillway_test_" + std::to_string(getpid())) {
    close(open(path_.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  }
  ~LeftSegment() { unlink(path_.c_str()); }
  bool is_there() const { return access(path_.c_str(), F_OK) == 0; }

 private:
  std::string path_;
};

// The agent of a node, in a process of its own, and the end of its job's agent here.
class MemberAgentTest : public testing::Test {
 protected:
  MemberAgentTest() : listener_(courier::listen_on_any_port("127.0.0.1", port_)) {
    options_.rank_count = kRanks;
    options_.slot_count = 1;
    options_.budget_bytes = 1 << 20;
    options_.spill_directories = "/var/tmp";
    options_.member = random_socket_name();
    options_.join = "127.0.0.1 " + std::to_string(port_);
  }

  // It may have so many descriptors.
  void start(rlim_t descriptors) {
    agent_ = fork();
    if (agent_ == 0) {
      const rlimit limit{descriptors, descriptors};
      setrlimit(RLIMIT_NOFILE, &limit);
      _exit(MemberAgent(options_).run());
    }
    pollfd comes{listener_.number(), POLLIN, 0};
    bool has_come = false;
    for (int waited = 0; waited < kPatienceMs && !has_come; waited += kLookMs) has_come = poll(&comes, 1, kLookMs) == 1;
    ASSERT_TRUE(has_come);
    connection_ = std::make_unique<ControlConnection>(
        loop_, courier::accept_connection(listener_.number()),
        [this](const ControlMessage& message) { messages_.push_back(message); }, [this] { connection_.reset(); });
    connection_->trust();
  }

  // False when it has not come in time.
  bool comes(ControlKind kind) {
    for (int waited = 0; waited < kPatienceMs && connection_ != nullptr; waited += kLookMs) {
      while (!messages_.empty()) {
        const ControlKind next = messages_.front().kind;
        messages_.erase(messages_.begin());
        if (next == kind) return true;
      }
      loop_.wait(kLookMs);
    }
    return false;
  }

  // That all ranks are on this node.
  void tell_of_nodes() {
    std::string text = "1\n127.0.0.1 " + std::to_string(port_) + "\n0 " + routing::Selection().text() + "\n";
    for (uint32_t rank = 0; rank < kRanks; ++rank) text += "0 ";
    connection_->send(ControlMessage{ControlKind::nodes, -1, 0, false, text});
  }

  // As a machine that its host does not run, between two looks of the agent at the clock.
  void stand_still(std::chrono::milliseconds time) {
    kill(agent_, SIGSTOP);
    std::this_thread::sleep_for(time);
    kill(agent_, SIGCONT);
  }

  bool has_ended() const { return waitpid(agent_, nullptr, WNOHANG) != 0; }

  void wait_for_end() {
    connection_.reset();
    waitpid(agent_, nullptr, 0);
  }

  uint16_t port_ = 0;
  base::Descriptor listener_;
  NodeOptions options_;
  pid_t agent_ = 0;
  EventLoop loop_;
  std::unique_ptr<ControlConnection> connection_;
  std::vector<ControlMessage> messages_;
};

TEST_F(MemberAgentTest, cleans_up_after_a_second_fatal_error) {
  const LeftSegment segment;
  start(70);
  ASSERT_TRUE(comes(ControlKind::join));
  tell_of_nodes();  // needs more descriptors
  ASSERT_TRUE(comes(ControlKind::cannot_serve));
  EXPECT_TRUE(segment.is_there());
  tell_of_nodes();
  EXPECT_TRUE(comes(ControlKind::report));
  wait_for_end();
  EXPECT_FALSE(segment.is_there());
}

TEST_F(MemberAgentTest, waits_for_the_jobs_agent_also_where_the_machine_stood_still) {
  start(1024);
  ASSERT_TRUE(comes(ControlKind::join));
  connection_->send(ControlMessage{ControlKind::finish, -1, 0, false, ""});
  ASSERT_TRUE(comes(ControlKind::report));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // it waits by now
  stand_still(std::chrono::milliseconds(5500));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_FALSE(has_ended());
  wait_for_end();
}

}  // namespace
}  // namespace spillway::launch
