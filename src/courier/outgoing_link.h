// The connection over which a courier sends to one other node. It is made when there is first something to send,
// or when that node has connected to this one.
//
// Courier's thread only. Nothing is ever read from it: the other node answers over a connection of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/descriptor.h"
#include "courier/frame.h"
#include "courier/link_figures.h"
#include "courier/outgoing_messages.h"
#include "courier/poller.h"
#include "courier/problem_report.h"
#include "courier/sockets.h"

namespace spillway::courier {

class OutgoingLink final : public EventSource {
 public:
  // `hello` is this node's.
  OutgoingLink(uint32_t node, NodeAddress address, const Hello& hello, Poller& poller, ProblemReport& problems)
      : node_(node), address_(std::move(address)), hello_(hello), poller_(poller), problems_(problems) {}

  // Once the node has been lost, messages are dropped.
  void add(uint32_t sender, OutgoingMessage message);
  uint64_t add_passed_on(OutgoingMessage message);
  void part_has_come(uint64_t name) { messages_.part_has_come(name); }
  // Goes before all messages. Of several that have not been sent, only the last one counts.
  void tell_library_use(bool is_in_use);

  // Connects, unless that has been begun.
  void connect();

  // The other node has connected to this one. That connection carries nothing from here, so keepalive always works on
  // it and tells when the node dies; this one may then wait for as long as the other node has no room.
  void peer_is_watched();

  // Sends a buffer's worth of what waits, or begins to connect for it. When the connection has no room, that is done
  // as soon as it has.
  void send_on();

  // As of some moment not long ago. From any thread.
  LinkFigures figures() const { return {acknowledged_bytes_, busy_us_, min_rtt_us_}; }

  uint64_t queued_messages() const { return messages_.count(); }

  void handle(uint32_t events) override;

 private:
  enum class State { idle, connecting, connected, lost };

  bool has_work() const { return !buffer_.is_empty() || messages_.has_frame() || library_use_.has_value(); }
  void fill_buffer();
  void connected();
  void write();
  void set_interest(uint32_t events);
  void lose(const std::string& what, int error);
  void look_at_figures();

  uint32_t node_;
  NodeAddress address_;
  Hello hello_;
  Poller& poller_;
  ProblemReport& problems_;
  State state_ = State::idle;
  bool is_peer_watched_ = false;
  base::Descriptor socket_;
  uint32_t interest_ = 0;
  SendBuffer buffer_;  // has room from connect() on
  OutgoingMessages messages_;
  std::optional<uint32_t> library_use_;  // to be told
  uint64_t written_bytes_ = 0;
  uint64_t look_at_figures_at_ = 0;  // when so many have been written
  std::atomic<uint64_t> acknowledged_bytes_ = 0;
  std::atomic<uint64_t> busy_us_ = 0;
  std::atomic<uint64_t> min_rtt_us_ = 0;  // of the whole job, where the system's is of some minutes
};

}  // namespace spillway::courier
