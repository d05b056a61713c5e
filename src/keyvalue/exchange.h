// Moves blocks between the processes of a job, by MPI calls of the caller's thread alone.
//
// A block goes in pieces of at most kPieceBytes, in order, so that no record is too long for a count of MPI's, and so
// that receives can be posted before anybody knows what comes. Receives are from anybody into a ring of pieces, and
// completed in the order in which they were posted, which is that in which MPI matches them; the pieces of each
// sender's block are put together in memory that the sink has been charged for.
//
// Whoever waits here waits for its own sends and for what comes, in one call of MPI: so a process whose sends are stuck
// still receives, and two that send to each other cannot block each other. A process that is waited for by the call
// MPI_Waitany under Spillway is asleep, without a slot.
//
// Sends are MPI's standard ones. Synchronous ones would bound what an MPI library may buffer of small messages, but
// make the ranks of `spillway run` wait for each other that cannot all run at a time. What MPI has not yet taken of one
// sender is bounded by its send partition lists; what a plain MPI library takes of small blocks before they are asked
// for is its own affair. Where a stream has no end, that is too much: there a process sends another one at most
// kMostUnacknowledged blocks before this one has said that it is done with one of them.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "keyvalue/route.h"
#include "shuffle/block_sink.h"
#include "shuffle/list_sorter.h"
#include "shuffle/record_format.h"

namespace spillway::keyvalue {

class Exchange {
 public:
  static constexpr size_t kPieceBytes = 256 << 10;

  // Of blocks that one process has sent another one.
  static constexpr int kMostUnacknowledged = 8;
  enum class Acknowledges { no, yes };

  // `tag` and the next one are those of its messages. What comes goes to `sink`; nullptr in a process without
  // partitions.
  Exchange(MPI_Comm communicator, int tag, const Route& route, shuffle::BlockSink* sink,
           Acknowledges acknowledges = Acknowledges::no);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Sends a lane's sorted list, which must stay until the lane is taken back.
  void send(shuffle::SendLane& lane);
  // A lane of which everything has been sent, or nullptr.
  shuffle::SendLane* take_sent();
  // Tells everybody that nothing more comes from here, or nothing more of this window.
  void send_end() { send_mark(end_); }
  void end_window() { send_mark(end_of_window_); }
  // The caller is done with a block of this sender's, or with the end of its window.
  void acknowledge(int sender);

  bool is_sending() const { return active_sends_ != 0 || !pieces_.empty() || unacknowledged_count_ != 0; }
  // Whether MPI has still to take something.
  bool has_unsent() const { return active_sends_ != 0 || !pieces_.empty(); }
  // Whether more than a few pieces wait for acknowledgements.
  bool is_stalled() const { return pieces_.size() > kMostSends; }
  bool is_receiving() const { return sink_ != nullptr && ended_senders_ < route_.sender_count; }

  // Completes what has been sent or has come, without waiting.
  void progress();
  // The same, and waits for one. REQUIRES: is_sending() or is_receiving().
  void wait();

  uint64_t sent_bytes() const { return sent_bytes_; }
  uint64_t received_records() const { return received_records_; }

 private:
  static constexpr size_t kMostSends = 32;

  struct Piece {
    shuffle::SendLane* lane;
    const char* data;
    int bytes;
    int process;
    bool begins_block;
  };
  // A block that a sender has begun to send.
  struct Incoming {
    shuffle::BlockHeader header;
    shuffle::Run run;
    uint64_t received_bytes = 0;
    bool is_begun = false;
  };

  void send_mark(const shuffle::BlockHeader& mark);
  void deliver_to_self(const char* block);
  bool may_start(const Piece& piece) const;
  void start_sends();
  void complete(int index, const MPI_Status& status);
  void complete_send(size_t slot);
  void post_receive(size_t place);
  void post_acknowledgement();
  void take_piece(int sender, const char* data, size_t bytes);
  void begin_block(int sender, Incoming& incoming, const char* data);
  void take_mark(int sender, uint32_t mark);
  void take_acknowledgement(int process);

  const MPI_Comm communicator_;
  const int tag_;
  const Route route_;
  shuffle::BlockSink* const sink_;
  const bool acknowledges_;

  std::deque<Piece> pieces_;           // not yet given to MPI
  std::vector<MPI_Request> requests_;  // the oldest receive, or that of an acknowledgement, then the sends
  std::vector<shuffle::SendLane*> lane_of_send_;
  size_t active_sends_ = 0;
  std::deque<shuffle::SendLane*> sent_lanes_;
  const shuffle::BlockHeader end_{shuffle::kBlockVersion, shuffle::kEnd, 0, 0};
  const shuffle::BlockHeader end_of_window_{shuffle::kBlockVersion, shuffle::kEndOfWindow, 0, 0};
  std::vector<int> unacknowledged_;  // blocks, by process
  size_t unacknowledged_count_ = 0;

  std::vector<MPI_Request> receives_;  // the ring; the oldest one is in requests_
  shuffle::ByteBuffer ring_;
  size_t oldest_ = 0;
  std::vector<Incoming> incoming_;  // by sender
  int ended_senders_ = 0;

  uint64_t sent_bytes_ = 0;
  uint64_t received_records_ = 0;
};

}  // namespace spillway::keyvalue
