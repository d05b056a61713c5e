// OpenSHMEM's progress: what has been put arrives, and signals are given, while the PEs at both ends compute without a
// call. MPI libraries bring what comes from other nodes while they are called, so a thread of this library calls them.
//
// It must not take the processors that PEs compute with, and MPI does not say whether a call has brought anything. So
// the thread looks on at once as long as looks take more processor time than those that find nothing, and sleeps
// between others, longer each time, up to a millisecond: 1 to 2% of a processor where nothing comes.
//
// Under Spillway it is one of the MPI library's threads: it has no part in the rank's slot and its calls go to the
// library itself.
#pragma once

#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>

namespace spillway::pgas {

class ProgressThread {
 public:
  // `look` lets MPI go on, and must return soon.
  explicit ProgressThread(std::function<void()> look);
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  // For a process that ends, in whichever state it is: waits for the end of the look, but not for ever. One that has
  // been forked has no such thread.
  void stop();

 private:
  void end();
  void run();

  std::function<void()> look_;
  const pid_t process_ = getpid();
  pthread_t thread_{};
  std::atomic<uint32_t> is_to_end_ = 0;
  std::atomic<uint32_t> has_ended_ = 0;
};

}  // namespace spillway::pgas
