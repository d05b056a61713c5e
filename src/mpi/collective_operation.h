// A collective operation that this rank has done its part of: what the others need of it is on its way, and what it
// needs of them arrives without its doing. The request of a nonblocking call holds one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace spillway::mpi {

class CollectiveOperation {
 public:
  virtual ~CollectiveOperation() = default;

  // How many messages have still to come. News must have been taken.
  virtual uint64_t missing() const = 0;
  bool can_finish() const { return missing() == 0; }

  // Puts the result into the program's memory; once. An MPI error class. REQUIRES: can_finish(), and the rank holds a
  // slot.
  virtual int finish() = 0;

  // What is waited for, for the deadlock report.
  virtual void describe(char* text, size_t size) const = 0;
};

}  // namespace spillway::mpi
