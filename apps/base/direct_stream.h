// Reads a range of a file over and over, in large blocks with O_DIRECT, on a thread of its own that keeps a few blocks
// ahead of the caller. It crosses from the end of one pass to the start of the next without a pause.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "file_io.h"
#include "scratch_file.h"

namespace apps {

class DirectStream {
 public:
  // REQUIRES: begin is a multiple of 4096. Throws when the file cannot be opened.
  DirectStream(const std::string& path, uint64_t begin, uint64_t end, uint64_t pass_count);
  // The first `end` bytes of `file`, which must outlive it. REQUIRES: it has been written up to a multiple of 4096.
  DirectStream(const ScratchFile& file, uint64_t end, uint64_t pass_count);
  ~DirectStream();
  DirectStream(const DirectStream&) = delete;
  DirectStream& operator=(const DirectStream&) = delete;

  // The next block of the current pass; a block does not cross the end of a pass. Valid until the next call. Empty
  // after the last pass. Throws what the reading thread has met.
  std::span<const std::byte> next_block();

  // False where the file system refuses O_DIRECT and the page cache is used.
  [[nodiscard]] bool is_direct() const { return is_direct_; }

 private:
  // The disk's full rate needs 1 MiB or more; three: one in use, one full, one being read.
  static constexpr size_t kLeastBlockBytes = size_t{1} << 20, kMostBlockBytes = size_t{8} << 20;
  static constexpr size_t kBlockCount = 3;

  struct FreeAligned {
    void operator()(std::byte* block) const;
  };

  static size_t block_bytes_for(uint64_t range_bytes);
  void start();
  void read_all(const std::stop_token& stop);
  [[nodiscard]] size_t read_block(uint64_t position, std::byte* into) const;

  File file_;  // open only where there is no scratch_
  const ScratchFile* scratch_ = nullptr;
  bool is_direct_ = false;
  const uint64_t begin_;
  const uint64_t end_;
  const uint64_t pass_count_;
  std::vector<std::unique_ptr<std::byte[], FreeAligned>> blocks_;
  const size_t block_bytes_;
  std::vector<size_t> used_bytes_;  // of block i: written by the thread before it counts the block as filled

  std::mutex mutex_;  // guards all below
  std::condition_variable_any changed_;
  uint64_t filled_ = 0;    // blocks read so far
  uint64_t released_ = 0;  // blocks that the caller is done with; filled_ - released_ <= kBlockCount
  bool has_block_ = false;
  bool is_complete_ = false;
  std::exception_ptr failure_;
  std::jthread reader_;  // last, so that it is joined before the rest goes
};

}  // namespace apps
