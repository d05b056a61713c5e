#include "courier/problem_report.h"

#include <errno.h>
#include <sys/eventfd.h>

#include <cstring>

#include "base/error.h"
#include "base/system_calls.h"

namespace spillway::courier {

ProblemReport::ProblemReport() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_) base::fatal("cannot make an eventfd for the courier: %s", strerror(errno));
}

void ProblemReport::report(int node, const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (has_any_) return;
  has_any_ = true;
  first_ = Problem{node, text};
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = base::kernel::write_bytes(event_.number(), &one, sizeof one);
}

Problem ProblemReport::problem() const {
  const std::lock_guard lock(mutex_);
  return first_;
}

}  // namespace spillway::courier
