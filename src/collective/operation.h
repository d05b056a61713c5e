// A collective operation that has begun at this rank.
#pragma once

#include <functional>
#include <utility>

#include "collective/receives.h"
#include "mpi/collective_operation.h"

namespace spillway::collective {

class Operation final : public mpi::CollectiveOperation {
 public:
  // Takes the result of what has come; an MPI error class.
  using Finish = std::function<int(Receives&)>;

  Operation(Receives receives, Finish finish) : receives_(std::move(receives)), finish_(std::move(finish)) {}

  void wait() { receives_.wait(); }
  uint64_t missing() const override { return receives_.missing(); }
  int finish() override {
    receives_.begin_to_fill();
    return finish_(receives_);
  }
  void describe(char* text, size_t size) const override { receives_.describe(text, size); }

 private:
  Receives receives_;
  Finish finish_;
};

// One that waits for nothing.
inline Operation ended(Receives none, int error = MPI_SUCCESS) {
  return Operation(std::move(none), [error](Receives&) { return error; });
}

}  // namespace spillway::collective
