#include "collective/fold.h"

#include <utility>

namespace spillway::collective {

Fold::Fold(const Communicator& comm, Receives& receives, const TypedBuffer& own, MPI_Op op)
    : comm_(comm),
      receives_(receives),
      own_(own),
      op_(op),
      accumulated_(std::make_unique<mpi::TypedTemporary>(own.count, own.type)),
      incoming_(std::make_unique<mpi::TypedTemporary>(own.count, own.type)) {}

int Fold::step() {
  const int rank = next_rank_++;
  const TypedBuffer& target = incoming_->buffer();
  int error = rank == comm_.rank ? copy_local(own_, target) : receives_.deliver_to(next_receive_++, target);
  if (rank > 0 && error == MPI_SUCCESS && target.count > 0) {
    // The library counts in int; a longer vector goes in pieces.
    constexpr MPI_Count kPiece = 1 << 30;
    for (MPI_Count done = 0; done < target.count && error == MPI_SUCCESS; done += kPiece)
      error = PMPI_Reduce_local(mpi::shifted(accumulated_->buffer(), done).address, mpi::shifted(target, done).address,
                                static_cast<int>(std::min(kPiece, target.count - done)), target.type, op_);
  }
  std::swap(accumulated_, incoming_);
  return error;
}

}  // namespace spillway::collective
