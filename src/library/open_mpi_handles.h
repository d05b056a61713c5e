// Open MPI's predefined handles are addresses of data in its library. The linker would look for them when this library
// is loaded, which is too early: a shell that starts the program has no MPI library, and Python loads it later, for
// mpi4py alone. So they are looked up together with the library's functions, and the names that mpi.h makes its handles
// of mean what was found. A handle that is missing here fails to link.
#pragma once

#include <mpi.h>

#ifdef OPEN_MPI
#ifdef MPI_ERRORS_ABORT  // MPI 4.0
#define SPILLWAY_NEWER_OPEN_MPI_HANDLES(VISIT) VISIT(ompi_mpi_errors_abort)
#else
#define SPILLWAY_NEWER_OPEN_MPI_HANDLES(VISIT)
#endif
#define SPILLWAY_OPEN_MPI_HANDLES(VISIT) \
  VISIT(ompi_message_no_proc)            \
  VISIT(ompi_message_null)               \
  VISIT(ompi_mpi_byte)                   \
  VISIT(ompi_mpi_comm_null)              \
  VISIT(ompi_mpi_comm_self)              \
  VISIT(ompi_mpi_comm_world)             \
  VISIT(ompi_mpi_datatype_null)          \
  VISIT(ompi_mpi_errhandler_null)        \
  VISIT(ompi_mpi_errors_are_fatal)       \
  VISIT(ompi_mpi_errors_return)          \
  VISIT(ompi_mpi_file_null)              \
  VISIT(ompi_mpi_group_null)             \
  VISIT(ompi_mpi_info_null)              \
  VISIT(ompi_mpi_op_band)                \
  VISIT(ompi_mpi_op_bor)                 \
  VISIT(ompi_mpi_op_bxor)                \
  VISIT(ompi_mpi_op_land)                \
  VISIT(ompi_mpi_op_lor)                 \
  VISIT(ompi_mpi_op_lxor)                \
  VISIT(ompi_mpi_op_max)                 \
  VISIT(ompi_mpi_op_maxloc)              \
  VISIT(ompi_mpi_op_min)                 \
  VISIT(ompi_mpi_op_minloc)              \
  VISIT(ompi_mpi_op_null)                \
  VISIT(ompi_mpi_op_prod)                \
  VISIT(ompi_mpi_op_sum)                 \
  VISIT(ompi_mpi_uint64_t)               \
  VISIT(ompi_request_null)               \
  SPILLWAY_NEWER_OPEN_MPI_HANDLES(VISIT)

namespace spillway::library::open_mpi {
#define SPILLWAY_DECLARE(handle) inline decltype(::handle)* found_##handle = nullptr;
SPILLWAY_OPEN_MPI_HANDLES(SPILLWAY_DECLARE)
#undef SPILLWAY_DECLARE
}  // namespace spillway::library::open_mpi

#define ompi_message_no_proc (*::spillway::library::open_mpi::found_ompi_message_no_proc)
#define ompi_message_null (*::spillway::library::open_mpi::found_ompi_message_null)
#define ompi_mpi_byte (*::spillway::library::open_mpi::found_ompi_mpi_byte)
#define ompi_mpi_comm_null (*::spillway::library::open_mpi::found_ompi_mpi_comm_null)
#define ompi_mpi_comm_self (*::spillway::library::open_mpi::found_ompi_mpi_comm_self)
#define ompi_mpi_comm_world (*::spillway::library::open_mpi::found_ompi_mpi_comm_world)
#define ompi_mpi_datatype_null (*::spillway::library::open_mpi::found_ompi_mpi_datatype_null)
#define ompi_mpi_errhandler_null (*::spillway::library::open_mpi::found_ompi_mpi_errhandler_null)
#define ompi_mpi_errors_abort (*::spillway::library::open_mpi::found_ompi_mpi_errors_abort)
#define ompi_mpi_errors_are_fatal (*::spillway::library::open_mpi::found_ompi_mpi_errors_are_fatal)
#define ompi_mpi_errors_return (*::spillway::library::open_mpi::found_ompi_mpi_errors_return)
#define ompi_mpi_file_null (*::spillway::library::open_mpi::found_ompi_mpi_file_null)
#define ompi_mpi_group_null (*::spillway::library::open_mpi::found_ompi_mpi_group_null)
#define ompi_mpi_info_null (*::spillway::library::open_mpi::found_ompi_mpi_info_null)
#define ompi_mpi_op_band (*::spillway::library::open_mpi::found_ompi_mpi_op_band)
#define ompi_mpi_op_bor (*::spillway::library::open_mpi::found_ompi_mpi_op_bor)
#define ompi_mpi_op_bxor (*::spillway::library::open_mpi::found_ompi_mpi_op_bxor)
#define ompi_mpi_op_land (*::spillway::library::open_mpi::found_ompi_mpi_op_land)
#define ompi_mpi_op_lor (*::spillway::library::open_mpi::found_ompi_mpi_op_lor)
#define ompi_mpi_op_lxor (*::spillway::library::open_mpi::found_ompi_mpi_op_lxor)
#define ompi_mpi_op_max (*::spillway::library::open_mpi::found_ompi_mpi_op_max)
#define ompi_mpi_op_maxloc (*::spillway::library::open_mpi::found_ompi_mpi_op_maxloc)
#define ompi_mpi_op_min (*::spillway::library::open_mpi::found_ompi_mpi_op_min)
#define ompi_mpi_op_minloc (*::spillway::library::open_mpi::found_ompi_mpi_op_minloc)
#define ompi_mpi_op_null (*::spillway::library::open_mpi::found_ompi_mpi_op_null)
#define ompi_mpi_op_prod (*::spillway::library::open_mpi::found_ompi_mpi_op_prod)
#define ompi_mpi_op_sum (*::spillway::library::open_mpi::found_ompi_mpi_op_sum)
#define ompi_mpi_uint64_t (*::spillway::library::open_mpi::found_ompi_mpi_uint64_t)
#define ompi_request_null (*::spillway::library::open_mpi::found_ompi_request_null)
#endif
