// What requests have come to, without ending any of them (MPI 4.1, 3.7.6): a later wait or test gives the same again.
#pragma once

#include <mpi.h>

namespace spillway::mpi {

class Runtime;

int look_at(Runtime& runtime, MPI_Request request, int* flag, MPI_Status* status);
int look_at_all(Runtime& runtime, int count, const MPI_Request* requests, int* flag, MPI_Status* statuses);
int look_at_any(Runtime& runtime, int count, const MPI_Request* requests, int* index, int* flag, MPI_Status* status);
int look_at_some(Runtime& runtime, int count, const MPI_Request* requests, int* done_count, int* indices,
                 MPI_Status* statuses);

}  // namespace spillway::mpi
