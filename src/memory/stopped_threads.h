// The rank's other threads, stopped for the life of a scope, or not to be stopped now.
//
// To be made after the arena's mutex has been taken, as one of them may hold it. Allocates nothing.
#pragma once

namespace spillway::memory {

// The rank's other threads, which must not write to memory while it is unloaded. Unset before MPI_Init and in forked
// children.
struct ThreadControl {
  bool (*stop)() = nullptr;  // false: it cannot be done now
  void (*let_go)() = nullptr;
};

class StoppedThreads {
 public:
  explicit StoppedThreads(const ThreadControl& threads)
      : threads_(threads), are_stopped_(threads.stop == nullptr || threads.stop()) {}
  ~StoppedThreads() {
    if (threads_.let_go != nullptr) threads_.let_go();
  }
  StoppedThreads(const StoppedThreads&) = delete;
  StoppedThreads& operator=(const StoppedThreads&) = delete;

  explicit operator bool() const { return are_stopped_; }

 private:
  const ThreadControl& threads_;
  bool are_stopped_;
};

}  // namespace spillway::memory
