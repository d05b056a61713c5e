// A connection over which another node's courier sends. It says who it is, and that it belongs to the job, before
// anything else is taken from it. Courier's thread only; nothing is ever written to it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/descriptor.h"
#include "courier/frame.h"
#include "courier/incoming_messages.h"
#include "courier/poller.h"

namespace spillway::courier {

// Who is told of what comes, besides messages.
class IncomingOwner {
 public:
  // A courier of the job has connected. False when it must not: the connection is closed.
  virtual bool node_connected(uint32_t node) = 0;
  virtual void frame_taken() = 0;
  virtual void node_uses_library(uint32_t node, bool is_in_use) = 0;
  virtual void node_lost(uint32_t node, const char* why) = 0;

 protected:
  ~IncomingOwner() = default;
};

class IncomingLink final : public EventSource {
 public:
  // `expected` is the hello of this node: others differ from it by their node.
  IncomingLink(base::Descriptor socket, const Hello& expected, IncomingMessages messages, Poller& poller,
               IncomingOwner& owner);

  // A message that has arrived waits for free cells; until it has them, nothing else is read.
  bool is_stalled() const { return is_stalled_; }
  void try_again();

  bool is_closed() const { return !socket_; }

  void handle(uint32_t events) override;

 private:
  bool is_known() const { return node_ != node::kNoIndex; }
  bool accept_hello();
  bool accept_frame();
  void accept_all();
  void set_stalled(bool is_stalled);
  void close(const char* why);
  const std::byte* waiting() const { return buffer_.data() + begin_; }
  uint64_t waiting_bytes() const { return end_ - begin_; }

  base::Descriptor socket_;
  Hello expected_;
  IncomingMessages messages_;
  Poller& poller_;
  IncomingOwner& owner_;
  uint32_t node_ = node::kNoIndex;  // once it has said who it is
  bool is_stalled_ = false;
  std::vector<std::byte> buffer_;  // large only once that is known: a stranger gets no memory
  uint64_t begin_ = 0, end_ = 0;   // of what has been read, and not been taken yet
};

}  // namespace spillway::courier
