// The rank's connection to its node agent, over which it gets the segment and says what the agent must know.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "node/segment.h"

namespace spillway::node {

class Attachment {
 public:
  // Connects to the agent that SPILLWAY_SOCKET names. Returns nothing when this process was not started by Spillway (no
  // such variable); ends the process with a message when the agent refuses it.
  static std::optional<Attachment> connect(int world_rank, int world_size);

  Attachment(Attachment&& other) noexcept;
  Attachment& operator=(Attachment&&) = delete;
  ~Attachment();

  // The segment, and the node's message spill file. Each may be taken once.
  Segment take_segment();
  int take_message_spill() { return std::exchange(message_spill_, -1); }

  // Tells the agent that MPI_Finalize was called: the rank's end is no failure from now on.
  void report_finalized();

  // Tells the agent why this rank gives up, and with which exit status the job is to end; waits to be ended by it.
  // Returns false if the agent is gone. Signal-safe, allocates nothing.
  bool report_fatal(const char* message, int exit_status = 1);

 private:
  Attachment() = default;

  int socket_ = -1;
  int segment_ = -1;
  int message_spill_ = -1;
};

}  // namespace spillway::node
