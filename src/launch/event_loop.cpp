#include "launch/event_loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include <algorithm>
#include <system_error>

namespace spillway::launch {

void allow_descriptors(uint32_t rank_count) {
  const rlim_t wanted = 64 + 3 * static_cast<rlim_t>(rank_count);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(limit.rlim_max, wanted);
  setrlimit(RLIMIT_NOFILE, &limit);
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

void EventLoop::wait(int timeout_ms) {
  epoll_event event{};
  if (epoll_wait(events_.number(), &event, 1, timeout_ms) != 1) return;
  const auto found = handlers_.find(event.data.fd);
  if (found == handlers_.end()) return;
  const auto handler = found->second;  // it may end its own watch
  (*handler)();
}

}  // namespace spillway::launch
