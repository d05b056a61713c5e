// Waits for descriptors, and calls whoever watches them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/descriptor.h"

namespace spillway::launch {

// Lets the process have as many descriptors as such a job's agent may want; most systems allow 1024 unless asked.
void allow_descriptors(uint32_t rank_count);

// A fatal error unless it may have what it needs for so many ranks that attach to it, and connections with other nodes.
void need_descriptors(uint32_t local_ranks, uint32_t other_nodes);

// What an agent that cannot take a connection says of it: cause and remedy as in describe(Failure). Empty where the
// next one may fare better.
std::string want_of_descriptors(int error);

class EventLoop {
 public:
  EventLoop();

  // Calls `handler` whenever the descriptor is ready for `events` (EPOLLIN, EPOLLOUT) or has an error. The descriptor
  // is the caller's, who ends the watch before closing it. A regular file is never ready.
  void watch(int descriptor, uint32_t events, std::function<void()> handler);
  void change(int descriptor, uint32_t events);
  void unwatch(int descriptor);

  // Sleeps until a descriptor is ready, or `timeout_ms` are over (-1: however long it takes), and calls the one
  // handler. False when none was.
  bool wait(int timeout_ms);

  // The same, and then calls those that are ready by now: who judges by the time that has passed shall know what has
  // come meanwhile. Not more than a bounded number, as there may be more all the time.
  void wait_for_all(int timeout_ms);

 private:
  base::Descriptor events_;
  std::unordered_map<int, std::shared_ptr<std::function<void()>>> handlers_;
};

}  // namespace spillway::launch
