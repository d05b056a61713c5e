#include "mpi/arguments.h"

#include <cstdio>

#include "mpi/runtime.h"

namespace spillway::mpi {
namespace {

bool ends_the_job(MPI_Comm comm) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (PMPI_Comm_get_errhandler(comm, &handler) != MPI_SUCCESS) return false;
  bool is_fatal = handler == MPI_ERRORS_ARE_FATAL;
#if MPI_VERSION >= 4
  is_fatal = is_fatal || handler == MPI_ERRORS_ABORT;
#endif
  PMPI_Errhandler_free(&handler);
  return is_fatal;
}

// The libraries' own message would name the call by which we reach the handler, or be lost with the launcher that is to
// print it.
void report(int error_class) {
  char description[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  PMPI_Error_string(error_class, description, &length);
  char text[MPI_MAX_ERROR_STRING + 100];
  snprintf(text, sizeof text, "made an MPI call that failed, with an error handler that ends the job: %s", description);
  runtime()->report_fatal(text, error_class);
}

}  // namespace

int raise(MPI_Comm comm, int error_class) {
  if (error_class == MPI_SUCCESS) return MPI_SUCCESS;
  const MPI_Comm with_handler = comm == MPI_COMM_NULL ? MPI_COMM_WORLD : comm;
  if (ends_the_job(with_handler)) report(error_class);
  PMPI_Comm_call_errhandler(with_handler, error_class);
  return error_class;
}

int check_buffer(const TypedBuffer& buffer) {
  if (buffer.count < 0) return MPI_ERR_COUNT;
  if (buffer.type == MPI_DATATYPE_NULL) return MPI_ERR_TYPE;
  if (buffer.address == nullptr && buffer.count > 0 && is_plain(buffer.type) && packed_bytes(buffer) > 0)
    return MPI_ERR_BUFFER;
  return MPI_SUCCESS;
}

int check_send(const Communicator& comm, const TypedBuffer& buffer, int destination, int tag) {
  if (const int error = check_buffer(buffer); error != MPI_SUCCESS) return error;
  if (destination != MPI_PROC_NULL && (destination < 0 || destination >= comm.peer_count())) return MPI_ERR_RANK;
  return tag < 0 ? MPI_ERR_TAG : MPI_SUCCESS;
}

int check_match(const Communicator& comm, int source, int tag) {
  if (source != MPI_PROC_NULL && source != MPI_ANY_SOURCE && (source < 0 || source >= comm.peer_count()))
    return MPI_ERR_RANK;
  return tag < 0 && tag != MPI_ANY_TAG ? MPI_ERR_TAG : MPI_SUCCESS;
}

int check_receive(const Communicator& comm, const TypedBuffer& buffer, int source, int tag) {
  if (const int error = check_buffer(buffer); error != MPI_SUCCESS) return error;
  return check_match(comm, source, tag);
}

int check_root(const Communicator& comm, int root) {
  return root < 0 || root >= comm.size ? MPI_ERR_ROOT : MPI_SUCCESS;
}

}  // namespace spillway::mpi
