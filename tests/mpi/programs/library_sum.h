// A nonblocking operation that the MPI library carries out, also under Spillway: a reduction with an operation of the
// program's of a datatype of its own.
#pragma once

#include <mpi.h>

class LibrarySum {
 public:
  LibrarySum() {
    MPI_Op_create(add, 1, &operation_);
    MPI_Type_contiguous(1, MPI_INT, &datatype_);
    MPI_Type_commit(&datatype_);
  }
  // Before the program finishes MPI.
  ~LibrarySum() {
    MPI_Type_free(&datatype_);
    MPI_Op_free(&operation_);
  }
  LibrarySum(const LibrarySum&) = delete;
  LibrarySum& operator=(const LibrarySum&) = delete;

  // Of one int of each rank.
  void start(const int* in, int* sum, MPI_Comm comm, MPI_Request* request) const {
    MPI_Iallreduce(in, sum, 1, datatype_, operation_, comm, request);
  }

 private:
  static void add(void* in, void* inout, int* length, MPI_Datatype*) {
    for (int i = 0; i < *length; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
  }

  MPI_Op operation_ = MPI_OP_NULL;
  MPI_Datatype datatype_ = MPI_DATATYPE_NULL;
};
