#include "keyvalue/record_shuffle.h"

#include <cstring>

#include "base/error.h"

namespace spillway::keyvalue {

RecordShuffle::RecordShuffle(MPI_Comm communicator, int tag, const Route& route, size_t list_bytes,
                             const shuffle::KeyOrder& order, const shuffle::Combiner& combiner)
    : communicator_(communicator),
      tag_(tag),
      route_(route),
      list_bytes_(list_bytes),
      order_(order),
      combiner_(combiner) {}

void RecordShuffle::begin(shuffle::BlockSink* sink, Exchange::Acknowledges acknowledges) {
  exchange_ = std::make_unique<Exchange>(communicator_, tag_, route_, sink, acknowledges);
  has_ended_sending_ = !route_.sends(route_.process);
  if (has_ended_sending_) return;
  if (!sorter_) {
    sorter_ = std::make_unique<shuffle::ListSorter>(order_, route_.partition_count);
    add_lanes(keep_ ? kLanes + 1 : kLanes);
  }
  filling_ = free_lane();
}

void RecordShuffle::add_lanes(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    lanes_.push_back(std::make_unique<shuffle::SendLane>(list_bytes_, order_, combiner_));
    free_lanes_.push_back(lanes_.back().get());
  }
}

void RecordShuffle::show_lists_to(UseList keep, UseList release) {
  keep_ = std::move(keep);
  release_ = std::move(release);
  if (sorter_) add_lanes(1);
}

void RecordShuffle::send_in_next_list(uint32_t partition, uint64_t key_hash, const shuffle::Record& record) {
  pass_on_list();
  filling_ = free_lane();
  SPILLWAY_CHECK(filling_->list.add(partition, key_hash, record));
}

void RecordShuffle::pass_on_list() {
  past_.shuffled_records += filling_->list.entries().size();
  release(*filling_);
  sorter_->start(*filling_);
  filling_ = nullptr;
}

void RecordShuffle::flush() {
  progress();
  if (!has_gathered() || free_lanes_.empty()) return;
  send_sorted(true);
  past_.shuffled_records += filling_->list.entries().size();
  release(*filling_);
  shuffle::sort_list(filling_->list, order_, route_.partition_count, filling_->sorted);
  filling_->list.clear();
  send_list(*filling_);
  filling_ = free_lane();
}

void RecordShuffle::send_gathered() {
  if (has_gathered()) {
    pass_on_list();
    filling_ = free_lane();
  }
  send_sorted(true);
}

void RecordShuffle::flush_all() {
  flush();
  send_gathered();
  while (exchange_->has_unsent()) exchange_->wait();
  collect_lanes();
}

// A list may hold records of one window only.
void RecordShuffle::end_window() {
  send_gathered();
  exchange_->end_window();
  while (exchange_->is_stalled()) exchange_->wait();
}

void RecordShuffle::send_block(const shuffle::BlockHeader& header, const char* block) {
  shuffle::SendLane* lane = free_lane();
  release(*lane);
  shuffle::SortedList& list = lane->sorted;
  const size_t bytes = sizeof header + header.bytes;
  if (list.memory.capacity() < bytes) list.memory.replace(bytes);
  std::memcpy(list.memory.data(), block, bytes);
  list.blocks = {{header.partition, 0, bytes, header.bytes}};
  exchange_->send(*lane);
}

void RecordShuffle::send_list(shuffle::SendLane& lane) {
  if (keep_) keep_(lane.sorted);
  exchange_->send(lane);
}

void RecordShuffle::send_sorted(bool waits) {
  while (shuffle::SendLane* lane = sorter_->take_sorted(waits)) send_list(*lane);
}

void RecordShuffle::collect_lanes() {
  while (shuffle::SendLane* lane = exchange_->take_sent()) free_lanes_.push_back(lane);
}

void RecordShuffle::progress() {
  if (sorter_) send_sorted(false);
  exchange_->progress();
  collect_lanes();
}

shuffle::SendLane* RecordShuffle::free_lane() {
  for (;;) {
    progress();
    if (!free_lanes_.empty()) break;
    if (shuffle::SendLane* lane = sorter_->take_sorted(true)) {
      send_list(*lane);
    } else {
      exchange_->wait();
    }
  }
  shuffle::SendLane* lane = free_lanes_.back();
  free_lanes_.pop_back();
  return lane;
}

void RecordShuffle::end_sending() {
  if (has_ended_sending_) return;
  has_ended_sending_ = true;
  pass_on_list();
  send_sorted(true);
  exchange_->send_end();
}

void RecordShuffle::finish(const std::function<void()>& on_wait) {
  end_sending();
  while (!is_over()) {
    exchange_->wait();
    on_wait();
  }
  collect_lanes();
  past_.sent_bytes += exchange_->sent_bytes();
  exchange_.reset();
}

RecordShuffle::Figures RecordShuffle::figures() const {
  Figures figures = past_;
  if (exchange_) figures.sent_bytes += exchange_->sent_bytes();
  return figures;
}

}  // namespace spillway::keyvalue
