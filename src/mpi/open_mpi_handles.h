// Open MPI's predefined handles are addresses of data in its library. Declared weak, a process that never loads an MPI
// library (a shell that starts the program, Python before it imports mpi4py) can start with Spillway's library
// preloaded. Included before all else in every source that is compiled for Open MPI.
#pragma once

#include <mpi.h>

#ifdef OPEN_MPI
#define SPILLWAY_WEAK(handle) extern __typeof__(handle) handle __attribute__((weak))
extern "C" {
SPILLWAY_WEAK(ompi_message_no_proc);
SPILLWAY_WEAK(ompi_message_null);
SPILLWAY_WEAK(ompi_mpi_byte);
SPILLWAY_WEAK(ompi_mpi_comm_null);
SPILLWAY_WEAK(ompi_mpi_comm_self);
SPILLWAY_WEAK(ompi_mpi_comm_world);
SPILLWAY_WEAK(ompi_mpi_datatype_null);
SPILLWAY_WEAK(ompi_mpi_group_null);
SPILLWAY_WEAK(ompi_mpi_op_max);
SPILLWAY_WEAK(ompi_mpi_op_null);
SPILLWAY_WEAK(ompi_mpi_uint64_t);
SPILLWAY_WEAK(ompi_request_null);
}
#undef SPILLWAY_WEAK
#endif
