// Waits for descriptors, and calls whoever watches them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "launch/descriptor.h"

namespace spillway::launch {

// Lets the process have two descriptors per rank, and some to spare; most systems allow 1024 unless asked.
void allow_descriptors(uint32_t rank_count);

class EventLoop {
 public:
  EventLoop();

  // Calls `handler` whenever the descriptor is ready for `events` (EPOLLIN, EPOLLOUT) or has an error. The descriptor
  // is the caller's, who ends the watch before closing it. A regular file is never ready.
  void watch(int descriptor, uint32_t events, std::function<void()> handler);
  void change(int descriptor, uint32_t events);
  void unwatch(int descriptor);

  // Sleeps until a descriptor is ready, or `timeout_ms` are over (-1: however long it takes), and calls the one
  // handler.
  void wait(int timeout_ms);

 private:
  Descriptor events_;
  std::unordered_map<int, std::shared_ptr<std::function<void()>>> handlers_;
};

}  // namespace spillway::launch
