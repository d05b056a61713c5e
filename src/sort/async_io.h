// Reads and writes of files that go on while their caller works: as many at a time as keep a device busy.
//
// Linux's own asynchronous I/O (io_submit), as in storage/request_queue.h and for its reason: containers allow it where
// they forbid io_uring, and for requests of megabytes there is no difference. Where a file is not open with O_DIRECT,
// requests are done when they are started.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "sort/direct_file.h"

namespace spillway::sort {

class AsyncIo {
 public:
  // Called in progress() or wait().
  using Done = std::function<void()>;

  static constexpr unsigned kMostStarted = 64;

  // Throws Failure where the system refuses it.
  AsyncIo();
  // Waits for what has been started.
  ~AsyncIo();
  AsyncIo(const AsyncIo&) = delete;
  AsyncIo& operator=(const AsyncIo&) = delete;

  // `file` and the memory stay until `done`. Offsets, sizes and addresses are multiples of 4096 where the file is
  // direct; it is not any more where its file system refuses that. Of a read at least `needed` bytes must be in the
  // file.
  void read(DirectFile& file, char* to, uint64_t bytes, uint64_t needed, uint64_t offset, Done done);
  void write(DirectFile& file, const char* from, uint64_t bytes, uint64_t offset, Done done);

  // Requests that have not ended.
  size_t pending() const { return started_ + waiting_.size(); }

  // Starts what waits and ends what is done, without waiting. Whether something was done. All throw Failure.
  bool progress() { return advance(0, 0); }
  // The same, and waits for at most so long where nothing is done. REQUIRES: pending() != 0.
  bool wait(uint64_t most_ns) { return advance(1, most_ns); }
  void finish() {
    while (pending() != 0) wait(1'000'000'000);
  }

  uint64_t read_bytes() const { return read_bytes_; }
  uint64_t written_bytes() const { return written_bytes_; }

 private:
  struct Request {
    DirectFile* file;
    char* data;
    uint64_t bytes;
    uint64_t needed;
    uint64_t offset;
    uint64_t moved;
    bool is_write;
    bool is_direct;  // as it was started
    Done done;
  };

  void start_waiting();
  bool advance(long least, uint64_t most_ns);
  void end(std::unique_ptr<Request> request, int64_t result);
  [[noreturn]] static void fail(const Request& request, int error);

  uint64_t context_ = 0;
  size_t started_ = 0;
  std::deque<std::unique_ptr<Request>> waiting_;
  uint64_t read_bytes_ = 0;
  uint64_t written_bytes_ = 0;
};

}  // namespace spillway::sort
