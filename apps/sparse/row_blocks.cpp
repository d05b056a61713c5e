#include "row_blocks.h"

#include <condition_variable>
#include <mutex>

#include "run_threads.h"

namespace apps {

namespace {

// Hands out blocks in order, and to each in the same order its place in the file, which depends on how many entries all
// blocks before have.
class BlockQueue {
 public:
  explicit BlockQueue(uint64_t block_count) : block_count_(block_count) {}

  // False when there are no more, or another thread has failed.
  bool next_block(uint64_t& block) {
    const std::lock_guard lock(mutex_);
    block = taken_++;
    return !has_failed_ && block < block_count_;
  }

  // Waits for the blocks before `block`; returns the first entry's place. False: another thread has failed.
  bool place(uint64_t block, uint64_t entry_count, uint64_t& first_entry) {
    std::unique_lock lock(mutex_);
    placed_one_.wait(lock, [&] { return placed_ == block || has_failed_; });
    first_entry = entry_count_;
    entry_count_ += entry_count;
    ++placed_;
    placed_one_.notify_all();
    return !has_failed_;
  }

  void fail() {
    const std::lock_guard lock(mutex_);
    has_failed_ = true;
    placed_one_.notify_all();
  }

  [[nodiscard]] uint64_t entry_count() const { return entry_count_; }

 private:
  const uint64_t block_count_;
  std::mutex mutex_;  // guards all below
  std::condition_variable placed_one_;
  uint64_t taken_ = 0;
  uint64_t placed_ = 0;
  uint64_t entry_count_ = 0;
  bool has_failed_ = false;
};

template <typename Entry>
void write_blocks(const CsrWriter& writer, BlockQueue& queue, const MakeRowBlock<Entry>& make_block) {
  uint64_t block = 0;
  while (queue.next_block(block)) {
    RowBlock<Entry> rows = make_block(block);
    const uint64_t entry_count = rows.offsets.back();
    uint64_t first_entry = 0;
    if (!queue.place(block, entry_count, first_entry)) {
      return;
    }
    for (uint64_t& offset : rows.offsets) {
      offset += first_entry;
    }
    // The last offset is the next block's first: both write the same value.
    writer.write_offsets(rows.first_row, rows.offsets);
    writer.write_entries(first_entry, std::span<const Entry>(rows.entries).first(entry_count));
  }
}

}  // namespace

template <typename Entry>
uint64_t write_row_blocks(const CsrWriter& writer, uint64_t block_count, unsigned thread_count,
                          const MakeRowBlock<Entry>& make_block) {
  BlockQueue queue(block_count);
  run_threads(thread_count, [&](unsigned) {
    try {
      write_blocks(writer, queue, make_block);
    } catch (...) {
      queue.fail();
      throw;
    }
  });
  return queue.entry_count();
}

template uint64_t write_row_blocks(const CsrWriter&, uint64_t, unsigned, const MakeRowBlock<uint32_t>&);
template uint64_t write_row_blocks(const CsrWriter&, uint64_t, unsigned, const MakeRowBlock<MatrixEntry>&);

}  // namespace apps
