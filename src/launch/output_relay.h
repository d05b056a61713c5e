// Carries one output stream of the MPI launcher to ours, without the launcher's own notices.
//
// A thread of its own, so that a slow reader of our output (a pager, a full pipe) stops the program's output but not
// the agent, whose own words to the user while the job runs go the same way.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>

#include "base/descriptor.h"
#include "launch/banner_filter.h"

namespace spillway::launch {

class OutputRelay {
 public:
  // Relays to `destination`, which stays open. Throws std::system_error when the system has no pipe left.
  explicit OutputRelay(int destination);
  ~OutputRelay() { finish(); }

  // The end for the launcher to write to. Close it here once the launcher has it.
  base::Descriptor& writing_end() { return writing_end_; }

  void start();

  // Carries a text of ours, too. Returns at once.
  void say(const std::string& text);

  // Waits until everything has been carried over; everyone else's writing ends must be closed by now.
  void finish();
  // For one who does not close it: carries what is there, and no more.
  void stop_reading();

  // After `finish`: what the launcher has said of its own errors.
  const std::string& errors_of_launcher() const { return filter_.errors_of_launcher(); }

 private:
  void run();
  bool carry(std::string& text);
  std::string take_said();
  void wake();

  int destination_;
  base::Descriptor reading_end_;
  base::Descriptor writing_end_;
  base::Descriptor wake_;
  BannerFilter filter_;
  std::mutex mutex_;  // of `said_`
  std::string said_;
  std::atomic<bool> is_stopping_ = false;
  std::thread thread_;
};

}  // namespace spillway::launch
