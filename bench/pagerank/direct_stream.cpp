#include "direct_stream.h"

#include <fcntl.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <system_error>

namespace pagerank {

namespace {
constexpr size_t kAlignment = 4096;
}  // namespace

void DirectStream::FreeAligned::operator()(std::byte* block) const { std::free(block); }

DirectStream::DirectStream(const std::string& path, uint64_t begin, uint64_t end, uint64_t pass_count)
    : begin_(begin), end_(end), pass_count_(pass_count), block_bytes_(kBlockCount) {
  try {
    file_ = File(path, O_RDONLY | O_DIRECT);
    is_direct_ = true;
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::invalid_argument) {
      throw;
    }
    file_ = File(path, O_RDONLY);
  }
  for (size_t block = 0; block < kBlockCount; ++block) {
    void* memory = std::aligned_alloc(kAlignment, kBlockBytes);
    if (memory == nullptr) {
      throw std::bad_alloc();
    }
    blocks_.emplace_back(static_cast<std::byte*>(memory));
  }
  reader_ = std::jthread([this](const std::stop_token& stop) { read_all(stop); });
}

DirectStream::~DirectStream() = default;

std::span<const std::byte> DirectStream::next_block() {
  std::unique_lock lock(mutex_);
  if (has_block_) {
    ++released_;
    has_block_ = false;
    changed_.notify_all();
  }
  changed_.wait(lock, [&] { return filled_ > released_ || is_complete_; });
  if (failure_) {
    std::rethrow_exception(failure_);
  }
  if (filled_ == released_) {
    return {};
  }
  has_block_ = true;
  const size_t block = released_ % kBlockCount;
  return {blocks_[block].get(), block_bytes_[block]};
}

void DirectStream::read_all(const std::stop_token& stop) {
  std::exception_ptr failure;
  try {
    for (uint64_t pass = 0; pass < pass_count_; ++pass) {
      for (uint64_t position = begin_; position < end_; position += kBlockBytes) {
        std::unique_lock lock(mutex_);
        if (!changed_.wait(lock, stop, [&] { return filled_ - released_ < kBlockCount; })) {
          return;
        }
        const size_t block = filled_ % kBlockCount;
        lock.unlock();
        block_bytes_[block] = read_block(position, blocks_[block].get());
        lock.lock();
        ++filled_;
        changed_.notify_all();
      }
    }
  } catch (...) {
    failure = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  failure_ = failure;
  is_complete_ = true;
  changed_.notify_all();
}

size_t DirectStream::read_block(uint64_t position, std::byte* into) const {
  // A direct read has a size that is a multiple of the alignment, and comes back shorter at the end of the file.
  const size_t wanted = std::min<uint64_t>(kBlockBytes, end_ - position);
  const size_t aligned = (wanted + kAlignment - 1) / kAlignment * kAlignment;
  if (file_.read_some_at(position, into, aligned) < wanted) {
    throw std::runtime_error(file_.path() + " has become shorter while it was read");
  }
  return wanted;
}

}  // namespace pagerank
