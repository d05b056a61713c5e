// The streaming mode: each process is one task, all run at the same time, and records go from O to A tasks unsorted, at
// most MPI_D_LATENCY after they were sent as long as somebody calls the library. A sender that is ahead of its
// receivers by Exchange::kMostUnacknowledged blocks waits, and blocks are so small that those of all senders fit in
// MPI_D_MEMORY: so memory is bounded however fast they are.
#pragma once

#include <memory>

#include "keyvalue/job.h"
#include "shuffle/stream_queue.h"

namespace spillway::keyvalue {

class StreamingJob final : public Job {
 public:
  explicit StreamingJob(const Configuration& configuration);

  bool next_task() override;
  void send(const void* key, const void* value) override;
  bool receive(const void*& key, const void*& value) override;
  bool receive_at_once(const void*& key, const void*& value) override;
  void finish() override;

  void flush() override;
  void end_window() override;
  bool next_window() override;

 private:
  void begin() override;
  Figures current_figures() const override;
  void keep_time(uint64_t now_ns);
  void take_more();
  void acknowledge();

  bool has_begun_only_task_ = false;
  bool has_sent_in_window_ = false;
  shuffle::KeyOrder arrival_;
  std::unique_ptr<shuffle::StreamQueue> queue_;  // of an A task
  std::unique_ptr<RecordShuffle> shuffle_;
  uint64_t oldest_ns_ = 0;      // when the first record was gathered that has not been passed on; 0: none has been
  uint64_t window_end_ns_ = 0;  // 0: windows end when the program says so
};

}  // namespace spillway::keyvalue
