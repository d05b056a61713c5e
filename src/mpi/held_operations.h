// Reduction operations of the program's that are in use: it may free them before that ends (MPI 4.1, 6.9.5).
#pragma once

#include <mpi.h>

#include <cstdint>
#include <unordered_map>

namespace spillway::mpi {

class HeldOperations {
 public:
  void hold(MPI_Op op);
  void release(MPI_Op op);

  // The program frees the operation. True if that has to wait for who holds it.
  [[nodiscard]] bool free_later(MPI_Op op);

 private:
  struct Use {
    uint32_t holds = 0;
    bool is_freed = false;
  };

  std::unordered_map<uint64_t, Use> used_;
};

class OperationHold {
 public:
  OperationHold(HeldOperations& operations, MPI_Op op) : operations_(operations), op_(op) { operations_.hold(op_); }
  ~OperationHold() { operations_.release(op_); }
  OperationHold(const OperationHold&) = delete;
  OperationHold& operator=(const OperationHold&) = delete;

 private:
  HeldOperations& operations_;
  MPI_Op op_;
};

}  // namespace spillway::mpi
