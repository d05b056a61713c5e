// The rank's other threads, stopped for the life of a scope, or not to be stopped now.
//
// To be made after the arena's mutex has been taken, as one of them may hold it. Allocates nothing.
#pragma once

namespace spillway::memory {

// `trusted`: they cannot be stopped, and the program has been told not to let them write to its large allocations and
// static data. Small allocations they do write to, in libraries and for what the program is not aware of.
enum class ThreadsAre { stopped, trusted, not_now };

// The rank's other threads, which must not write to memory while it is unloaded. Unset before MPI_Init and in forked
// children.
struct ThreadControl {
  ThreadsAre (*stop)() = nullptr;
  void (*let_go)() = nullptr;
};

class StoppedThreads {
 public:
  explicit StoppedThreads(const ThreadControl& threads)
      : threads_(threads), state_(threads.stop == nullptr ? ThreadsAre::stopped : threads.stop()) {}
  ~StoppedThreads() {
    if (threads_.let_go != nullptr) threads_.let_go();
  }
  StoppedThreads(const StoppedThreads&) = delete;
  StoppedThreads& operator=(const StoppedThreads&) = delete;

  explicit operator bool() const { return state_ != ThreadsAre::not_now; }
  bool are_trusted() const { return state_ == ThreadsAre::trusted; }

 private:
  const ThreadControl& threads_;
  ThreadsAre state_;
};

}  // namespace spillway::memory
