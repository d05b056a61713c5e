// Reduction of what all ranks contribute, in rank order, by one rank.
//
// ((v0 op v1) op v2) op ...: the same association in every run and for every schedule, so that results are
// bit-identical and operations that do not commute are served. Two temporaries of one contribution's size, whatever the
// number of ranks.
#pragma once

#include "collective/exchange.h"
#include "mpi/typed_buffer.h"

namespace spillway::collective {

class Fold {
 public:
  // `own` is this rank's contribution. REQUIRES: `receives` expects all other ranks, in rank order, and wait() has
  // returned.
  Fold(const Communicator& comm, Receives& receives, const TypedBuffer& own, MPI_Op op);

  // Takes the next rank's contribution in; the first call gives rank 0's value. Returns an MPI error class.
  int step();

  // The fold of all contributions so far.
  const TypedBuffer& value() const { return accumulated_->buffer(); }

 private:
  const Communicator& comm_;
  Receives& receives_;
  TypedBuffer own_;
  MPI_Op op_;
  int next_rank_ = 0;
  size_t next_receive_ = 0;
  std::unique_ptr<mpi::TypedTemporary> accumulated_;
  std::unique_ptr<mpi::TypedTemporary> incoming_;
};

}  // namespace spillway::collective
