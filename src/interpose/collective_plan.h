// What a collective call asks for, in one form for its blocking, nonblocking and persistent kinds.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "collective/collective.h"

namespace spillway::interpose {

using collective::Numbers;
using collective::Operation;
using mpi::Communicator;
using mpi::Runtime;
using mpi::TypedBuffer;

// How long the program's arguments may be used: until the call returns, or as long as the plan and its operations live.
// Then counts and displacements are copied and datatypes kept, for the program may free them. Buffers are its own.
enum class Lifetime { call, plan };

struct Plan {
  using Begin = std::function<Operation(Runtime&, const Communicator&)>;

  // What is checked before: root, the significant datatypes and counts (of several, the least), and of a reduction
  // whether the operation is for this datatype.
  int root = 0;
  MPI_Datatype type = MPI_BYTE;
  int64_t count = 0;
  MPI_Datatype other_type = MPI_BYTE;  // of the other buffer
  int64_t other_count = 0;
  std::optional<MPI_Op> op = {};  // of a reduction

  // Whether a nonblocking call of it is Spillway's: says the same at all members. Operations of the program's for its
  // own datatypes, which it may free before they have ended, are the library's; so is what is too much for each rank to
  // take.
  bool can_be_nonblocking = true;

  Begin begin;
};

// An MPI error class. The plan must be of a call on `comm`.
int check(const Communicator& comm, const Plan& plan);

// The arguments are those of the MPI function, in its order, without communicator, info and request.
struct Planner {
  const Communicator& comm;
  Lifetime lifetime;

  Plan barrier() const;
  Plan bcast(void* buffer, MPI_Count count, MPI_Datatype type, int root) const;
  Plan gather(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
              MPI_Datatype out_type, int root) const;
  Plan gatherv(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, const Numbers& counts,
               const Numbers& displacements, MPI_Datatype out_type, int root) const;
  Plan scatter(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
               MPI_Datatype out_type, int root) const;
  Plan scatterv(const void* in, const Numbers& counts, const Numbers& displacements, MPI_Datatype in_type, void* out,
                MPI_Count out_count, MPI_Datatype out_type, int root) const;
  Plan allgather(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
                 MPI_Datatype out_type) const;
  Plan allgatherv(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, const Numbers& counts,
                  const Numbers& displacements, MPI_Datatype out_type) const;
  Plan alltoall(const void* in, MPI_Count in_count, MPI_Datatype in_type, void* out, MPI_Count out_count,
                MPI_Datatype out_type) const;
  Plan alltoallv(const void* in, const Numbers& in_counts, const Numbers& in_displacements, MPI_Datatype in_type,
                 void* out, const Numbers& out_counts, const Numbers& out_displacements, MPI_Datatype out_type) const;
  Plan alltoallw(const void* in, const Numbers& in_counts, const Numbers& in_displacements,
                 const MPI_Datatype* in_types, void* out, const Numbers& out_counts, const Numbers& out_displacements,
                 const MPI_Datatype* out_types) const;
  Plan reduce(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, int root) const;
  Plan allreduce(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op) const;
  Plan scan(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op) const;
  Plan exscan(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op) const;
  Plan reduce_scatter(const void* in, void* out, const Numbers& counts, MPI_Datatype type, MPI_Op op) const;
  Plan reduce_scatter_block(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op) const;

 private:
  int64_t least(const Numbers& counts) const;
  Numbers all(const Numbers& numbers) const;
  Numbers at_root(int root, const Numbers& numbers) const;
  Plan prefixes(const void* in, void* out, MPI_Count count, MPI_Datatype type, MPI_Op op, bool exclusive) const;
};

}  // namespace spillway::interpose
