#include "memory/page_map.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/system_calls.h"

namespace spillway::memory {
namespace {

constexpr uint64_t kPresent = 1ull << 63;
constexpr uint64_t kSwapped = 1ull << 62;
constexpr uint64_t kFileOrShared = 1ull << 61;

// Opened for each process anew: a descriptor from before a fork shows the parent.
int pagemap_of_this_process() {
  static int descriptor = -1;
  static pid_t owner = 0;
  if (owner != getpid()) {
    if (descriptor >= 0) base::kernel::close(descriptor);
    descriptor = base::kernel::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    owner = descriptor >= 0 ? getpid() : 0;
  }
  return descriptor;
}

PageState state_of(uint64_t entry) {
  if (entry & kSwapped) return PageState::dirty;
  if (!(entry & kPresent)) return PageState::absent;
  return (entry & kFileOrShared) ? PageState::clean : PageState::dirty;
}

}  // namespace

bool PageMap::is_readable() { return pagemap_of_this_process() >= 0; }

void PageMap::fill() {
  window_begin_ = next_;
  window_pages_ = std::min(kWindow, (end_ - next_) / kPageBytes);
  const auto wanted = static_cast<ssize_t>(window_pages_ * sizeof(uint64_t));
  const int descriptor = pagemap_of_this_process();
  if (descriptor < 0)
    base::fatal(
        "cannot read /proc/self/pagemap: %s. Spillway needs a mounted /proc, and a program that its user may read",
        strerrordesc_np(errno));
  const ssize_t got =
      base::kernel::read_at(descriptor, entries_, static_cast<uint64_t>(wanted), next_ / kPageBytes * sizeof(uint64_t));
  if (got != wanted) base::fatal("cannot read /proc/self/pagemap: %s", got < 0 ? strerrordesc_np(errno) : "short read");
}

uint64_t PageMap::absent_bytes(uint64_t begin, uint64_t bytes) {
  uint64_t absent = 0;
  PageMap pages(begin, bytes);
  for (PageRun run; pages.next(run);)
    if (run.state == PageState::absent) absent += run.bytes;
  return absent;
}

bool PageMap::next(PageRun& run) {
  if (next_ >= end_) return false;
  if (next_ >= window_begin_ + window_pages_ * kPageBytes) fill();
  uint64_t page = (next_ - window_begin_) / kPageBytes;
  const PageState state = state_of(entries_[page]);
  while (page < window_pages_ && state_of(entries_[page]) == state) ++page;
  const uint64_t run_end = window_begin_ + page * kPageBytes;
  run = PageRun{next_, run_end - next_, state};
  next_ = run_end;
  return true;
}

}  // namespace spillway::memory
