// The rank's connection to its node agent, over which it gets the segment and says what the agent must know.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/spill_directories.h"
#include "node/local_rank.h"

namespace spillway::node {

class Attachment {
 public:
  // Connects to the agent that SPILLWAY_SOCKET names. Returns nothing when this process was not started by Spillway (no
  // such variable); ends the process with a message when the agent refuses it.
  static std::optional<Attachment> connect(int world_rank, int world_size);

  Attachment(Attachment&& other) noexcept;
  Attachment& operator=(Attachment&&) = delete;
  ~Attachment();

  // The place of rank `world_rank` in the segment, and the node's message spill files: one for each spill directory,
  // and -1 behind them. Each may be taken once.
  using SpillDescriptors = std::array<int, base::SpillDirectories::kMost>;
  LocalRank take_place(int world_rank);
  // Their paths, for as long as the process lives.
  const base::SpillDirectories& spill_directories() const { return directories_; }
  // The same, with `:` between them; for as long as the process lives.
  const char* spill_directory_list() const { return directory_list_; }
  SpillDescriptors take_message_spills();

  // Tells the agent that MPI_Finalize was called: the rank's end is no failure from now on.
  void report_finalized();
  void report_left_finalize();

  // Tells the agent why this rank gives up, and with which exit status the job is to end; waits to be ended by it.
  // Returns false if the agent is gone. Signal-safe, allocates nothing.
  bool report_fatal(const char* message, int exit_status = 1);

 private:
  Attachment() { message_spills_.fill(-1); }

  int socket_ = -1;
  int segment_ = -1;
  int courier_bell_ = -1;
  SpillDescriptors message_spills_;
  base::SpillDirectories directories_;
  const char* directory_list_ = "";
};

}  // namespace spillway::node
