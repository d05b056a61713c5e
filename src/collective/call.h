// One call of a collective operation at this rank: what its messages are sent and received with.
#pragma once

#include "mpi/communicator.h"

namespace spillway::mpi {
class Runtime;
}

namespace spillway::collective {

using mpi::Communicator;
using mpi::Runtime;

// Where a rank sends to another one directly and also, in the same operation, to it among others.
enum class Step { first, second };

// Made once by each member that takes part, in the same order as the members' other calls: it takes the operation's
// number. Copies are the same call.
class Call {
 public:
  Call(Runtime& runtime, const Communicator& comm)
      : runtime_(runtime), comm_(comm), first_tag_(comm.next_collective_tag()) {}

  Runtime& runtime() const { return runtime_; }
  const Communicator& comm() const { return comm_; }
  uint64_t context() const { return comm_.context(mpi::Traffic::collective); }
  int tag(Step step) const { return first_tag_ + static_cast<int>(step); }

 private:
  Runtime& runtime_;
  const Communicator& comm_;
  int first_tag_;
};

}  // namespace spillway::collective
