#include "storage/striped_file.h"

#include <algorithm>

namespace spillway::storage {

void StripedFile::create(const base::SpillDirectories& directories) {
  for (; count_ < directories.count; ++count_) files_[count_].create(directories.paths[count_]);
  queue_.open();  // else they take turns, and so do writing and what is done meanwhile
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

// Several stripes at a time. The last ones go on, but a read alone, which is waited for anyway.
void StripedFile::start(void* data, uint64_t bytes, uint64_t offset, bool is_write) {
  const size_t most = count_ == 1 ? 1 : RequestQueue::kMostRequests;
  for (uint64_t done = 0; done < bytes;) {
    finish();
    is_write_ = is_write;
    for (; started_ < most && done < bytes; ++started_) {
      const Part part = first_part(offset + done, std::min(bytes - done, kRequestBytes));
      requests_[started_] = Request{part.descriptor, static_cast<char*>(data) + done, part.bytes, part.offset, 0};
      file_of_request_[started_] = &files_[file_of(offset + done)];
      done += part.bytes;
    }
    if (queue_.is_open() && is_direct() && (is_write || started_ > 1))
      queue_.start(requests_, started_, is_write);
    else
      finish();
  }
}

// What is left of them is done one after the other.
void StripedFile::finish() {
  queue_.finish();
  for (size_t i = 0; i < started_; ++i) {
    const Request& request = requests_[i];
    SpillFile& file = *file_of_request_[i];
    // Direct I/O may end within a block only at a file's end, and then it is done again.
    const uint64_t done = request.done / kBlockBytes * kBlockBytes;
    char* rest = static_cast<char*>(request.data) + done;
    if (done == request.bytes) continue;
    if (is_write_)
      file.write(rest, request.bytes - done, request.offset + done);
    else
      file.read(rest, request.bytes - done, request.offset + done);
  }
  started_ = 0;
}

void StripedFile::write(const void* data, uint64_t bytes, uint64_t offset) {
  start_write(data, bytes, offset);
  finish();
}

void StripedFile::start_write(const void* data, uint64_t bytes, uint64_t offset) {
  start(const_cast<void*>(data), bytes, offset, true);
}

void StripedFile::finish_writes() { finish(); }

void StripedFile::read(void* data, uint64_t bytes, uint64_t offset) {
  start(data, bytes, offset, false);
  finish();
}

void StripedFile::fail_for_damage(uint64_t offset) const { files_[file_of(offset)].fail_for_damage(); }

}  // namespace spillway::storage
