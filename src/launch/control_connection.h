// What the agent of a job and those of its nodes say to each other, over TCP: the events and orders of
// launch/job_events.h, and what it takes to bring the nodes together and to end them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/descriptor.h"
#include "courier/sockets.h"
#include "launch/event_loop.h"

namespace spillway::launch {

enum class ControlKind : uint32_t {
  // A node's agent to the job's.
  join = 1,     // first message; `number` is the port of its courier, `text` the secret and the host, a line each
  parent_came,  // the next ones as in JobEvents; `number` is a process or a status, `text` why a rank gives up
  program_started,
  program_never_started,
  program_ended,
  parent_lost,
  library_came,
  library_lost,
  rank_finalized,
  rank_left_finalize,
  rank_gave_up,
  cannot_serve,    // the host cannot give what was asked of it; `text` says why, and a remedy
  courier_failed,  // `number` is the node that it has lost, or -1
  warning,         // `text` is for the user
  stillness,       // `text` is a Stillness, or empty when that is over; `number` is the round that it answers, or 0
  report,          // the node's part of the report. The last message, with `number` 1, and before it once with 0

  // The job's agent to a node's.
  refused = 100,  // `text` says why
  nodes,  // all have come: `number` is the node's index, `text` the number of nodes, each's address and port, and the
          // node of each rank
  kill_rank,  // the next ones as in Nodes
  release_rank,
  signal_parents,  // `number`
  mark_failed,
  retire_rank,
  how_still,  // answer with `stillness` of round `number`
  finish,     // the job is over, and all of its processes have ended: report. `number` is 1 after a failure
};

struct ControlMessage {
  ControlKind kind{};
  int32_t rank = -1;
  int32_t number = 0;
  bool is_critical = false;  // of a rank's events: it is inside the critical section
  std::string text;
};

// One end of a connection. Never waits: what the other side does not take yet is kept.
class ControlConnection {
 public:
  using Handler = std::function<void(const ControlMessage&)>;

  // Calls `on_message` for each message, and `on_end` once, when the other side is gone or does not speak as we do; the
  // connection may be destroyed there.
  ControlConnection(EventLoop& loop, base::Descriptor socket, Handler on_message, std::function<void()> on_end);
  ~ControlConnection();
  ControlConnection(const ControlConnection&) = delete;
  ControlConnection& operator=(const ControlConnection&) = delete;

  void send(const ControlMessage& message);
  // The other side has shown that it is of the job: it may send long texts. Strangers may not.
  void trust() { most_text_bytes_ = kMostTextBytes; }
  // It speaks as we do, but in another version.
  bool is_of_other_version() const { return is_of_other_version_; }
  // The other side has missed a sign of life.
  bool is_silent() const { return courier::is_silent(socket_.number()); }
  // The numeric address of the other side.
  std::string peer_address() const;

 private:
  void ready();
  bool read_all();
  bool write_all();
  bool take_messages(const std::shared_ptr<bool>& is_alive);

  EventLoop& loop_;
  base::Descriptor socket_;
  Handler on_message_;
  std::function<void()> on_end_;
  std::string input_, output_;
  static constexpr uint32_t kMostTextBytes = 64 << 20;
  uint32_t most_text_bytes_ = 4096;
  bool is_of_other_version_ = false;
  std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);
};

}  // namespace spillway::launch
