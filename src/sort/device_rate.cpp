#include "sort/device_rate.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "sort/aligned_memory.h"
#include "sort/async_io.h"
#include "storage/spill_file.h"

namespace spillway::sort {
namespace {

constexpr uint64_t kRequestBytes = 1 << 20;
constexpr uint64_t kRequests = 8;  // at a time
constexpr uint64_t kWaitNs = 1'000'000'000;

// Calls with memory and offset of each request, as a request before it ends.
template <typename Start>
double rate(AsyncIo& io, const AlignedMemory& memory, uint64_t bytes, Start start) {
  const uint64_t begin = base::now_ns();
  for (uint64_t offset = 0; offset < bytes; offset += kRequestBytes) {
    while (io.pending() == kRequests) io.wait(kWaitNs);
    start(memory.data() + offset % memory.bytes(), offset);
  }
  io.finish();
  return static_cast<double>(bytes) * 1e9 / static_cast<double>(std::max<uint64_t>(base::now_ns() - begin, 1));
}

}  // namespace

std::optional<DeviceRate> measure_device(const std::string& directory, uint64_t bytes) {
  const uint64_t whole = (bytes + kRequestBytes - 1) / kRequestBytes * kRequestBytes;
  storage::SpillFile spill_file;
  spill_file.create(directory.c_str());
  DirectFile file{"a file in " + directory, base::Descriptor(dup(spill_file.descriptor())), spill_file.is_direct()};
  spill_file.close();
  if (!file.is_direct) return {};
  static_cast<void>(ftruncate(file.descriptor.number(), static_cast<off_t>(whole)));  // see BucketStore
  // Requests end in any order: what is written is the same everywhere, and what is read is not looked at.
  const AlignedMemory memory(kRequests * kRequestBytes);
  std::memset(memory.data(), 0x5a, memory.bytes());
  AsyncIo io;
  DeviceRate found{};
  found.written = rate(io, memory, whole,
                       [&](const char* from, uint64_t offset) { io.write(file, from, kRequestBytes, offset, [] {}); });
  found.read = rate(io, memory, whole,
                    [&](char* to, uint64_t offset) { io.read(file, to, kRequestBytes, kRequestBytes, offset, [] {}); });
  if (!file.is_direct) return {};
  return found;
}

}  // namespace spillway::sort
