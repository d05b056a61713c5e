#include "mpi/held_operations.h"

#include "mpi/communicator.h"

namespace spillway::mpi {

void HeldOperations::hold(MPI_Op op) { ++used_[handle_value(op)].holds; }

void HeldOperations::release(MPI_Op op) {
  const auto used = used_.find(handle_value(op));
  if (--used->second.holds != 0) return;
  const bool is_freed = used->second.is_freed;
  used_.erase(used);
  if (is_freed) PMPI_Op_free(&op);
}

bool HeldOperations::free_later(MPI_Op op) {
  const auto used = used_.find(handle_value(op));
  if (used == used_.end()) return false;
  used->second.is_freed = true;
  return true;
}

}  // namespace spillway::mpi
