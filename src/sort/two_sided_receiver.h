// A node's receiver of two-sided delivery (hybrid-sort.txt, section 3.1): receivers hand a token on in a ring. Who has
// it receives the size of one block, from any reader, adds it to the token's sum, hands it on, and then receives the
// block; the token that has the sum of all becomes the special one that ends the stage.
//
// The paper's is that. Ours is: blocks are received straight into memory that the node's sorters share, so that nothing
// is copied once more there, several at a time, unless it is told to do as the paper does; sorters get them in turn, as
// BIN_COMMs do in the paper, each when it has come.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "sort/input_plan.h"
#include "sort/pause.h"
#include "sort/two_sided_groups.h"
#include "sort/two_sided_messages.h"

namespace spillway::sort {

class TwoSidedReceiver {
 public:
  // `one`, as in the paper: the size of the next block is received when the block before it has come.
  enum class Receives { one, several };

  // `plan` and `groups` stay. `slots` are buffers that the node's sort group shares, for a block each and what is read
  // around it.
  TwoSidedReceiver(const InputPlan& plan, const TwoSidedGroups& groups, std::vector<char*> slots, Receives receives);

  // Returns when all that has come is dealt out.
  void run();

 private:
  enum class Token { elsewhere, here, over };
  struct Incoming {
    int reader;
    two_sided::Size size;
  };
  struct Receiving {
    uint64_t slot;
    uint64_t block;
    MPI_Request request;
  };

  bool advance_token();
  void hand_on(uint64_t token);
  bool start_receives();
  bool end_receives();
  bool take_back();
  void tell(int sorter, const two_sided::Full& full);

  const InputPlan& plan_;
  const TwoSidedGroups& groups_;
  const std::vector<char*> slots_;
  const Receives receives_;
  int own_ = 0;  // among receivers
  int receivers_ = 1;
  int sorters_ = 1;
  Token token_ = Token::elsewhere;
  uint64_t token_bytes_ = 0;
  bool is_first_to_end_ = false;
  MPI_Request token_request_ = MPI_REQUEST_NULL;
  MPI_Request size_request_ = MPI_REQUEST_NULL;
  two_sided::Size size_{};
  std::deque<Incoming> incoming_;  // whose size is known
  std::vector<uint64_t> free_slots_;
  std::vector<Receiving> receiving_;
  uint64_t handed_out_ = 0;  // slots
  uint64_t turn_ = 0;
  MPI_Request empty_request_ = MPI_REQUEST_NULL;
  uint64_t empty_slot_ = 0;
  Pause pause_;
};

}  // namespace spillway::sort
