#include "storage/striped_file.h"

#include <algorithm>

namespace spillway::storage {

static_assert(RequestQueue::kMostRequests >= base::SpillDirectories::kMost);

void StripedFile::create(const base::SpillDirectories& directories) {
  for (; count_ < directories.count; ++count_) files_[count_].create(directories.paths[count_]);
  if (count_ > 1) queue_.open();  // else they take turns
}

void StripedFile::adopt(const int* descriptors, const base::SpillDirectories& directories) {
  for (; count_ < directories.count; ++count_) files_[count_].adopt(descriptors[count_], directories.paths[count_]);
}

bool StripedFile::is_direct() const {
  return std::all_of(files_, files_ + count_, [](const SpillFile& file) { return file.is_direct(); });
}

// Of what comes before `offset`, the part of one file.
uint64_t StripedFile::bytes_before(uint64_t offset, size_t file) const {
  const uint64_t row_bytes = kStripeBytes * count_, begin = kStripeBytes * file, place = offset % row_bytes;
  return offset / row_bytes * kStripeBytes + std::clamp(place, begin, begin + kStripeBytes) - begin;
}

StripedFile::Part StripedFile::first_part(uint64_t offset, uint64_t bytes) const {
  const size_t file = file_of(offset);
  const uint64_t most = count_ == 1 ? bytes : kStripeBytes - offset % kStripeBytes;
  return Part{files_[file].descriptor(), bytes_before(offset, file), std::min(bytes, most)};
}

// What a file has of a range lies there in one piece.
template <typename Operation>
void StripedFile::for_each_file(uint64_t offset, uint64_t bytes, Operation operation) {
  for (size_t i = 0; i < count_; ++i) {
    const uint64_t begin = bytes_before(offset, i), end = bytes_before(offset + bytes, i);
    if (begin != end) operation(files_[i], begin, end - begin);
  }
}

void StripedFile::reserve(uint64_t offset, uint64_t bytes) {
  for_each_file(offset, bytes, [](SpillFile& file, uint64_t begin, uint64_t part) { file.reserve(begin, part); });
}

void StripedFile::write_zeros(uint64_t offset, uint64_t bytes) {
  for_each_file(offset, bytes, [](SpillFile& file, uint64_t begin, uint64_t part) { file.write_zeros(begin, part); });
}

void StripedFile::forget(uint64_t offset, uint64_t bytes) {
  for_each_file(offset, bytes, [](SpillFile& file, uint64_t begin, uint64_t part) { file.forget(begin, part); });
}

void StripedFile::drop_cache(uint64_t offset, uint64_t bytes) {
  for_each_file(offset, bytes, [](SpillFile& file, uint64_t begin, uint64_t part) { file.drop_cache(begin, part); });
}

// A stripe of each file at a time.
void StripedFile::transfer(void* data, uint64_t bytes, uint64_t offset, bool is_write) {
  for (uint64_t done = 0; done < bytes;) {
    Request requests[base::SpillDirectories::kMost];
    const uint64_t begin = offset + done;
    size_t count = 0;
    for (; count < count_ && done < bytes; ++count) {
      const Part part = first_part(offset + done, bytes - done);
      requests[count] = Request{part.descriptor, static_cast<char*>(data) + done, part.bytes, part.offset, 0};
      done += part.bytes;
    }
    if (count > 1 && queue_.is_open() && is_direct()) queue_.transfer(requests, count, is_write);
    transfer_some(requests, count, begin, is_write);
  }
}

// What is left of them, one after the other.
void StripedFile::transfer_some(const Request* requests, size_t count, uint64_t offset, bool is_write) {
  for (size_t i = 0; i < count; ++i) {
    const Request& request = requests[i];
    SpillFile& file = files_[(file_of(offset) + i) % count_];
    // Direct I/O may end within a block only at a file's end, and then it is done again.
    const uint64_t done = request.done / kBlockBytes * kBlockBytes;
    char* rest = static_cast<char*>(request.data) + done;
    if (done == request.bytes) continue;
    if (is_write)
      file.write(rest, request.bytes - done, request.offset + done);
    else
      file.read(rest, request.bytes - done, request.offset + done);
  }
}

void StripedFile::write(const void* data, uint64_t bytes, uint64_t offset) {
  transfer(const_cast<void*>(data), bytes, offset, true);
}

void StripedFile::read(void* data, uint64_t bytes, uint64_t offset) { transfer(data, bytes, offset, false); }

void StripedFile::fail_for_damage(uint64_t offset) const { files_[file_of(offset)].fail_for_damage(); }

}  // namespace spillway::storage
