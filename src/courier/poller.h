// The descriptors that a courier sleeps on (epoll, level-triggered), and who is told when something has come of one.
#pragma once

#include <sys/epoll.h>

#include <cstdint>

#include "base/descriptor.h"

namespace spillway::courier {

class EventSource {
 public:
  // In the courier's thread; `events` as of epoll_wait. May close its descriptor, but must stay where it is until
  // Poller::wait() has returned.
  virtual void handle(uint32_t events) = 0;

 protected:
  ~EventSource() = default;
};

class Poller {
 public:
  Poller();

  // A descriptor that is closed is forgotten.
  void add(int descriptor, uint32_t events, EventSource& source);
  void change(int descriptor, uint32_t events, EventSource& source);

  // Sleeps until there are events or `timeout_ms` have passed (-1: no limit), and hands the events out.
  void wait(int timeout_ms);

 private:
  void control(int operation, int descriptor, uint32_t events, EventSource& source);

  base::Descriptor epoll_;
};

}  // namespace spillway::courier
