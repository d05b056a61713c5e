// Reads and writes that go on while their caller does something else, and several at a time, so that devices work
// together.
//
// Linux's own asynchronous I/O (io_submit): with files that are open with O_DIRECT it needs no thread, and containers
// and clusters allow it where they forbid io_uring. For the few large requests of a spill file there is no difference.
// Needs nothing but system calls; allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace spillway::storage {

struct Request {
  int descriptor = -1;
  void* data = nullptr;
  uint64_t bytes = 0;
  uint64_t offset = 0;
  uint64_t done = 0;  // filled in; what is missing was interrupted or refused, and the reason shows when it is retried
};

class RequestQueue {
 public:
  static constexpr size_t kMostRequests = 16;

  constexpr RequestQueue() = default;
  RequestQueue(const RequestQueue&) = delete;
  RequestQueue& operator=(const RequestQueue&) = delete;

  // False where the system does not allow it, or allows no more of them (fs.aio-max-nr).
  bool open();
  bool is_open() const { return context_ != 0; }

  // At most kMostRequests, which stay where they are until finish(). REQUIRES: nothing has been started since finish().
  void start(Request* requests, size_t count, bool is_write);
  // Returns when all that was started has ended.
  void finish();

 private:
  uint64_t context_ = 0;  // the process's: a forked child must not use it
  Request* requests_ = nullptr;
  long pending_ = 0;
};

}  // namespace spillway::storage
