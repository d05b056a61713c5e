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

OutgoingMessage::OutgoingMessage(const message::Cell& cell, MessageRoute route, std::shared_ptr<HeldPayload> payload,
                                 PartsHere parts_here)
    : cell_(cell),
      route_(std::move(route)),
      payload_(std::move(payload)),
      parts_here_(std::move(parts_here)),
      next_part_(route_.first_part) {}

uint64_t OutgoingMessage::next_frame_bytes() const {
  const uint64_t receivers = has_begun() ? 0 : route_.receivers.size();
  return sizeof(FrameHeader) + receivers * sizeof(uint32_t) + next_part_bytes();
}

void OutgoingMessage::append_next_frame(SendBuffer& buffer) {
  const uint64_t part = next_part_bytes();
  FrameHeader header{};
  header.kind = has_begun() ? FrameKind::next_part : FrameKind::first_part;
  header.sender = cell_.sender;
  header.receiver_count = has_begun() ? 0 : static_cast<uint32_t>(route_.receivers.size());
  header.part_bytes = static_cast<uint32_t>(part);
  header.number = route_.number;
  header.context = cell_.context;
  header.bytes = cell_.bytes;
  header.first_part = route_.first_part;
  header.end_part = route_.end_part;
  header.algorithm = route_.algorithm;
  header.cell_kind = static_cast<uint32_t>(cell_.kind);
  header.source = cell_.source;
  header.tag = cell_.tag;
  header.token = cell_.token;
  buffer.append(&header, sizeof header);
  buffer.append(route_.receivers.data(), header.receiver_count * sizeof(uint32_t));
  if (payload_ == nullptr) {
    buffer.append(cell_.inlined, part);
  } else {
    if (!stream_.has_value()) stream_.emplace(payload_->stream(next_part_ * kPartBytes));
    stream_->read(buffer.extend(part), part);
  }
  ++next_part_;
}

void OutgoingMessages::give_turn(Queue& queue) {
  if (queue.has_turn || queue.messages.empty() || !queue.messages.front().has_next_frame()) return;
  queue.has_turn = true;
  turns_.push_back(&queue);
}

void OutgoingMessages::add(uint32_t sender, OutgoingMessage message) {
  SPILLWAY_CHECK(message.next_frame_bytes() <= kMostFrameBytes);
  Queue& queue = by_sender_[sender];
  queue.messages.push(std::move(message));
  give_turn(queue);
  ++count_;
}

uint64_t OutgoingMessages::add_passed_on(OutgoingMessage message) {
  SPILLWAY_CHECK(message.next_frame_bytes() <= kMostFrameBytes);
  Queue& queue = passed_on_[++last_name_];
  queue.name = last_name_;
  queue.messages.push(std::move(message));
  give_turn(queue);
  ++count_;
  return last_name_;
}

void OutgoingMessages::part_has_come(uint64_t name) {
  const auto found = passed_on_.find(name);
  if (found != passed_on_.end()) give_turn(found->second);
}

void OutgoingMessages::fill(SendBuffer& buffer) {
  while (!turns_.empty()) {
    Queue& queue = *turns_.front();
    if (queue.messages.front().next_frame_bytes() > buffer.room()) return;
    turns_.pop_front();
    take_turn(queue, buffer);
  }
}

void OutgoingMessages::take_turn(Queue& queue, SendBuffer& buffer) {
  queue.has_turn = false;
  queue.messages.front().append_next_frame(buffer);
  if (queue.messages.front().is_complete()) {
    queue.messages.pop();
    --count_;
    if (queue.name != 0) {
      passed_on_.erase(queue.name);
      return;
    }
  }
  give_turn(queue);
}

void OutgoingMessages::clear() {
  turns_.clear();
  by_sender_.clear();
  passed_on_.clear();
  count_ = 0;
}

}  // namespace spillway::courier
