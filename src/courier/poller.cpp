#include "courier/poller.h"

#include <errno.h>

#include <cstring>

#include "base/error.h"

namespace spillway::courier {
namespace {
constexpr int kMostEvents = 64;
}

Poller::Poller() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) base::fatal("cannot make an epoll descriptor for the courier: %s", strerror(errno));
}

void Poller::add(int descriptor, uint32_t events, EventSource& source) {
  control(EPOLL_CTL_ADD, descriptor, events, source);
}

void Poller::change(int descriptor, uint32_t events, EventSource& source) {
  control(EPOLL_CTL_MOD, descriptor, events, source);
}

void Poller::control(int operation, int descriptor, uint32_t events, EventSource& source) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &source;
  if (epoll_ctl(epoll_.number(), operation, descriptor, &event) != 0)
    base::fatal("the courier cannot wait for one of its connections: %s", strerror(errno));
}

void Poller::wait(int timeout_ms) {
  epoll_event events[kMostEvents];
  const int count = epoll_wait(epoll_.number(), events, kMostEvents, timeout_ms);
  SPILLWAY_CHECK(count >= 0 || errno == EINTR);
  for (int i = 0; i < count; ++i) static_cast<EventSource*>(events[i].data.ptr)->handle(events[i].events);
}

}  // namespace spillway::courier
