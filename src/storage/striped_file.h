// A spill file that lies on several devices, or on one: of the first kStripeBytes the first directory's file has them,
// of the next the second's, and so on. What is read or written of several at a time goes to their devices at once.
//
// With one directory it is that directory's file, with the same offsets. Like SpillFile it allocates nothing and does
// not throw.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/spill_directories.h"
#include "storage/request_queue.h"
#include "storage/spill_file.h"

namespace spillway::storage {

class StripedFile {
 public:
  // Every stripe is a mapping of its own, of which a process may have some ten thousands; and it is long enough for the
  // full rate of a disk.
  static constexpr uint64_t kStripeBytes = 4 << 20;
  static_assert(2 * kStripeBytes == kRequestBytes);

  constexpr StripedFile() = default;

  // The paths must stay valid. At least one.
  void create(const base::SpillDirectories& directories);
  // A descriptor for each directory.
  void adopt(const int* descriptors, const base::SpillDirectories& directories);

  bool is_open() const { return count_ != 0; }
  bool is_direct() const;

  // Enough for all devices to work at their full rate. More than that may be on its way at a time.
  uint64_t bytes_at_once() const { return count_ <= 2 ? kRequestBytes : count_ * kStripeBytes; }

  // What a range is in a file: as much as lies there in one piece, from the range's beginning on.
  struct Part {
    int descriptor;
    uint64_t offset;
    uint64_t bytes;
  };
  Part first_part(uint64_t offset, uint64_t bytes) const;

  // As of SpillFile.
  void reserve(uint64_t offset, uint64_t bytes);
  void write_zeros(uint64_t offset, uint64_t bytes);
  void forget(uint64_t offset, uint64_t bytes);
  void write(const void* data, uint64_t bytes, uint64_t offset);
  // The data must stay as they are until finish_writes(), or the next call that reads or writes.
  void start_write(const void* data, uint64_t bytes, uint64_t offset);
  void finish_writes();
  void read(void* data, uint64_t bytes, uint64_t offset);
  void drop_cache(uint64_t offset, uint64_t bytes);
  [[noreturn]] void fail_for_damage(uint64_t offset) const;

 private:
  size_t file_of(uint64_t offset) const { return offset / kStripeBytes % count_; }
  uint64_t bytes_before(uint64_t offset, size_t file) const;
  template <typename Operation>
  void for_each_file(uint64_t offset, uint64_t bytes, Operation operation);
  void start(void* data, uint64_t bytes, uint64_t offset, bool is_write);
  void finish();

  SpillFile files_[base::SpillDirectories::kMost];
  size_t count_ = 0;
  RequestQueue queue_;

  // What has been started and has not been finished, and the files that it belongs to.
  Request requests_[RequestQueue::kMostRequests];
  SpillFile* file_of_request_[RequestQueue::kMostRequests] = {};
  size_t started_ = 0;
  bool is_write_ = false;
};

}  // namespace spillway::storage
