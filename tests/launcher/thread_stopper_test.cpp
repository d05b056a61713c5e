#include "launch/thread_stopper.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

namespace spillway::launch {
namespace {

using node::ThreadStop;

constexpr uint32_t kThreads = 4;  // beside the first one

// What a child and this process know of each other.
struct Shared {
  std::atomic<int> asker;                              // the child's first thread
  std::array<std::atomic<uint64_t>, kThreads> counts;  // what its other threads do
  std::array<std::atomic<int>, kThreads> counters;     // who they are
  std::atomic<uint64_t> own_count;
  std::atomic<uint64_t> links;  // of the chain
  std::atomic<uint32_t> signals;
  std::atomic<int> poll_result;
};

Shared* shared = nullptr;

void count_signal(int) { ++shared->signals; }

void start_next_of_chain() {
  std::thread([] {
    ++shared->links;
    start_next_of_chain();
  }).detach();
}

void sleep_ms(int milliseconds) { usleep(static_cast<useconds_t>(milliseconds) * 1000); }

// A busy machine may leave a thread without a processor for long.
template <class Condition>
bool comes_true(const Condition& condition) {
  for (int waited_ms = 0; !condition() && waited_ms < 5000; ++waited_ms) sleep_ms(1);
  return condition();
}

// A child of which all threads count, and one sleeps in a system call for half a second.
class ThreadStopperTest : public testing::Test {
 protected:
  ThreadStopperTest() {
    shared = new (mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Shared{};
    child_ = fork();
    if (child_ == 0) run_child();
    while (shared->asker == 0 || shared->counts.back() == 0) sleep_ms(1);
  }
  ~ThreadStopperTest() override {
    stopper_.let_go();
    if (child_ != 0) kill(child_, SIGKILL);
    while (child_ != 0) take_an_end();
    munmap(shared, sizeof(Shared));
  }

  [[noreturn]] static void run_child() {
    struct sigaction action {};
    action.sa_handler = count_signal;
    sigaction(SIGUSR1, &action, nullptr);
    for (uint32_t i = 0; i < kThreads; ++i)
      std::thread([i] {
        shared->counters[i] = static_cast<int>(syscall(SYS_gettid));
        for (;; sleep_ms(0)) ++shared->counts[i];
      }).detach();
    std::thread([] { shared->poll_result = 1 + poll(nullptr, 0, 500); }).detach();
    // Threads that start while the others are being stopped; each of the chain starts the next one and ends.
    start_next_of_chain();
    std::thread([] {
      for (;;) std::thread([] {}).join();
    }).detach();
    sigset_t signals;  // for the other threads
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    shared->asker = static_cast<int>(syscall(SYS_gettid));
    for (;; sleep_ms(0)) ++shared->own_count;
  }

  // On a machine that is busy otherwise, threads may take longer to come to a stop.
  ThreadStop stop() {
    ThreadStop result = ThreadStop::not_now;
    for (int tries = 0; result == ThreadStop::not_now && tries < 100; ++tries) {
      result = stopper_.stop(child_, shared->asker);
      if (result == ThreadStop::not_now) let_go();
    }
    return result;
  }

  void let_go() {
    stopper_.let_go();
    for (pid_t child; (child = waitpid(-1, &wait_status_, WNOHANG)) > 0;) {
      if (WIFSTOPPED(wait_status_))
        stopper_.came_to_a_stop(child, wait_status_);
      else
        stopper_.has_been_reaped(child);
    }
  }

  // Of the child, or of a thread that has ended while it was traced: before that the kernel does not tell of the child.
  void take_an_end() {
    const pid_t ended = waitpid(-1, &wait_status_, 0);
    if (ended == child_ && !WIFSTOPPED(wait_status_)) child_ = 0;
  }

  static std::array<uint64_t, kThreads> counts() {
    std::array<uint64_t, kThreads> values{};
    for (uint32_t i = 0; i < kThreads; ++i) values[i] = shared->counts[i];
    return values;
  }

  pid_t child_ = 0;
  int wait_status_ = 0;
  ThreadStopper stopper_;
};

TEST_F(ThreadStopperTest, all_threads_stop_but_the_one_that_asks) {
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(stop(), ThreadStop::stopped);
    const auto before = counts();
    const uint64_t own_before = shared->own_count, links_before = shared->links;
    sleep_ms(10);
    EXPECT_TRUE(comes_true([&] { return shared->own_count > own_before; }));
    EXPECT_EQ(counts(), before);
    EXPECT_EQ(shared->links, links_before);
    let_go();
    EXPECT_TRUE(comes_true([&] {
      for (uint32_t i = 0; i < kThreads; ++i)
        if (shared->counts[i] <= before[i]) return false;
      return shared->links > links_before;
    }));
  }
}

TEST_F(ThreadStopperTest, signals_that_come_meanwhile_are_taken_afterwards) {
  ASSERT_EQ(stop(), ThreadStop::stopped);
  kill(child_, SIGUSR1);
  sleep_ms(10);
  EXPECT_EQ(shared->signals, 0u);
  let_go();
  EXPECT_TRUE(comes_true([] { return shared->signals == 1; }));
}

TEST_F(ThreadStopperTest, signals_that_come_at_the_same_time_are_all_taken) {
  for (uint32_t sent = 1; sent <= 200; ++sent) {
    kill(child_, SIGUSR1);
    ASSERT_EQ(stop(), ThreadStop::stopped);
    let_go();
    ASSERT_TRUE(comes_true([&] { return shared->signals >= sent; }));
    ASSERT_EQ(shared->signals, sent);
  }
}

TEST_F(ThreadStopperTest, system_calls_go_on_as_if_nothing_had_been) {
  for (int round = 0; round < 10; ++round) {
    ASSERT_EQ(stop(), ThreadStop::stopped);
    let_go();
  }
  EXPECT_TRUE(comes_true([] { return shared->poll_result != 0; }));
  EXPECT_EQ(shared->poll_result, 1);  // the time was over: no EINTR
}

TEST_F(ThreadStopperTest, threads_that_end_meanwhile_do_not_hide_the_one_that_asks) {
  // A thread in the middle of the list; the first one is always found.
  for (int round = 0; round < 500; ++round) {
    ASSERT_NE(stopper_.stop(child_, shared->counters[kThreads - 1]), ThreadStop::not_allowed) << round;
    let_go();
  }
}

TEST_F(ThreadStopperTest, a_killed_process_ends) {
  ASSERT_EQ(stop(), ThreadStop::stopped);
  kill(child_, SIGKILL);
  while (child_ != 0) take_an_end();
  EXPECT_TRUE(WIFSIGNALED(wait_status_));
}

TEST_F(ThreadStopperTest, says_so_where_another_process_traces_the_threads) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t debugger = fork();
  if (debugger == 0) {
    ThreadStopper own;
    const bool has_stopped = own.stop(child_, shared->asker) == ThreadStop::stopped;
    [[maybe_unused]] const ssize_t written = write(ready[1], &has_stopped, 1);
    for (;;) pause();
  }
  char has_stopped = 0;
  ASSERT_EQ(read(ready[0], &has_stopped, 1), 1);
  const bool may_trace_a_sibling = has_stopped != 0;  // not where Yama restricts it to descendants
  EXPECT_EQ(stopper_.stop(child_, shared->asker), may_trace_a_sibling ? ThreadStop::not_allowed : ThreadStop::stopped);
  kill(debugger, SIGKILL);
  waitpid(debugger, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
}

}  // namespace
}  // namespace spillway::launch
