#include "sort/device_rate.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "sort/failure.h"
#include "storage/spill_file.h"

namespace spillway::sort {
namespace {

constexpr uint64_t kRequestBytes = 1 << 20;
constexpr uint64_t kRequests = 8;  // at a time
constexpr uint64_t kWaitNs = 1'000'000'000;

void require_direct(const DirectFile& file) {
  if (!file.is_direct) throw Failure(file.name + " has no direct I/O", "name a directory on a local disk");
}

}  // namespace

DeviceProbe::DeviceProbe(const std::string& directory, uint64_t bytes)
    : bytes_((bytes + kRequestBytes - 1) / kRequestBytes * kRequestBytes), memory_(kRequests * kRequestBytes) {
  storage::SpillFile spill_file;
  spill_file.create(directory.c_str());
  file_ = {"a file in " + directory, base::Descriptor(dup(spill_file.descriptor())), spill_file.is_direct()};
  require_direct(file_);
  static_cast<void>(ftruncate(file_.descriptor.number(), static_cast<off_t>(bytes_)));  // see BucketStore
  std::memset(memory_.data(), 0x5a, memory_.bytes());
}

// Calls with memory and offset of each request, as a request before it ends. These end in any order: what is written is
// the same everywhere, and what is read is not looked at.
template <typename Start>
double DeviceProbe::take(Start start) {
  const uint64_t begin = base::now_ns();
  for (uint64_t offset = 0; offset < bytes_; offset += kRequestBytes) {
    while (io_.pending() == kRequests) io_.wait(kWaitNs);
    start(memory_.data() + offset % memory_.bytes(), offset);
  }
  io_.finish();
  require_direct(file_);
  return static_cast<double>(std::max<uint64_t>(base::now_ns() - begin, 1)) * 1e-9;
}

double DeviceProbe::write() {
  return take([&](const char* from, uint64_t offset) { io_.write(file_, from, kRequestBytes, offset, [] {}); });
}

double DeviceProbe::read() {
  return take([&](char* to, uint64_t offset) { io_.read(file_, to, kRequestBytes, kRequestBytes, offset, [] {}); });
}

}  // namespace spillway::sort
