// The thread of each node that moves messages between the nodes of a job, over TCP.
//
// A rank puts what is for a rank of another node into the courier's mailbox (message/mailbox.h) and goes on. The
// courier sends it to that node's courier, which puts the data into its node's message store and the envelope into the
// receiver's mailbox. So neither needs a rank's help, and ranks of different nodes may sleep as those of one do.
//
// Two connections between each two nodes that have something to say to each other, one in each direction. The thread
// sleeps when there is nothing to do, and has no more of its own ranks' messages in its own memory than a buffer per
// connection and the envelopes of a bounded number of them: beyond that it leaves cells in its mailbox, and the senders
// wait for free ones. What it passes on for other nodes has no such bound: the envelopes, a few hundred bytes each, of
// the broadcasts whose next node is slower than the one before.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "base/spill_directories.h"
#include "courier/incoming_link.h"
#include "courier/library_watch.h"
#include "courier/outgoing_link.h"
#include "courier/poller.h"
#include "courier/problem_report.h"
#include "courier/sockets.h"
#include "message/mailbox.h"
#include "message/message_store.h"
#include "node/ledger.h"
#include "node/local_rank.h"
#include "routing/selection.h"

namespace spillway::courier {

struct CourierConfig {
  std::vector<NodeAddress> nodes;      // by node index; where their couriers listen
  std::vector<uint32_t> ring;          // all nodes, in the order in which broadcasts pass them
  routing::Selection selection;        // of the algorithms of broadcasts
  std::string secret;                  // of the job: 16 to 64 bytes
  int bell = -1;                       // eventfd that ranks ring (LocalRank::set_courier_bell); not owned
  int listener = -1;                   // of listen_on_any_port(); owned
  std::vector<int> spill_descriptors;  // of the node's message spill file, one per directory; owned
  base::SpillDirectories directories;
};

// What a courier has moved, for whoever looks whether anything is on its way.
struct Traffic {
  bool is_idle = false;      // nothing waits in it
  uint64_t sent_frames = 0;  // of messages; those that wait to be sent are counted
  uint64_t received_frames = 0;

  // Of all of it.
  uint64_t fingerprint() const { return (sent_frames * 31 + received_frames) * 2 + (is_idle ? 1 : 0); }
};

class Courier final : private IncomingOwner, private Forwarder {
 public:
  // `segment` is a mapping of the courier's own.
  Courier(node::Segment segment, const CourierConfig& config);
  ~Courier() { stop(); }
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;

  // Once.
  void start();

  // Ends the thread and its connections. What has not been sent is dropped: call it when no rank of the job needs
  // anything any more. To the other couriers it looks as if the node had been lost.
  void stop();

  // Readable when a node has been lost or the courier cannot go on. What has nothing to do with that node is still
  // moved. That a node's courier was stopped at the job's end looks the same: who ends the job can tell.
  int problem_descriptor() const { return problems_.descriptor(); }
  Problem problem() const { return problems_.problem(); }

  // To the node. From any thread.
  LinkFigures figures_of_link(uint32_t node) const;

  // From any thread. The numbers are those of a moment only when they do not change.
  Traffic traffic() const;

 private:
  // Of an eventfd: there is nothing to do but to wake up.
  class Bell final : public EventSource {
   public:
    Bell(Poller& poller, int descriptor);
    void handle(uint32_t events) override;

   private:
    int descriptor_;
  };

  class Listener final : public EventSource {
   public:
    explicit Listener(Courier& courier) : courier_(courier) {}
    void handle(uint32_t events) override { courier_.accept_connections(events); }

   private:
    Courier& courier_;
  };

  bool node_connected(uint32_t node) override;
  void frame_taken() override { ++received_frames_; }
  void node_uses_library(uint32_t node, bool is_in_use) override { library_.note(node, is_in_use); }
  void node_lost(uint32_t node, const char* why) override;

  std::vector<PassedOn> pass_on(const message::Cell& cell, const MessageRoute& route,
                                std::shared_ptr<HeldPayload> payload, PartsHere parts_here) override;
  void part_has_come(const PassedOn& passed_on) override { link_to(passed_on.node).part_has_come(passed_on.name); }

  void run();
  void take_mailbox();
  void take(const message::Cell& cell);
  void take_multicast(const message::Cell& cell);
  void broadcast(const message::Cell& cell, const std::vector<uint32_t>& receivers,
                 const std::shared_ptr<HeldPayload>& payload);
  void add(uint32_t node, const message::Cell& cell, MessageRoute route, std::shared_ptr<HeldPayload> payload);
  void count_sent(const message::Cell& cell, const MessageRoute& route);
  void tell_library_use(bool is_in_use);
  void send();
  void sleep();
  void go_on_with_stalled();
  void accept_connections(uint32_t events);
  OutgoingLink& link_to(uint32_t node);
  bool has_stalled() const;
  uint64_t queued_messages() const;

  node::LocalRank self_;
  node::Ledger ledger_;
  message::MessageStore store_;
  message::Mailbox mailbox_;
  LibraryWatch library_;
  ProblemReport problems_;
  Poller poller_;
  Hello hello_;
  std::vector<NodeAddress> nodes_;
  std::vector<uint32_t> distance_;  // by node: how many come before it in the ring, from this one on
  routing::Selection selection_;
  base::Descriptor listener_socket_;
  base::Descriptor stop_event_;
  Bell bell_;
  Bell stop_bell_;
  Listener listener_;
  std::vector<std::unique_ptr<OutgoingLink>> outgoing_;  // by node; none to itself
  BegunMessages begun_;
  std::vector<std::unique_ptr<IncomingLink>> incoming_;
  std::vector<bool> has_connected_;  // by node
  uint64_t last_number_ = 0;         // of a message
  uint64_t added_ = 0;               // messages to links since the mailbox was last looked into
  std::atomic<uint64_t> taken_ = 0;  // cells that have been taken out of the mailbox so far
  std::atomic<uint64_t> sent_frames_ = 0;
  std::atomic<uint64_t> received_frames_ = 0;
  std::atomic<bool> is_stalled_ = false;
  std::atomic<bool> is_stopping_ = false;
  std::thread thread_;
};

}  // namespace spillway::courier
