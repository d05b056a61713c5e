#include "mpi/arguments.h"

#include <cstdio>
#include <map>
#include <utility>

#include "mpi/runtime.h"

namespace spillway::mpi {
namespace {

bool ends_the_job(MPI_Comm comm) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (PMPI_Comm_get_errhandler(comm, &handler) != MPI_SUCCESS) return false;
  bool is_fatal = handler == MPI_ERRORS_ARE_FATAL;
#ifdef MPI_ERRORS_ABORT
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
  char text[MPI_MAX_ERROR_STRING + 300];
  snprintf(
      text, sizeof text,
      "made an MPI call that failed, with an error handler that ends the job\n"
      "  Cause:  the MPI library calls it: %s.\n"
      "  Remedy: look at the arguments of this rank's last MPI call; with MPI_ERRORS_RETURN it gives the error back.",
      description);
  runtime()->report_fatal(text, error_class);
}

struct RaisedError {
  int error_class = MPI_SUCCESS;
  MPI_Comm with_handler{};
  CommunicatorRef communicator;  // keeps the handle valid
};

thread_local RaisedError raised;

// While it exists, the library only returns the errors of calls that have no communicator.
class ErrorsReturn {
 public:
  ErrorsReturn() {
    for (Place& place : places_) {
      PMPI_Comm_get_errhandler(place.comm, &place.handler);
      PMPI_Comm_set_errhandler(place.comm, MPI_ERRORS_RETURN);
    }
  }
  ErrorsReturn(const ErrorsReturn&) = delete;
  ErrorsReturn& operator=(const ErrorsReturn&) = delete;
  ~ErrorsReturn() {
    for (Place& place : places_) {
      PMPI_Comm_set_errhandler(place.comm, place.handler);
      PMPI_Errhandler_free(&place.handler);
    }
  }

 private:
  struct Place {
    MPI_Comm comm;
    MPI_Errhandler handler;
  };
  Place places_[2] = {{MPI_COMM_WORLD, {}}, {MPI_COMM_SELF, {}}};
};

// The library knows what its operations are for, and says so even of no elements.
int ask_library(MPI_Op op, MPI_Datatype type) {
  const ErrorsReturn errors_return;
  int in = 0, inout = 0, error_class = MPI_SUCCESS;
  const int code = PMPI_Reduce_local(&in, &inout, 0, type, op);
  if (code != MPI_SUCCESS) PMPI_Error_class(code, &error_class);
  return error_class;
}

}  // namespace

int raise(MPI_Comm comm, int error_class) {
  if (error_class != MPI_SUCCESS)
    raised = RaisedError{error_class, comm == MPI_COMM_NULL ? MPI_COMM_WORLD : comm, nullptr};
  return error_class;
}

int raise(const CommunicatorRef& comm, int error_class) {
  if (error_class != MPI_SUCCESS) raised = RaisedError{error_class, comm->handle, comm};
  return error_class;
}

void call_error_handler() {
  if (raised.error_class == MPI_SUCCESS) return;
  const RaisedError now = std::exchange(raised, RaisedError{});
  if (ends_the_job(now.with_handler)) report(now.error_class);
  PMPI_Comm_call_errhandler(now.with_handler, now.error_class);
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

// What is so once stays so, although handles of the program's are used again: its own operations are for all datatypes,
// the library's for none of the program's.
int check_operation(MPI_Op op, MPI_Datatype type) {
  static std::map<std::pair<uint64_t, uint64_t>, int> known;
  if (op == MPI_OP_NULL) return MPI_ERR_OP;
  const auto [place, is_new] = known.try_emplace({handle_value(op), handle_value(type)}, MPI_SUCCESS);
  if (is_new) place->second = ask_library(op, type);
  return place->second;
}

int check_root(const Communicator& comm, int root) {
  return root < 0 || root >= comm.size ? MPI_ERR_ROOT : MPI_SUCCESS;
}

}  // namespace spillway::mpi
