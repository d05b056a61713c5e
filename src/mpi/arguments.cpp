#include "mpi/arguments.h"

namespace spillway::mpi {

int raise(MPI_Comm comm, int error_class) {
  if (error_class != MPI_SUCCESS) PMPI_Comm_call_errhandler(comm == MPI_COMM_NULL ? MPI_COMM_WORLD : comm, error_class);
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
