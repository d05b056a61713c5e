// The large static variables of the rank's program, which the arena adopts: what the ledger is told of them.
//
// At first they are charged as if they came from malloc, touched or not: a rank that runs may touch them, and nobody
// can stop it then. If the rank does not fit in that way, so much is left out as does not fit. But programs declare
// arrays for the largest problem that they can solve; whoever holds room for those of all ranks unloads memory that
// could stay. So what a rank has left untouched while it computed for some seconds is not charged any more. What it
// touches then is seen when it goes to sleep, and charged from there on.
#pragma once

#include <cstdint>

#include "memory/arena.h"
#include "node/ledger.h"

namespace spillway::mpi {

class StaticData {
 public:
  StaticData(memory::Arena& arena, const node::LocalRank& self, node::Ledger& ledger)
      : arena_(arena), self_(self), ledger_(ledger) {}

  // To be called once, before the rank takes its first slot.
  void adopt(uint64_t minimum_bytes);

  // Brings the charge up to date with what has been touched. To be called often, before the rank sleeps.
  void update_charge();

 private:
  memory::Arena& arena_;
  const node::LocalRank& self_;
  node::Ledger& ledger_;
  bool is_settled_ = false;  // only what was touched is charged
  uint64_t next_look_ns_ = 0;
};

}  // namespace spillway::mpi
