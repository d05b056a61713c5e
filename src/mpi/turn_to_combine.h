// Of all threads of all ranks of a node, the one that combines what the node contributes to a collective operation.
#pragma once

#include <cstdint>

#include "mpi/runtime.h"
#include "node/combining_turn.h"

namespace spillway::mpi {

// The rank's one turn (node/combining_turn.h), while one of its threads contributes. The others wait here.
class TurnToCombine {
 public:
  TurnToCombine(Runtime& runtime, uint64_t context, int32_t tag);
  ~TurnToCombine();
  TurnToCombine(const TurnToCombine&) = delete;
  TurnToCombine& operator=(const TurnToCombine&) = delete;

  [[nodiscard]] bool take() { return turn_.take(); }

 private:
  Runtime& runtime_;
  node::CombiningTurn turn_;
};

}  // namespace spillway::mpi
