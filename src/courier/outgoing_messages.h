// The messages that wait to be sent to one node, and what is sent of them next.
//
// Messages of one sender go in order. Those of different senders take turns, a part at a time, so that nobody's short
// message waits for the end of another's long one. Courier's thread only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <queue>
#include <unordered_map>
#include <vector>

#include "courier/frame.h"
#include "message/mailbox.h"
#include "message/message_store.h"

namespace spillway::courier {

// A reference to a payload of the store, given back with the last holder. The links to several nodes share that of a
// multicast.
class HeldPayload {
 public:
  HeldPayload(message::MessageStore& store, const message::Payload& payload) : store_(store), payload_(payload) {}
  ~HeldPayload() { store_.release(payload_); }
  HeldPayload(const HeldPayload&) = delete;
  HeldPayload& operator=(const HeldPayload&) = delete;

  message::PayloadStream stream() const { return {store_, payload_}; }

 private:
  message::MessageStore& store_;
  message::Payload payload_;
};

// Frames on their way to a socket.
class SendBuffer {
 public:
  SendBuffer() = default;
  explicit SendBuffer(uint64_t bytes) : bytes_(bytes) {}

  bool is_empty() const { return begin_ == end_; }
  uint64_t room() const { return bytes_.size() - end_; }
  // Room for so many bytes, to be filled by the caller.
  std::byte* extend(uint64_t bytes);
  void append(const void* data, uint64_t bytes);

  const std::byte* data() const { return bytes_.data() + begin_; }
  uint64_t bytes() const { return end_ - begin_; }
  void drop(uint64_t bytes);

 private:
  std::vector<std::byte> bytes_;
  uint64_t begin_ = 0, end_ = 0;
};

class OutgoingMessage {
 public:
  // To the rank that the cell names, or to `receivers` when there are any. Without payload the data are in the cell.
  OutgoingMessage(const message::Cell& cell, std::vector<uint32_t> receivers, std::shared_ptr<HeldPayload> payload);

  uint64_t next_frame_bytes() const;
  void append_next_frame(SendBuffer& buffer);
  bool is_complete() const { return has_begun_ && sent_bytes_ == cell_.bytes; }

 private:
  uint64_t next_part_bytes() const { return std::min(kPartBytes, cell_.bytes - sent_bytes_); }
  uint32_t receiver_count() const;

  message::Cell cell_;
  std::vector<uint32_t> receivers_;
  std::shared_ptr<HeldPayload> payload_;
  std::unique_ptr<message::PayloadStream> stream_;  // of a payload that has been begun
  uint64_t sent_bytes_ = 0;
  bool has_begun_ = false;
};

class OutgoingMessages {
 public:
  void add(uint32_t sender, OutgoingMessage message);
  uint64_t count() const { return count_; }

  // Appends frames for as long as the next one has room. A payload is given back as soon as it is in the buffer.
  // REQUIRES: an empty buffer has room for kMostFrameBytes.
  void fill(SendBuffer& buffer);

  void clear();

 private:
  using Queue = std::queue<OutgoingMessage>;

  std::unordered_map<uint32_t, Queue> by_sender_;
  std::deque<Queue*> turns_;  // those that are not empty, next one first
  uint64_t count_ = 0;
};

}  // namespace spillway::courier
