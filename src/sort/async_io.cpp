#include "sort/async_io.h"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/system_calls.h"
#include "sort/failure.h"
#include "storage/spill_file.h"

namespace spillway::sort {

AsyncIo::AsyncIo() {
  if (base::kernel::make_request_queue(kMostStarted, &context_) != 0)
    throw Failure(std::string("no asynchronous I/O (io_setup): ") + std::strerror(errno),
                  "allow more of it: sysctl fs.aio-max-nr=1048576");
}

AsyncIo::~AsyncIo() {
  if (context_ != 0) syscall(SYS_io_destroy, context_);  // waits
}

void AsyncIo::read(DirectFile& file, char* to, uint64_t bytes, uint64_t needed, uint64_t offset, Done done) {
  waiting_.push_back(
      std::make_unique<Request>(Request{&file, to, bytes, needed, offset, 0, false, false, std::move(done)}));
  start_waiting();
}

void AsyncIo::write(DirectFile& file, const char* from, uint64_t bytes, uint64_t offset, Done done) {
  waiting_.push_back(std::make_unique<Request>(
      Request{&file, const_cast<char*>(from), bytes, bytes, offset, 0, true, false, std::move(done)}));
  start_waiting();
}

void AsyncIo::start_waiting() {
  while (!waiting_.empty() && started_ < kMostStarted) {
    Request& request = *waiting_.front();
    request.is_direct = request.file->is_direct;
    iocb block = {};
    block.aio_data = reinterpret_cast<uint64_t>(&request);
    block.aio_lio_opcode = request.is_write ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD;
    block.aio_fildes = static_cast<uint32_t>(request.file->descriptor.number());
    block.aio_buf = reinterpret_cast<uint64_t>(request.data + request.moved);
    block.aio_nbytes = request.bytes - request.moved;
    block.aio_offset = static_cast<int64_t>(request.offset + request.moved);
    iocb* pointer = &block;
    if (base::kernel::submit_requests(context_, 1, &pointer) != 1) {
      if (errno == EAGAIN && started_ != 0) return;  // when one of these has ended
      if (errno == EAGAIN || errno == EINTR) continue;
      fail(request, errno);
    }
    ++started_;
    static_cast<void>(waiting_.front().release());  // the kernel gives it back
    waiting_.pop_front();
  }
}

bool AsyncIo::advance(long least, uint64_t most_ns) {
  start_waiting();
  if (started_ == 0) return false;
  io_event events[kMostStarted];
  timespec most{static_cast<time_t>(most_ns / 1'000'000'000), static_cast<long>(most_ns % 1'000'000'000)};
  const long got = syscall(SYS_io_getevents, context_, least, long{kMostStarted}, events, &most);
  for (long i = 0; i < got; ++i) {
    --started_;
    end(std::unique_ptr<Request>(reinterpret_cast<Request*>(events[i].data)), events[i].res);
  }
  start_waiting();
  return got > 0;
}

// What was done in part goes on from the last border of blocks: from there its reason shows, if it has one.
void AsyncIo::end(std::unique_ptr<Request> request, int64_t result) {
  DirectFile& file = *request->file;
  if (result == -EINVAL && request->is_direct && fcntl(file.descriptor.number(), F_SETFL, 0) == 0) {
    file.is_direct = false;
    result = -EAGAIN;
  }
  if (result < 0 && result != -EINTR && result != -EAGAIN) fail(*request, static_cast<int>(-result));
  const uint64_t moved = request->moved + static_cast<uint64_t>(std::max<int64_t>(result, 0));
  if (moved >= request->needed) {
    (request->is_write ? written_bytes_ : read_bytes_) += moved;
    return request->done();
  }
  const uint64_t whole = moved / storage::kBlockBytes * storage::kBlockBytes;
  if (result >= 0 && whole == request->moved) {
    if (request->is_write) fail(*request, EIO);
    throw Failure(file.name + " has become shorter while it was sorted", "sort it when nobody changes it");
  }
  request->moved = whole;
  waiting_.push_front(std::move(request));
}

void AsyncIo::fail(const Request& request, int error) {
  const std::string what = request.is_write ? "write " : "read ";
  const bool is_full = error == ENOSPC || error == EDQUOT;
  throw Failure(
      "cannot " + what + request.file->name + " at byte " + std::to_string(request.offset + request.moved) + ": " +
          std::strerror(error),
      is_full ? "free space there, or name another directory" : "look at the device, and at the system's log (dmesg)");
}

}  // namespace spillway::sort
