// The large static variables of the rank's program, which the arena adopts: what the ledger is told of them.
//
// They are charged as if they came from malloc: all of them from MPI_Init on, whether they are touched or not, since
// nobody can stop a rank that touches them at last. Only a rank that would not fit in that way is charged for what it
// has touched; then what it touches anew is seen when it goes to sleep.
#pragma once

#include <cstdint>

#include "memory/arena.h"
#include "node/ledger.h"

namespace spillway::mpi {

class StaticData {
 public:
  StaticData(memory::Arena& arena, node::Ledger& ledger) : arena_(arena), ledger_(ledger) {}

  // To be called once, before the rank takes its first slot.
  void adopt(uint64_t minimum_bytes);

  // Charges what has been touched that was not counted before. To be called often.
  void charge_touched();

 private:
  memory::Arena& arena_;
  node::Ledger& ledger_;
  uint64_t next_look_ns_ = 0;
};

}  // namespace spillway::mpi
