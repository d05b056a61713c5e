#include "keyvalue/streaming_job.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "keyvalue/failure.h"

namespace spillway::keyvalue {
namespace {
constexpr int kTag = 1;

// Lists so short that the blocks which an A task may hold of all O tasks fit in the memory of the one that has least.
uint64_t bounded_list_bytes(MPI_Comm communicator, const Placement& placement, const Configuration& configuration) {
  const bool has_a_task = placement.has_a_tasks(placement.process());
  int64_t memory = has_a_task ? static_cast<int64_t>(configuration.memory_bytes) : INT64_MAX;
  // MPICH 4.0 compares unsigned numbers as if they were signed.
  MPI_Allreduce(MPI_IN_PLACE, &memory, 1, MPI_INT64_T, MPI_MIN, communicator);
  const uint64_t blocks = uint64_t{Exchange::kMostUnacknowledged} * static_cast<uint64_t>(placement.o_tasks());
  return std::clamp(static_cast<uint64_t>(memory) / blocks, kLeastPartitionBytes, configuration.partition_bytes);
}

}  // namespace

StreamingJob::StreamingJob(const Configuration& configuration)
    : Job(MPI_D_MODE_STREAMING, configuration), arrival_(shuffle::KeyOrder::of_arrival(configuration.key_class)) {
  refuse_checkpoint("streaming");
  configuration_.partition_bytes = bounded_list_bytes(communicator_, placement_, configuration_);
  be_only_task();
}

void StreamingJob::begin() {
  if (is_begun()) return;
  mark_begun();
  if (side_ == Side::a) queue_ = std::make_unique<shuffle::StreamQueue>(placement_.o_tasks());
  shuffle_ = std::make_unique<RecordShuffle>(communicator_, kTag, placement_.to_a_tasks(),
                                             configuration_.partition_bytes, arrival_, combiner_);
  shuffle_->begin(queue_.get(), Exchange::Acknowledges::yes);
  if (configuration_.window_ns != 0) window_end_ns_ = base::now_ns() + configuration_.window_ns;
}

bool StreamingJob::next_task() {
  begin();
  if (!std::exchange(has_begun_only_task_, true)) return true;
  side_ = Side::none;
  return false;
}

void StreamingJob::send(const void* key, const void* value) {
  begin();
  const uint64_t now = base::now_ns();
  keep_time(now);
  if (!shuffle_->has_gathered()) oldest_ns_ = now;
  emit(*shuffle_, placement_.a_tasks(), key, value);
  has_sent_in_window_ = true;
}

// What must be done by now.
void StreamingJob::keep_time(uint64_t now_ns) {
  if (window_end_ns_ != 0)
    for (; now_ns >= window_end_ns_; window_end_ns_ += configuration_.window_ns) end_window();
  if (shuffle_->has_gathered() && now_ns - oldest_ns_ >= configuration_.latency_ns) shuffle_->flush();
}

void StreamingJob::flush() {
  begin();
  if (!queue_) {
    if (window_end_ns_ != 0) keep_time(base::now_ns());
    shuffle_->flush_all();
  } else {
    shuffle_->progress();
  }
  report_sometimes();
}

void StreamingJob::end_window() {
  begin();
  if (queue_) throw Failure(MPI_D_ERR_COMM, "MPI_D_End_window() is for O tasks");
  shuffle_->end_window();
  has_sent_in_window_ = false;
  ++figures_.rounds;
}

void StreamingJob::acknowledge() {
  for (int sender = 0; (sender = queue_->take_finished_sender()) >= 0;) shuffle_->acknowledge(sender);
}

void StreamingJob::take_more() {
  shuffle_->wait();
  report_sometimes();
}

bool StreamingJob::receive_at_once(const void*& key, const void*& value) {
  begin();
  shuffle::Record record;
  const bool has_record = queue_->next(record);
  acknowledge();
  if (has_record) decode(record, key, value);
  return has_record;
}

bool StreamingJob::receive(const void*& key, const void*& value) {
  while (!receive_at_once(key, value)) {
    if (queue_->is_window_over()) return false;
    take_more();
  }
  return true;
}

bool StreamingJob::next_window() {
  begin();
  if (!queue_) throw Failure(MPI_D_ERR_COMM, "MPI_D_Next_window() is for A tasks");
  const void* ignored = nullptr;
  while (receive(ignored, ignored)) {
  }
  while (!queue_->has_next_window() && !queue_->is_last_window()) take_more();
  if (!queue_->has_next_window()) return false;
  queue_->begin_next_window();
  ++figures_.rounds;
  return true;
}

Figures StreamingJob::current_figures() const {
  Figures figures = figures_;
  if (shuffle_) {
    figures.shuffled_records = shuffle_->figures().shuffled_records;
    figures.sent_bytes = shuffle_->figures().sent_bytes;
  }
  return figures;
}

// A last window that has records is one to all A tasks, whichever they go to. What an A task has not received is
// dropped, so that whoever sends it can end.
void StreamingJob::finish() {
  begin();
  if (has_sent_in_window_) end_window();
  if (queue_) {
    for (;;) {
      queue_->drop();
      acknowledge();
      if (shuffle_->is_over()) break;
      take_more();
    }
  }
  shuffle_->finish([this] { report_sometimes(); });
  ++(queue_ ? figures_.a_tasks : figures_.o_tasks);
  (queue_ ? figures_.a_ns : figures_.o_ns) = base::now_ns() - begin_ns_;
  complete();
  side_ = Side::none;
}

}  // namespace spillway::keyvalue
