#include "launch/descendants.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "launch/failure.h"
#include "launch/process_times.h"

namespace spillway::launch {
namespace {

constexpr uint64_t kSecond = 1000000000;

cpu_set_t only(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(cpu), &set);
  return set;
}

// Keeps one processor busy for as long as it lives.
class BusyProcessor {
 public:
  explicit BusyProcessor(int cpu)
      : thread_([this, cpu] {
          const cpu_set_t set = only(cpu);
          sched_setaffinity(0, sizeof set, &set);
          while (!is_over_) continue;
        }) {}
  ~BusyProcessor() {
    is_over_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

// A child that has so much memory, and gets next to no time of a busy processor to free it in.
pid_t start_slow_to_end(int cpu, size_t bytes) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    memset(memory, 1, bytes);
    [[maybe_unused]] const ssize_t written = write(ends[1], "", 1);
    for (;;) pause();
  }
  close(ends[1]);
  char done;
  [[maybe_unused]] const ssize_t received = read(ends[0], &done, 1);
  close(ends[0]);
  const cpu_set_t set = only(cpu);
  const sched_param parameter{};
  sched_setaffinity(child, sizeof set, &set);
  sched_setscheduler(child, SCHED_IDLE, &parameter);
  return child;
}

TEST(EndDescendants, leaves_none_that_takes_long_to_end) {
  const int cpu = sched_getcpu();
  const pid_t child = start_slow_to_end(cpu, size_t{256} << 20);
  ASSERT_GT(child, 0);
  const BusyProcessor busy(cpu);
  const uint64_t begin_ns = base::now_ns();
  const std::vector<Endless> left = end_descendants();
  const uint64_t taken_ns = base::now_ns() - begin_ns;
  EXPECT_TRUE(left.empty()) << text_of_endless(left);
  if (taken_ns < 5 * kSecond) GTEST_SKIP() << "the child has ended within " << taken_ns / 1000000 << " ms";
}

TEST(StateOfLastThreads, is_of_a_thread_that_has_not_ended) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    std::thread([&] {
      [[maybe_unused]] const ssize_t written = write(ends[1], "", 1);
      for (;;) pause();
    }).detach();
    syscall(SYS_exit, 0);  // of this thread alone
  }
  char started;
  ASSERT_EQ(read(ends[0], &started, 1), 1);
  while (times_of(child).state != 'Z') usleep(1000);
  while (state_of_last_threads(child) == 'R') usleep(1000);  // on its way to pause()
  EXPECT_EQ(state_of_last_threads(child), 'S');
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(state_of_last_threads(child), '?');
}

TEST(TextOfEndless, blames_a_device_for_who_waits_for_one_only) {
  EXPECT_EQ(text_of_endless({{4711, 'D'}}),
            "process 4711 does not end: it waits for a device or file system that does not answer (state D in ps)");
  EXPECT_EQ(text_of_endless({{4711, 'R'}, {4712, 'D'}}),
            "process 4711 does not end: it was killed, and is in state R (ps); process 4712 does not end: it waits for "
            "a device or file system that does not answer (state D in ps)");
}

}  // namespace
}  // namespace spillway::launch
