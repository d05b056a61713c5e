// Carries one output stream of the MPI launcher to ours, without the launcher's own notices.
//
// A thread of its own, so that a slow reader of our output (a pager, a full pipe) stops the program's output but not
// the agent.
#pragma once

#include <thread>

#include "launch/banner_filter.h"
#include "launch/descriptor.h"

namespace spillway::launch {

class OutputRelay {
 public:
  // Relays to `destination`, which stays open. Throws std::system_error when the system has no pipe left.
  explicit OutputRelay(int destination);
  ~OutputRelay() { finish(); }

  // The end for the launcher to write to. Close it here once the launcher has it.
  Descriptor& writing_end() { return writing_end_; }

  void start();

  // Waits until everything has been carried over; everyone else's writing ends must be closed by now.
  void finish();

  // After `finish`: what the launcher has said of its own errors.
  const std::string& errors_of_launcher() const { return filter_.errors_of_launcher(); }

 private:
  void run();
  bool carry(std::string& text);

  int destination_;
  Descriptor reading_end_;
  Descriptor writing_end_;
  BannerFilter filter_;
  std::thread thread_;
};

}  // namespace spillway::launch
