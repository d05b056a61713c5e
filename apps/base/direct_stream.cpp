#include "direct_stream.h"

#include <fcntl.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <system_error>

namespace apps {

namespace {
constexpr size_t kAlignment = 4096;
}  // namespace

void DirectStream::FreeAligned::operator()(std::byte* block) const { std::free(block); }

DirectStream::DirectStream(const std::string& path, uint64_t begin, uint64_t end, uint64_t pass_count)
    : begin_(begin),
      end_(end),
      pass_count_(pass_count),
      block_bytes_(block_bytes_for(end_ - begin_)),
      used_bytes_(kBlockCount) {
  try {
    file_ = File(path, O_RDONLY | O_DIRECT);
    is_direct_ = true;
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::invalid_argument) {
      throw;
    }
    file_ = File(path, O_RDONLY);
  }
  start();
}

DirectStream::DirectStream(const ScratchFile& file, uint64_t end, uint64_t pass_count)
    : scratch_(&file),
      is_direct_(file.is_direct()),
      begin_(0),
      end_(end),
      pass_count_(pass_count),
      block_bytes_(block_bytes_for(end_ - begin_)),
      used_bytes_(kBlockCount) {
  start();
}

DirectStream::~DirectStream() = default;

// A short range in some pieces, so that reading and using them overlap.
size_t DirectStream::block_bytes_for(uint64_t range_bytes) {
  return std::clamp<uint64_t>(range_bytes / 4 / kAlignment * kAlignment, kLeastBlockBytes, kMostBlockBytes);
}

void DirectStream::start() {
  for (size_t block = 0; block < kBlockCount; ++block) {
    void* memory = std::aligned_alloc(kAlignment, block_bytes_);
    if (memory == nullptr) {
      throw std::bad_alloc();
    }
    blocks_.emplace_back(static_cast<std::byte*>(memory));
  }
  reader_ = std::jthread([this](const std::stop_token& stop) { read_all(stop); });
}

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
  return {blocks_[block].get(), used_bytes_[block]};
}

void DirectStream::read_all(const std::stop_token& stop) {
  std::exception_ptr failure;
  try {
    for (uint64_t pass = 0; pass < pass_count_; ++pass) {
      for (uint64_t position = begin_; position < end_; position += block_bytes_) {
        std::unique_lock lock(mutex_);
        if (!changed_.wait(lock, stop, [&] { return filled_ - released_ < kBlockCount; })) {
          return;
        }
        const size_t block = filled_ % kBlockCount;
        lock.unlock();
        used_bytes_[block] = read_block(position, blocks_[block].get());
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
  const size_t wanted = std::min<uint64_t>(block_bytes_, end_ - position);
  const size_t aligned = (wanted + kAlignment - 1) / kAlignment * kAlignment;
  if (scratch_ != nullptr) {
    scratch_->read_at(position, {into, aligned});
  } else if (file_.read_some_at(position, into, aligned) < wanted) {
    throw std::runtime_error(file_.path() + " has become shorter while it was read");
  }
  return wanted;
}

}  // namespace apps
