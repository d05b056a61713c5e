// Which rank of a node combines what all that take part in an operation there contribute to it.
//
// It must be one that is still in the call by which it contributes: what a rank does after that nobody may wait for.
// The last one to come finds the contributions of all others there; where several come at the same time, several do,
// and the first of them to take the turn has it. Of operations that are over nothing is kept.
#pragma once

#include <cstdint>

#include "node/local_rank.h"

namespace spillway::node {

class CombiningTurn {
 public:
  // Before the rank contributes to the operation. A rank has one of these at a time.
  CombiningTurn(LocalRank& self, uint64_t context, int32_t tag);
  ~CombiningTurn();
  CombiningTurn(const CombiningTurn&) = delete;
  CombiningTurn& operator=(const CombiningTurn&) = delete;

  // After it has contributed, if it has found the contributions of all others: true for one of the ranks. REQUIRES:
  // each of them looks, after it has contributed, and takes the turn if all are there.
  [[nodiscard]] bool take();

 private:
  LocalRank& self_;
  uint64_t context_;
  int32_t tag_;
};

}  // namespace spillway::node
