// What has come for the partitions of this process: sorted runs, in memory up to a limit, then in the spill file. Runs
// in a file that stays are read from there, by the last merge.
//
// A thread of the store's own works while others compute and communicate. Above three quarters of the limit it merges
// all that one partition has in memory, of the partition that has most, into one run in the spill file. Where a
// partition has many runs it merges them into larger ones: what is in memory soon where values are combined, since that
// makes it smaller, and else only when the last merge would otherwise be of too many; what is spilled when the last
// merge would need too much memory for its buffers. In the A phase the thread reads ahead.
//
// Bound: the limit, what charge() could not wait for (blocks in transit), and two buffers for each spilled run that is
// merged or read: half of the limit for all runs of a merge, so that they are the larger, the fewer runs there are. A
// record that is longer than a buffer is held for each such run, too: so runs of long records are merged in smaller
// numbers, of two at least.
//
// The thread waits for nobody but the device, so that waiting for it cannot deadlock.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "shuffle/block_sink.h"
#include "shuffle/combiner.h"
#include "shuffle/key_order.h"
#include "shuffle/run.h"
#include "shuffle/run_cursor.h"
#include "shuffle/run_merge.h"
#include "shuffle/spill_space.h"

namespace spillway::shuffle {

class RunStore : public BlockSink, private ReadAhead {
 public:
  struct Settings {
    uint32_t partition_count = 0;
    uint64_t memory_bytes = 0;  // the limit
    std::vector<std::string> spill_directories;
  };

  // `order` and `combiner`, which may be empty, must stay.
  RunStore(const Settings& settings, const KeyOrder& order, const Combiner& combiner);
  ~RunStore() override;
  RunStore(const RunStore&) = delete;
  RunStore& operator=(const RunStore&) = delete;

  // Waits until the store is within its limit, or cannot be.
  void charge(uint64_t bytes) override;
  void deliver(int sender, uint32_t partition, Run run) override;  // in memory, or in a file that stays
  void end_window(int /*sender*/) override {}
  void end(int /*sender*/) override {}
  // Nothing more is delivered. Waits until what is to be merged has been.
  void finish();

  // The records of a partition, in order. One at a time.
  RunMerge open(uint32_t partition);
  void close(uint32_t partition);

  uint64_t spilled_bytes() const { return spilled_bytes_; }
  uint64_t spilled_runs() const { return spilled_runs_; }

 private:
  struct Job {
    uint32_t partition;
    std::vector<Run> runs;
    bool is_spilled;  // where the result goes
    unsigned level;
  };

  void work();
  void work_on(Job job, std::unique_lock<std::mutex>& lock);
  void read_next(std::unique_lock<std::mutex>& lock);
  uint64_t chunk_bytes_beyond_least(const std::vector<Run>& runs) const;
  bool is_spill_due() const;
  bool is_merge_due(uint32_t partition, bool is_spilled, unsigned level) const;
  std::optional<Job> spill_job();
  std::optional<Job> merge_job(uint32_t partition);
  std::optional<Job> surplus_job(uint32_t partition, unsigned level);
  std::optional<Job> next_job();
  Job take_from_memory(uint32_t partition);
  Job take_level(uint32_t partition, bool is_spilled, unsigned level);
  Job take(uint32_t partition, const std::function<bool(const Run&)>& stays);
  bool are_enough(size_t spilled_count, uint64_t long_record_bytes) const;
  static bool stays(const Run& run);
  uint64_t least_chunk_bytes(const Run& run) const;
  uint64_t long_record_bytes(const Run& run) const;
  Run merge(const Job& job);
  std::vector<std::unique_ptr<RunCursor>> cursors_of(const std::vector<Run>& runs, ReadAhead* ahead);
  void discard(std::vector<Run>& runs);

  void start(ReadRequest& request) override;
  void wait(ReadRequest& request) override;

  const KeyOrder& order_;
  const Combiner& combiner_;
  const uint64_t memory_bytes_;
  const size_t memory_fan_;
  const size_t piece_bytes_;
  const size_t spilled_fan_;
  SpillSpace space_;

  std::mutex mutex_;
  std::condition_variable work_came_;
  std::condition_variable work_done_;
  std::vector<std::vector<Run>> partitions_;
  std::vector<std::vector<Run>> staying_;  // in files, until finish()
  std::vector<uint32_t> touched_;          // partitions that may have something to be merged
  std::vector<uint64_t> resident_bytes_;   // of each partition, in runs that nobody is merging
  uint64_t charged_bytes_ = 0;
  uint64_t spillable_bytes_ = 0;  // of these, in runs that nobody is merging
  std::deque<ReadRequest*> reads_;
  bool is_busy_ = false;
  bool is_finishing_ = false;
  bool is_ending_ = false;
  std::atomic<uint64_t> spilled_bytes_{0};
  std::atomic<uint64_t> spilled_runs_{0};
  std::thread thread_;
};

}  // namespace spillway::shuffle
