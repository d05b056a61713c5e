// The wait and test families (MPI 4.1, 3.7.3-3.7.5), for arrays that mix requests of Spillway with requests of the MPI
// library.
//
// Requests of ours complete without polling: the rank sleeps until as many messages have come as are needed at least.
// The library's need its progress engine: they are tested, and between two tests the slot goes to whoever is ready.
#pragma once

#include <mpi.h>

namespace spillway::mpi {

class Runtime;

int wait_one(Runtime& runtime, MPI_Request* request, MPI_Status* status);
int wait_all(Runtime& runtime, int count, MPI_Request* requests, MPI_Status* statuses);
int wait_any(Runtime& runtime, int count, MPI_Request* requests, int* index, MPI_Status* status);
int wait_some(Runtime& runtime, int count, MPI_Request* requests, int* done_count, int* indices, MPI_Status* statuses);
int test_one(Runtime& runtime, MPI_Request* request, int* flag, MPI_Status* status);
int test_all(Runtime& runtime, int count, MPI_Request* requests, int* flag, MPI_Status* statuses);
int test_any(Runtime& runtime, int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status);
int test_some(Runtime& runtime, int count, MPI_Request* requests, int* done_count, int* indices, MPI_Status* statuses);

int free_request(Runtime& runtime, MPI_Request* request);
int start_persistent(Runtime& runtime, MPI_Request* request);

}  // namespace spillway::mpi
