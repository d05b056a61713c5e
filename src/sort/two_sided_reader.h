// A reader of two-sided delivery (hybrid-sort.txt, section 3.1): in rounds, readers say at the first of them what they
// have read (MPI_Igather), which assigns receivers in turn (MPI_Iscatter). A block's size goes ahead by MPI_Bsend, its
// records follow by MPI_Isend.
//
// The paper's is that order of messages. Ours is: the collective calls do not block, so that reading goes on; who has
// read nothing yet lets others wait for one short pause before it says so; each reads every so many-th block.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "sort/async_io.h"
#include "sort/input_files.h"
#include "sort/input_plan.h"
#include "sort/pause.h"
#include "sort/progress.h"
#include "sort/two_sided_groups.h"
#include "sort/two_sided_messages.h"

namespace spillway::sort {

class TwoSidedReader {
 public:
  // All stay. `slots` are buffers of this process, for a block each and what is read around it.
  TwoSidedReader(const InputPlan& plan, InputFiles& files, const TwoSidedGroups& groups,
                 const std::vector<char*>& slots, AsyncIo& io, Progress& progress);

  // Returns when all that this process has read is on its way out of its memory.
  void run();

 private:
  enum class Step { empty, reading, read, sending };
  struct Buffer {
    char* memory;
    Step step = Step::empty;
    uint64_t block = 0;
    InputPlan::Block of{};
    MPI_Request sending = MPI_REQUEST_NULL;
  };
  enum class Round { none, gathering, scattering };

  bool start_reads();
  bool end_sends();
  bool advance_round();
  void assign();
  void send(Buffer& buffer, int receiver);
  Buffer* next_read();
  void idle();

  const InputPlan& plan_;
  InputFiles& files_;
  const TwoSidedGroups& groups_;
  AsyncIo& io_;
  Progress& progress_;
  int own_ = 0;
  int readers_ = 1;
  int receivers_ = 1;
  std::vector<Buffer> buffers_;
  uint64_t next_block_;
  Round round_ = Round::none;
  MPI_Request request_ = MPI_REQUEST_NULL;
  uint64_t offer_ = 0;  // bytes
  int assigned_ = 0;
  bool has_paused_ = false;  // since the last round
  bool is_over_ = false;
  std::vector<uint64_t> offers_;  // of all, at the first reader
  std::vector<int> assignments_;
  uint64_t assigned_blocks_ = 0;
  std::vector<char> size_messages_;
  uint64_t sizes_since_attached_ = 0;
  Pause pause_;
};

}  // namespace spillway::sort
