#include "storage/request_queue.h"

#include <errno.h>
#include <linux/aio_abi.h>

#include <algorithm>

#include "base/error.h"
#include "base/system_calls.h"

namespace spillway::storage {

namespace kernel = base::kernel;

bool RequestQueue::open() { return kernel::make_request_queue(kMostRequests, &context_) == 0; }

void RequestQueue::start(Request* requests, size_t count, bool is_write) {
  iocb blocks[kMostRequests] = {};
  iocb* pointers[kMostRequests] = {};
  for (size_t i = 0; i < count; ++i) {
    iocb& block = blocks[i];
    block.aio_data = i;
    block.aio_lio_opcode = is_write ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD;
    block.aio_fildes = static_cast<uint32_t>(requests[i].descriptor);
    block.aio_buf = reinterpret_cast<uint64_t>(requests[i].data);
    block.aio_nbytes = requests[i].bytes;
    block.aio_offset = static_cast<int64_t>(requests[i].offset);
    pointers[i] = &block;
    requests[i].done = 0;
  }
  requests_ = requests;
  // What the kernel does not take, for want of resources or because one is refused, is left undone.
  pending_ = std::max(0L, kernel::submit_requests(context_, count, pointers));
}

void RequestQueue::finish() {
  io_event events[kMostRequests];
  while (pending_ > 0) {
    const long got = kernel::wait_for_requests(context_, pending_, events);
    if (got < 0 && errno == EINTR) continue;
    SPILLWAY_CHECK(got > 0);
    for (long i = 0; i < got; ++i)
      if (events[i].res > 0) requests_[events[i].data].done = static_cast<uint64_t>(events[i].res);
    pending_ -= got;
  }
}

}  // namespace spillway::storage
