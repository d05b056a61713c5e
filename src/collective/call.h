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
      : runtime_(runtime), comm_(comm), sender_(comm.rank), first_tag_(comm.next_collective_tag()) {}

  // The same call, but what it sends is from `rank`, which this rank speaks for.
  Call in_the_name_of(int rank) const {
    Call other = *this;
    other.sender_ = rank;
    return other;
  }

  Runtime& runtime() const { return runtime_; }
  const Communicator& comm() const { return comm_; }
  int sender() const { return sender_; }
  uint64_t context() const { return comm_.context(mpi::Traffic::collective); }
  int tag(Step step) const { return first_tag_ + static_cast<int>(step); }

 private:
  Runtime& runtime_;
  const Communicator& comm_;
  int sender_;
  int first_tag_;
};

}  // namespace spillway::collective
