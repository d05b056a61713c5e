#include "node/other_threads.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "base/clock.h"
#include "base/system_calls.h"
#include "node/library_socket.h"

namespace spillway::node {
namespace {

constexpr time_t kLongestAnswerS = 2;
constexpr uint64_t kPatienceNs = 2000000;  // the lock is held for microseconds

// The directory has a link from each thread's, beside two of its own.
bool is_alone() {
  struct stat directory {};
  return stat("/proc/self/task", &directory) == 0 && directory.st_nlink == 3;
}

}  // namespace

ThreadStop OtherThreads::ask_parent() {
  socket_ = connect_library(parent_.c_str());
  AttachMessage message = library_message(MessageKind::stop_threads);
  message.pid = static_cast<int32_t>(syscall(SYS_gettid));
  // Somebody may have stopped the parent (SIGSTOP).
  const timeval patience{kLongestAnswerS, 0};
  if (socket_ >= 0) setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (socket_ < 0 || !send_from_library(socket_, message) || !receive_in_library(socket_, message))
    return ThreadStop::not_now;  // or the parent is gone, and soon this process is too
  return static_cast<ThreadStop>(message.wait_status);
}

ThreadStop OtherThreads::stop() {
  if (is_alone()) return ThreadStop::stopped;
  const ThreadStop result = ask_parent();
  if (result != ThreadStop::stopped) return result;
  for (const uint64_t end_ns = base::now_ns() + kPatienceNs; base::now_ns() < end_ns; base::kernel::yield())
    if (const NodeLock lock(header_, std::try_to_lock); lock.is_held()) return ThreadStop::stopped;
  return ThreadStop::not_now;
}

// The parent sees the end of the connection even where a child, made in a way that nobody is told of, has it open too.
void OtherThreads::let_go() {
  if (socket_ < 0) return;
  base::kernel::shut_down(socket_);
  base::kernel::close(std::exchange(socket_, -1));
}

}  // namespace spillway::node
