// Blocking collective operations within one node (BDMPI 5.4), one per source file.
//
// Two phases: every rank contributes, through the message store, and goes to sleep; when what it waits for has been
// contributed it runs again and takes its result. Nobody waits for another rank's taking. Payloads that several ranks
// get exist once. Reductions are computed in rank order by one rank, so results are the same, bit for bit, in every
// run.
//
// All take intracommunicators; `comm` members call them in the same order. MPI_IN_PLACE is given where MPI has it, as
// the address.
#pragma once

#include <mpi.h>

#include <functional>

#include "mpi/communicator.h"
#include "mpi/typed_buffer.h"

namespace spillway::mpi {
class Runtime;
}

namespace spillway::collective {

using mpi::Communicator;
using mpi::Runtime;
using mpi::TypedBuffer;

// An array of counts or displacements as the program passes it, in int or in MPI_Count or MPI_Aint.
class Numbers {
 public:
  Numbers(const int* narrow) : narrow_(narrow) {}  // NOLINT(google-explicit-constructor): either form is meant
  template <typename Wide>
  requires(sizeof(Wide) == 8) Numbers(const Wide* wide)
      : wide_(reinterpret_cast<const int64_t*>(wide)) {}  // NOLINT(google-explicit-constructor)
  int64_t operator[](int i) const { return narrow_ != nullptr ? narrow_[i] : wide_ != nullptr ? wide_[i] : 0; }

 private:
  const int* narrow_ = nullptr;
  const int64_t* wide_ = nullptr;
};

// A buffer with one part for each rank: part i has counts[i] elements and begins displacements[i] elements (bytes, for
// alltoallw) in.
struct PartedBuffer {
  void* address;
  Numbers counts;
  Numbers displacements;
  MPI_Datatype type;
  TypedBuffer part(int i) const;
};

// The regular form: part i has `count` elements and begins i * count elements in.
TypedBuffer regular_part(const TypedBuffer& first, int i);

int barrier(Runtime& runtime, const Communicator& comm);
int broadcast(Runtime& runtime, const Communicator& comm, const TypedBuffer& buffer, int root);

// Where, in the program's memory, rank i's part is.
using Part = std::function<TypedBuffer(int)>;

// part(i) receives rank i's data; called at the root only. `in` of the root may have the address MPI_IN_PLACE.
int gather(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, const Part& part, int root);

// part(i) goes to rank i; called at the root only. `out` of the root may have the address MPI_IN_PLACE.
int scatter(Runtime& runtime, const Communicator& comm, const Part& part, const TypedBuffer& out, int root);

// part(i) receives rank i's data. With MPI_IN_PLACE as the address of `in`, the rank's own part is there already.
int allgather(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, const Part& part);

// in(i) goes to rank i, out(i) comes from rank i. For MPI_IN_PLACE, both are the same.
int alltoall(Runtime& runtime, const Communicator& comm, const Part& in, const Part& out);

int reduce(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, void* out, MPI_Op op, int root);
int allreduce(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, void* out, MPI_Op op);
// Rank i gets counts[i] elements of the result.
int reduce_scatter(Runtime& runtime, const Communicator& comm, const void* in, void* out, const Numbers& counts,
                   MPI_Datatype type, MPI_Op op);
int scan(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, void* out, MPI_Op op, bool exclusive);

}  // namespace spillway::collective
