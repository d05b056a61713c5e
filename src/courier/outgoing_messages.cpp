#include "courier/outgoing_messages.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace spillway::courier {

std::byte* SendBuffer::extend(uint64_t bytes) {
  SPILLWAY_CHECK(bytes <= room());
  end_ += bytes;
  return bytes_.data() + end_ - bytes;
}

void SendBuffer::append(const void* data, uint64_t bytes) {
  std::byte* to = extend(bytes);
  if (bytes != 0) memcpy(to, data, bytes);
}

void SendBuffer::drop(uint64_t bytes) {
  begin_ += bytes;
  if (begin_ == end_) begin_ = end_ = 0;
}

OutgoingMessage::OutgoingMessage(const message::Cell& cell, std::vector<uint32_t> receivers,
                                 std::shared_ptr<HeldPayload> payload)
    : cell_(cell), receivers_(std::move(receivers)), payload_(std::move(payload)) {}

uint32_t OutgoingMessage::receiver_count() const {
  if (has_begun_) return 0;
  return receivers_.empty() ? 1 : static_cast<uint32_t>(receivers_.size());
}

uint64_t OutgoingMessage::next_frame_bytes() const {
  return sizeof(FrameHeader) + receiver_count() * sizeof(uint32_t) + next_part_bytes();
}

void OutgoingMessage::append_next_frame(SendBuffer& buffer) {
  const uint64_t part = next_part_bytes();
  const uint32_t receivers = receiver_count();
  FrameHeader header{};
  header.kind = has_begun_ ? FrameKind::next_part : FrameKind::first_part;
  header.sender = cell_.sender;
  header.receiver_count = receivers;
  header.part_bytes = static_cast<uint32_t>(part);
  header.context = cell_.context;
  header.bytes = cell_.bytes;
  header.cell_kind = static_cast<uint32_t>(cell_.kind);
  header.source = cell_.source;
  header.tag = cell_.tag;
  header.token = cell_.token;
  buffer.append(&header, sizeof header);
  buffer.append(receivers_.empty() ? &cell_.to : receivers_.data(), receivers * sizeof(uint32_t));
  if (payload_ == nullptr) {
    buffer.append(cell_.inlined, part);
  } else {
    if (stream_ == nullptr) stream_ = std::make_unique<message::PayloadStream>(payload_->stream());
    stream_->read(buffer.extend(part), part);
  }
  has_begun_ = true;
  sent_bytes_ += part;
}

void OutgoingMessages::add(uint32_t sender, OutgoingMessage message) {
  SPILLWAY_CHECK(message.next_frame_bytes() <= kMostFrameBytes);
  Queue& queue = by_sender_[sender];
  if (queue.empty()) turns_.push_back(&queue);
  queue.push(std::move(message));
  ++count_;
}

void OutgoingMessages::fill(SendBuffer& buffer) {
  while (!turns_.empty()) {
    Queue& queue = *turns_.front();
    if (queue.front().next_frame_bytes() > buffer.room()) return;
    turns_.pop_front();
    queue.front().append_next_frame(buffer);
    if (queue.front().is_complete()) {
      queue.pop();
      --count_;
    }
    if (!queue.empty()) turns_.push_back(&queue);
  }
}

void OutgoingMessages::clear() {
  turns_.clear();
  by_sender_.clear();
  count_ = 0;
}

}  // namespace spillway::courier
