#include "launch/event_loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <system_error>

#include "base/error.h"

namespace spillway::launch {

namespace {

constexpr rlim_t kSpareDescriptors = 64;  // for all but ranks and nodes
constexpr int kMostAtOnce = 1024;         // events between two looks at the time

}  // namespace

void allow_descriptors(uint32_t rank_count) {
  const rlim_t wanted = kSpareDescriptors + 3 * static_cast<rlim_t>(rank_count);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(limit.rlim_max, wanted);
  setrlimit(RLIMIT_NOFILE, &limit);
}

void need_descriptors(uint32_t local_ranks, uint32_t other_nodes) {
  const rlim_t needed = kSpareDescriptors + 2 * (static_cast<rlim_t>(local_ranks) + other_nodes);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  base::fatal(
      "the node agent needs %llu descriptors for %u ranks\n"
      "  Cause:  this user may have %llu open in a process.\n"
      "  Remedy: raise the hard limit (`ulimit -n`).",
      static_cast<unsigned long long>(needed), local_ranks, static_cast<unsigned long long>(limit.rlim_cur));
}

std::string want_of_descriptors(int error) {
  const std::string cause = std::string("the node agent cannot take a connection: ") + strerror(error);
  switch (error) {
    case EMFILE:
      return cause + "\n  Remedy: raise the limit of descriptors in a process (`ulimit -n`)";
    case ENFILE:
      return cause + "\n  Remedy: raise the system's limit of open files (sysctl fs.file-max)";
    case ENOBUFS:
    case ENOMEM:
      return cause + "\n  Remedy: see the kernel's messages (dmesg), and run with a smaller --memory";
    default:
      return "";
  }
}

EventLoop::EventLoop() : events_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!events_) throw std::system_error(errno, std::generic_category(), "epoll_create1");
}

void EventLoop::watch(int descriptor, uint32_t events, std::function<void()> handler) {
  epoll_event event{};
  event.events = events;
  event.data.fd = descriptor;
  if (epoll_ctl(events_.number(), EPOLL_CTL_ADD, descriptor, &event) != 0) {
    if (errno == EPERM) return;  // a regular file
    throw std::system_error(errno, std::generic_category(), "cannot watch a descriptor");
  }
  handlers_[descriptor] = std::make_shared<std::function<void()>>(std::move(handler));
}

void EventLoop::change(int descriptor, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = descriptor;
  epoll_ctl(events_.number(), EPOLL_CTL_MOD, descriptor, &event);
}

void EventLoop::unwatch(int descriptor) {
  if (handlers_.erase(descriptor) != 0) epoll_ctl(events_.number(), EPOLL_CTL_DEL, descriptor, nullptr);
}

bool EventLoop::wait(int timeout_ms) {
  epoll_event event{};
  if (epoll_wait(events_.number(), &event, 1, timeout_ms) != 1) return false;
  const auto found = handlers_.find(event.data.fd);
  if (found == handlers_.end()) return false;
  const auto handler = found->second;  // it may end its own watch
  (*handler)();
  return true;
}

void EventLoop::wait_for_all(int timeout_ms) {
  bool is_any_left = wait(timeout_ms);
  for (int taken = 1; is_any_left && taken < kMostAtOnce; ++taken) is_any_left = wait(0);
}

}  // namespace spillway::launch
