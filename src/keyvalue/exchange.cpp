#include "keyvalue/exchange.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace spillway::keyvalue {
namespace {

constexpr size_t kRingPieces = 8;

}  // namespace

Exchange::Exchange(MPI_Comm communicator, int tag, const Route& route, shuffle::BlockSink* sink,
                   Acknowledges acknowledges)
    : communicator_(communicator),
      tag_(tag),
      route_(route),
      sink_(sink),
      acknowledges_(acknowledges == Acknowledges::yes),
      requests_(1 + kMostSends, MPI_REQUEST_NULL),
      lane_of_send_(kMostSends, nullptr),
      unacknowledged_(static_cast<size_t>(route.process_count), 0) {
  if (sink_ == nullptr) {
    if (acknowledges_) post_acknowledgement();
    return;
  }
  incoming_.resize(static_cast<size_t>(route.process_count));
  if (route.process_count == 1) return;
  receives_.assign(kRingPieces, MPI_REQUEST_NULL);
  ring_.replace(kRingPieces * kPieceBytes);
  for (size_t place = 0; place < kRingPieces; ++place) post_receive(place);
  requests_[0] = receives_[0];
}

// More are posted than will come.
Exchange::~Exchange() {
  if (sink_ == nullptr && acknowledges_) {
    MPI_Cancel(requests_.data());
    MPI_Wait(requests_.data(), MPI_STATUS_IGNORE);
  }
  for (size_t place = 0; place < receives_.size(); ++place) {
    MPI_Request& request = place == oldest_ ? requests_[0] : receives_[place];
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

void Exchange::post_receive(size_t place) {
  MPI_Irecv(ring_.data() + place * kPieceBytes, kPieceBytes, MPI_BYTE, MPI_ANY_SOURCE, tag_, communicator_,
            &receives_[place]);
}

void Exchange::post_acknowledgement() {
  MPI_Irecv(nullptr, 0, MPI_BYTE, MPI_ANY_SOURCE, tag_ + 1, communicator_, requests_.data());
}

void Exchange::send(shuffle::SendLane& lane) {
  lane.unsent_pieces = 1;  // until all of them are counted
  for (const auto& block : lane.sorted.blocks) {
    const int process = route_.process_of(block.partition);
    const char* data = lane.sorted.memory.data() + block.offset;
    if (process == route_.process) {
      deliver_to_self(data);
      continue;
    }
    for (size_t done = 0; done < block.bytes; done += kPieceBytes) {
      const size_t bytes = std::min(kPieceBytes, block.bytes - done);
      pieces_.push_back({&lane, data + done, static_cast<int>(bytes), process, done == 0});
      ++lane.unsent_pieces;
    }
    sent_bytes_ += block.bytes;
  }
  if (--lane.unsent_pieces == 0) sent_lanes_.push_back(&lane);
  start_sends();
}

void Exchange::deliver_to_self(const char* block) {
  shuffle::BlockHeader header;
  std::memcpy(&header, block, sizeof header);
  sink_->charge(header.bytes + shuffle::Run::kOverheadBytes);
  shuffle::Run run;
  run.memory.replace(header.bytes);
  std::memcpy(run.memory.data(), block + sizeof header, header.bytes);
  run.bytes = header.bytes;
  run.records = header.records;
  received_records_ += header.records;
  sink_->deliver(route_.process, header.partition, std::move(run));
}

shuffle::SendLane* Exchange::take_sent() {
  if (sent_lanes_.empty()) return nullptr;
  shuffle::SendLane* lane = sent_lanes_.front();
  sent_lanes_.pop_front();
  return lane;
}

void Exchange::send_mark(const shuffle::BlockHeader& mark) {
  for (int process = 0; process < route_.process_count; ++process) {
    if (!route_.receives(process)) continue;
    if (process == route_.process) {
      take_mark(process, mark.partition);
    } else {
      const bool is_counted = mark.partition == shuffle::kEndOfWindow;  // there may be any number of them
      pieces_.push_back({nullptr, reinterpret_cast<const char*>(&mark), sizeof mark, process, is_counted});
    }
  }
  start_sends();
}

void Exchange::acknowledge(int sender) {
  pieces_.push_back({nullptr, nullptr, 0, sender, false});
  start_sends();
}

bool Exchange::may_start(const Piece& piece) const {
  return !acknowledges_ || !piece.begins_block || unacknowledged_[piece.process] < kMostUnacknowledged;
}

// In their order, whoever they are for: so a sender waits for the slowest receiver.
void Exchange::start_sends() {
  for (size_t slot = 0; slot < kMostSends && !pieces_.empty() && may_start(pieces_.front()); ++slot) {
    if (requests_[1 + slot] != MPI_REQUEST_NULL) continue;
    const Piece& piece = pieces_.front();
    if (acknowledges_ && piece.begins_block) {
      ++unacknowledged_[piece.process];
      ++unacknowledged_count_;
    }
    MPI_Isend(piece.data, piece.bytes, MPI_BYTE, piece.process, piece.data == nullptr ? tag_ + 1 : tag_, communicator_,
              &requests_[1 + slot]);
    lane_of_send_[slot] = piece.lane;
    pieces_.pop_front();
    ++active_sends_;
  }
}

void Exchange::take_acknowledgement(int process) {
  --unacknowledged_[process];
  --unacknowledged_count_;
  post_acknowledgement();
  start_sends();
}

void Exchange::progress() {
  for (;;) {
    int index = MPI_UNDEFINED;
    int is_done = 0;
    MPI_Status status;
    MPI_Testany(static_cast<int>(requests_.size()), requests_.data(), &index, &is_done, &status);
    if (!is_done || index == MPI_UNDEFINED) return;
    complete(index, status);
  }
}

void Exchange::wait() {
  int index = MPI_UNDEFINED;
  MPI_Status status;
  MPI_Waitany(static_cast<int>(requests_.size()), requests_.data(), &index, &status);
  SPILLWAY_CHECK(index != MPI_UNDEFINED);
  complete(index, status);
}

void Exchange::complete(int index, const MPI_Status& status) {
  if (index != 0) {
    complete_send(static_cast<size_t>(index) - 1);
    return;
  }
  if (sink_ == nullptr) {
    take_acknowledgement(status.MPI_SOURCE);
    return;
  }
  int bytes = 0;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  take_piece(status.MPI_SOURCE, ring_.data() + oldest_ * kPieceBytes, static_cast<size_t>(bytes));
  post_receive(oldest_);
  oldest_ = (oldest_ + 1) % kRingPieces;
  requests_[0] = receives_[oldest_];
}

void Exchange::complete_send(size_t slot) {
  --active_sends_;
  shuffle::SendLane* lane = lane_of_send_[slot];
  if (lane != nullptr && --lane->unsent_pieces == 0) sent_lanes_.push_back(lane);
  start_sends();
}

void Exchange::take_mark(int sender, uint32_t mark) {
  if (mark == shuffle::kEndOfWindow) {
    sink_->end_window(sender);
    return;
  }
  ++ended_senders_;
  sink_->end(sender);
}

void Exchange::begin_block(int sender, Incoming& incoming, const char* data) {
  std::memcpy(&incoming.header, data, sizeof incoming.header);
  SPILLWAY_CHECK(incoming.header.version == shuffle::kBlockVersion);
  if (incoming.header.partition >= shuffle::kEndOfWindow) {
    take_mark(sender, incoming.header.partition);
    return;
  }
  sink_->charge(incoming.header.bytes + shuffle::Run::kOverheadBytes);
  incoming.run = shuffle::Run();
  incoming.run.memory.replace(incoming.header.bytes);
  incoming.received_bytes = 0;
  incoming.is_begun = true;
}

void Exchange::take_piece(int sender, const char* data, size_t bytes) {
  Incoming& incoming = incoming_[sender];
  if (!incoming.is_begun) {
    begin_block(sender, incoming, data);
    if (!incoming.is_begun) return;
    data += sizeof incoming.header;
    bytes -= sizeof incoming.header;
  }
  std::memcpy(incoming.run.memory.data() + incoming.received_bytes, data, bytes);
  incoming.received_bytes += bytes;
  if (incoming.received_bytes < incoming.header.bytes) return;
  incoming.run.bytes = incoming.header.bytes;
  incoming.run.records = incoming.header.records;
  received_records_ += incoming.header.records;
  incoming.is_begun = false;
  sink_->deliver(sender, incoming.header.partition, std::move(incoming.run));
}

}  // namespace spillway::keyvalue
