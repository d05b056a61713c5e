// The messages that arrive from one node: each goes into this node's store as it comes, and once it is whole, to the
// mailboxes of its receivers. Courier's thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "courier/frame.h"
#include "message/mailbox.h"
#include "message/message_store.h"

namespace spillway::courier {

class IncomingMessages {
 public:
  IncomingMessages(node::LocalRank& self, message::MessageStore& store, message::Mailbox& mailbox)
      : self_(self), store_(store), mailbox_(mailbox) {}

  // Takes one frame of a message of node `node`, whose header is followed by `frame`. Returns false when no courier
  // would send it. REQUIRES: deliver() has returned true since the last one.
  bool accept(uint32_t node, const FrameHeader& header, const std::byte* frame);

  // Hands out what has become whole. Returns false when that must be tried again, for want of free cells.
  bool deliver();

 private:
  struct Message {
    message::Cell cell;
    std::vector<uint32_t> receivers;
    message::MessageStore::Filling filling;
    uint64_t missing_bytes;
    size_t told = 0;  // receivers that have it
  };

  bool is_valid_first(const FrameHeader& header, const std::vector<uint32_t>& receivers) const;
  bool accept_first(const FrameHeader& header, const std::byte* frame);
  bool accept_next(const FrameHeader& header, const std::byte* frame);
  void fill(Message& message, const FrameHeader& header, const std::byte* part);

  node::LocalRank& self_;
  message::MessageStore& store_;
  message::Mailbox& mailbox_;
  std::unordered_map<uint32_t, Message> begun_;  // by sender
  std::optional<Message> whole_;                 // on its way to the mailboxes
};

}  // namespace spillway::courier
