#include "memory/forked_children.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "base/system_calls.h"

namespace spillway::memory {

void ForkedChildren::before_fork() {
  int ends[2] = {-1, -1};
  if (reading_end_ < 0) {
    cannot_tell_ |= pipe2(ends, O_CLOEXEC) != 0;
    reading_end_ = ends[0];
    writing_end_ = ends[1];
    return;
  }
  char name[32];
  snprintf(name, sizeof name, "/proc/self/fd/%d", reading_end_);
  writing_end_ = base::kernel::open(name, O_WRONLY | O_CLOEXEC);
  cannot_tell_ |= writing_end_ < 0;
}

void ForkedChildren::after_fork_in_parent() {
  if (writing_end_ >= 0) base::kernel::close(std::exchange(writing_end_, -1));
}

// It keeps the writing end to its end.
void ForkedChildren::after_fork_in_child() {
  if (reading_end_ >= 0) base::kernel::close(std::exchange(reading_end_, -1));
  writing_end_ = -1;
}

bool ForkedChildren::is_any_alive() const {
  if (reading_end_ < 0) return cannot_tell_;
  pollfd reading{reading_end_, 0, 0};
  return cannot_tell_ || poll(&reading, 1, 0) != 1 || (reading.revents & POLLHUP) == 0;
}

}  // namespace spillway::memory
