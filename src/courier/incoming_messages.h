// The messages that arrive from one node: each goes into this node's store as it comes, on to the nodes that get it
// from this one, and once it is whole, to the mailboxes of its receivers here. Courier's thread only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "courier/frame.h"
#include "courier/outgoing_messages.h"
#include "message/mailbox.h"
#include "message/message_store.h"

namespace spillway::courier {

// A route that is passed on to a node, as its OutgoingMessages name it.
struct PassedOn {
  uint32_t node;
  uint64_t name;
};

// Who passes on to other nodes what comes.
class Forwarder {
 public:
  // `route` has the receivers of the nodes that this one looks after. Of a cell with a payload, the parts before
  // `*parts_here` have come.
  virtual std::vector<PassedOn> pass_on(const message::Cell& cell, const MessageRoute& route,
                                        std::shared_ptr<HeldPayload> payload, PartsHere parts_here) = 0;
  virtual void part_has_come(const PassedOn& passed_on) = 0;

 protected:
  ~Forwarder() = default;
};

struct IncomingMessage {
  message::Cell cell;
  std::vector<uint32_t> receivers;  // of this node
  message::MessageStore::Filling filling;
  std::shared_ptr<HeldPayload> held;  // while it comes, and while it is passed on
  uint64_t missing_bytes = 0;
  size_t told = 0;  // receivers that have it
};

// By sender and number. Those of all connections: the routes of a message may come over several.
using BegunMessages = std::map<std::pair<uint32_t, uint64_t>, IncomingMessage>;

class IncomingMessages {
 public:
  IncomingMessages(node::LocalRank& self, message::MessageStore& store, message::Mailbox& mailbox, BegunMessages& begun,
                   Forwarder& forwarder)
      : self_(self), store_(store), mailbox_(mailbox), begun_(begun), forwarder_(forwarder) {}

  // Takes one frame of a message, whose header is followed by `frame`. Returns false when no courier would send it.
  // REQUIRES: deliver() has returned true since the last one.
  bool accept(const FrameHeader& header, const std::byte* frame);

  // Hands out what has become whole. Returns false when that must be tried again, for want of free cells.
  bool deliver();

 private:
  using RouteName = std::tuple<uint32_t, uint64_t, uint32_t>;  // sender, number, first part

  struct Route {
    BegunMessages::iterator message;
    message::MessageStore::Filling filling;  // of the route's parts
    uint32_t next_part;
    uint32_t end_part;
    std::shared_ptr<uint32_t> parts_here;  // of one that is passed on
    std::vector<PassedOn> passed_on;
  };

  bool is_valid_first(const FrameHeader& header, const std::vector<uint32_t>& receivers) const;
  bool accept_first(const FrameHeader& header, const std::byte* frame);
  bool accept_next(const FrameHeader& header, const std::byte* frame);
  void take_inlined(IncomingMessage message, const MessageRoute& onward, const std::byte* part);
  BegunMessages::iterator begun(const FrameHeader& header, IncomingMessage message);
  void fill(Route& route, const FrameHeader& header, const std::byte* part);

  node::LocalRank& self_;
  message::MessageStore& store_;
  message::Mailbox& mailbox_;
  BegunMessages& begun_;
  Forwarder& forwarder_;
  std::map<RouteName, Route> routes_;     // of which parts have come, and others have not
  std::optional<IncomingMessage> whole_;  // on its way to the mailboxes
};

}  // namespace spillway::courier
