// The messages that wait to be sent to one node, and what is sent of them next.
//
// Messages of one sender go in order. Those of different senders take turns, a part at a time, so that nobody's short
// message waits for the end of another's long one. So do those that come from another node and are passed on: each has
// a turn when it has a part that has come. Courier's thread only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "courier/frame.h"
#include "message/mailbox.h"
#include "message/message_store.h"

namespace spillway::courier {

// A reference to a payload of the store, given back with the last holder. The links to several nodes share that of a
// message that goes to all of them.
class HeldPayload {
 public:
  HeldPayload(message::MessageStore& store, const message::Payload& payload) : store_(store), payload_(payload) {}
  ~HeldPayload() { store_.release(payload_); }
  HeldPayload(const HeldPayload&) = delete;
  HeldPayload& operator=(const HeldPayload&) = delete;

  message::PayloadStream stream(uint64_t begin) const { return {store_, payload_, begin}; }

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

// A route of a message, and the ranks at which it ends: FrameHeader.
struct MessageRoute {
  uint64_t number = 0;
  routing::Broadcast algorithm = routing::Broadcast::flat;
  uint32_t first_part = 0;
  uint32_t end_part = 1;
  std::vector<uint32_t> receivers;
};

// The parts of a route that have come to this node: all before `end`.
using PartsHere = std::shared_ptr<const uint32_t>;

class OutgoingMessage {
 public:
  // Without payload the data are in the cell. All parts are here unless `parts_here` tells which are.
  OutgoingMessage(const message::Cell& cell, MessageRoute route, std::shared_ptr<HeldPayload> payload,
                  PartsHere parts_here = nullptr);

  uint64_t next_frame_bytes() const;
  void append_next_frame(SendBuffer& buffer);
  bool has_next_frame() const { return parts_here_ == nullptr || next_part_ < *parts_here_; }
  bool is_complete() const { return next_part_ == route_.end_part; }

 private:
  bool has_begun() const { return next_part_ != route_.first_part; }
  uint64_t next_part_bytes() const { return part_bytes_of(cell_.bytes, next_part_); }

  message::Cell cell_;
  MessageRoute route_;
  std::shared_ptr<HeldPayload> payload_;
  PartsHere parts_here_;
  std::optional<message::PayloadStream> stream_;  // of a payload that has been begun
  uint32_t next_part_;
};

class OutgoingMessages {
 public:
  // Behind the other messages of this sender.
  void add(uint32_t sender, OutgoingMessage message);

  // One that is passed on. The result names it: to be told when another part of it has come.
  uint64_t add_passed_on(OutgoingMessage message);
  void part_has_come(uint64_t name);

  uint64_t count() const { return count_; }

  // There is a frame that can be sent.
  bool has_frame() const { return !turns_.empty(); }

  // Appends frames for as long as the next one has room. A payload is given back as soon as it is in the buffer.
  // REQUIRES: an empty buffer has room for kMostFrameBytes.
  void fill(SendBuffer& buffer);

  void clear();

 private:
  // Whose first message has a turn. Those of a sender, or one that is passed on.
  struct Queue {
    std::queue<OutgoingMessage> messages;
    uint64_t name = 0;  // of one that is passed on
    bool has_turn = false;
  };

  void give_turn(Queue& queue);
  void take_turn(Queue& queue, SendBuffer& buffer);

  std::unordered_map<uint32_t, Queue> by_sender_;
  std::unordered_map<uint64_t, Queue> passed_on_;
  std::deque<Queue*> turns_;  // those that have a frame to send, next one first
  uint64_t count_ = 0;
  uint64_t last_name_ = 0;
};

}  // namespace spillway::courier
