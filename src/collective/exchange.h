// What the collective algorithms are made of: send to a rank, receive from ranks, in the collective context of a
// communicator.
//
// Between two ranks messages keep their order, and all ranks call the collectives of a communicator in the same order,
// so that the messages of two operations cannot be taken for each other.
#pragma once

#include <cstdint>
#include <deque>

#include "collective/collective.h"
#include "message/matching.h"
#include "mpi/transfer.h"

namespace spillway::collective {

void send_to(Runtime& runtime, const Communicator& comm, int rank, const TypedBuffer& buffer);

// The same data to every other rank, one copy for all.
void send_to_others(Runtime& runtime, const Communicator& comm, const TypedBuffer& buffer);

// Copies between buffers of the same size that may have different datatypes. MPI_SUCCESS or MPI_ERR_TRUNCATE.
int copy_local(const TypedBuffer& from, const TypedBuffer& to);

// Receives of one operation. All are posted, then waited for together: the rank is woken once, not once for each.
class Receives {
 public:
  Receives(Runtime& runtime, const Communicator& comm, const char* operation);

  void expect(int rank);
  void expect_all_but(int rank);

  // Sleeps until all have come.
  void wait();

  // Moves the data of the i-th expected rank; each once. The result is MPI_SUCCESS or MPI_ERR_TRUNCATE.
  int deliver_to(size_t i, const TypedBuffer& buffer);

  // The message of the i-th expected rank, for who does not move it at once.
  const message::Envelope& message(size_t i) const { return *receives_[i].matched; }

  size_t count() const { return receives_.size(); }
  int rank_of(size_t i) const { return receives_[i].source; }

 private:
  Runtime& runtime_;
  const Communicator& comm_;
  const char* operation_;
  std::deque<message::PostedReceive> receives_;  // addresses stay
};

}  // namespace spillway::collective
