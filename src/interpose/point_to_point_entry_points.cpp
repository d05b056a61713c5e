// Entry points of point-to-point communication, blocking and nonblocking (MPI 4.1, chapter 3).
#include "interpose/entry.h"
#include "mpi/matched_probe.h"
#include "mpi/point_to_point.h"
#include "mpi/transfer.h"

namespace spillway::interpose {
namespace {

using mpi::SendMode;

template <typename Library>
int send_entry(const TypedBuffer& buffer, int destination, int tag, MPI_Comm comm, SendMode mode, Library library) {
  return dispatch_on(
      comm, [&](const mpi::Communicator& c) { return mpi::check_send(c, buffer, destination, tag); },
      [&](Runtime& runtime, const CommunicatorRef& c) { return mpi::send(runtime, c, buffer, destination, tag, mode); },
      library);
}

template <typename Library>
int isend_entry(const TypedBuffer& buffer, int destination, int tag, MPI_Comm comm, SendMode mode, MPI_Request* request,
                Library library) {
  return dispatch_request_on(
      comm, [&](const mpi::Communicator& c) { return mpi::check_send(c, buffer, destination, tag); },
      [&](Runtime& runtime, const CommunicatorRef& c) {
        mpi::Request& made = runtime.requests.create();
        mpi::prepare_send(made, c, buffer, destination, tag, mode);
        mpi::start(runtime, made);
        *request = made.handle;
        return MPI_SUCCESS;
      },
      library, request);
}

// The datatype is held: the program may free its handle before the receive completes.
void start_receive(Runtime& runtime, mpi::Request& request, const CommunicatorRef& comm, const TypedBuffer& buffer,
                   int source, int tag) {
  request.type = mpi::DatatypeHold(buffer.type);
  mpi::prepare_receive(request, comm, TypedBuffer{buffer.address, buffer.count, request.type.type()}, source, tag);
  mpi::start(runtime, request);
}

template <typename Library>
int receive_entry(const TypedBuffer& buffer, int source, int tag, MPI_Comm comm, MPI_Status* status, Library library) {
  return dispatch_on(
      comm, [&](const mpi::Communicator& c) { return mpi::check_receive(c, buffer, source, tag); },
      [&](Runtime& runtime, const CommunicatorRef& c) { return mpi::receive(runtime, c, buffer, source, tag, status); },
      library);
}

template <typename Library>
int ireceive_entry(const TypedBuffer& buffer, int source, int tag, MPI_Comm comm, MPI_Request* request,
                   Library library) {
  return dispatch_request_on(
      comm, [&](const mpi::Communicator& c) { return mpi::check_receive(c, buffer, source, tag); },
      [&](Runtime& runtime, const CommunicatorRef& c) {
        mpi::Request& made = runtime.requests.create();
        start_receive(runtime, made, c, buffer, source, tag);
        *request = made.handle;
        return MPI_SUCCESS;
      },
      library, request);
}

int check_both(const mpi::Communicator& comm, const TypedBuffer& out, int destination, int send_tag,
               const TypedBuffer& in, int source, int receive_tag) {
  const int error = mpi::check_send(comm, out, destination, send_tag);
  return error != MPI_SUCCESS ? error : mpi::check_receive(comm, in, source, receive_tag);
}

template <typename Library>
int send_receive_entry(const TypedBuffer& out, int destination, int send_tag, const TypedBuffer& in, int source,
                       int receive_tag, MPI_Comm comm, MPI_Status* status, Library library) {
  return dispatch_on(
      comm,
      [&](const mpi::Communicator& c) { return check_both(c, out, destination, send_tag, in, source, receive_tag); },
      [&](Runtime& runtime, const CommunicatorRef& c) {
        return mpi::send_receive(runtime, c, out, destination, send_tag, in, source, receive_tag, status);
      },
      library);
}

// A send is complete as soon as it is buffered, so the request of both is that of the receive.
template <typename Library>
[[maybe_unused]] int isend_receive_entry(const TypedBuffer& out, int destination, int send_tag, const TypedBuffer& in,
                                         int source, int receive_tag, MPI_Comm comm, MPI_Request* request,
                                         Library library) {
  return dispatch_request_on(
      comm,
      [&](const mpi::Communicator& c) { return check_both(c, out, destination, send_tag, in, source, receive_tag); },
      [&](Runtime& runtime, const CommunicatorRef& c) {
        mpi::send(runtime, c, out, destination, send_tag, SendMode::buffered);
        mpi::Request& made = runtime.requests.create();
        start_receive(runtime, made, c, in, source, receive_tag);
        *request = made.handle;
        return MPI_SUCCESS;
      },
      library, request);
}

// A message that a probe has taken out; of Spillway's, or of the library's.
template <typename Library>
int mrecv_entry(const TypedBuffer& buffer, MPI_Message* message, MPI_Status* status, Library library) {
  bool is_ours = true;
  const auto ours = [&](Runtime& runtime) {
    mpi::Request request;
    is_ours = mpi::take_message(runtime, message, buffer, request);
    if (!is_ours) return MPI_SUCCESS;
    mpi::complete(runtime, request);
    mpi::set_status(status, request.outcome);
    return mpi::raise(request.communicator, request.outcome.error);
  };
  const int code = dispatch(ours, library);
  if (is_ours) return code;
  DelegatedBlocking call("MPI_Mrecv");
  return library();
}

template <typename Library>
int imrecv_entry(const TypedBuffer& buffer, MPI_Message* message, MPI_Request* request, Library library) {
  bool is_ours = true;
  const auto ours = [&](Runtime& runtime) {
    mpi::Request& made = runtime.requests.create();
    made.type = mpi::DatatypeHold(buffer.type);
    is_ours = mpi::take_message(runtime, message, TypedBuffer{buffer.address, buffer.count, made.type.type()}, made);
    if (is_ours)
      *request = made.handle;
    else
      runtime.requests.remove(made);
    return MPI_SUCCESS;
  };
  const int code = dispatch(ours, library);
  if (is_ours) return code;
  DelegatedRequest call("MPI_Imrecv");
  const int library_code = library();
  call.started(library_code, request);
  return library_code;
}

}  // namespace
}  // namespace spillway::interpose

using namespace spillway::interpose;

#define DEFINE_SEND(NAME, MODE)                                                                              \
  SPILLWAY_ENTRY int MPI_##NAME(const void* buf, SPILLWAY_COUNT count, MPI_Datatype type, int dest, int tag, \
                                MPI_Comm comm) {                                                             \
    return send_entry(input_buffer(buf, count, type), dest, tag, comm, SendMode::MODE,                       \
                      [&] { return PMPI_##NAME(buf, count, type, dest, tag, comm); });                       \
  }
#define DEFINE_ISEND(NAME, MODE)                                                                             \
  SPILLWAY_ENTRY int MPI_##NAME(const void* buf, SPILLWAY_COUNT count, MPI_Datatype type, int dest, int tag, \
                                MPI_Comm comm, MPI_Request* request) {                                       \
    return isend_entry(input_buffer(buf, count, type), dest, tag, comm, SendMode::MODE, request,             \
                       [&] { return PMPI_##NAME(buf, count, type, dest, tag, comm, request); });             \
  }
#define DEFINE_RECEIVES(SUFFIX, COUNT, DISPLACEMENT)                                                                  \
  SPILLWAY_ENTRY int MPI_Recv##SUFFIX(void* buf, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm,  \
                                      MPI_Status* status) {                                                           \
    return receive_entry(TypedBuffer{buf, count, type}, source, tag, comm, status,                                    \
                         [&] { return PMPI_Recv##SUFFIX(buf, count, type, source, tag, comm, status); });             \
  }                                                                                                                   \
  SPILLWAY_ENTRY int MPI_Irecv##SUFFIX(void* buf, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm, \
                                       MPI_Request* request) {                                                        \
    return ireceive_entry(TypedBuffer{buf, count, type}, source, tag, comm, request,                                  \
                          [&] { return PMPI_Irecv##SUFFIX(buf, count, type, source, tag, comm, request); });          \
  }                                                                                                                   \
  SPILLWAY_ENTRY int MPI_Sendrecv##SUFFIX(const void* out, COUNT out_count, MPI_Datatype out_type, int dest,          \
                                          int send_tag, void* in, COUNT in_count, MPI_Datatype in_type, int source,   \
                                          int receive_tag, MPI_Comm comm, MPI_Status* status) {                       \
    return send_receive_entry(input_buffer(out, out_count, out_type), dest, send_tag,                                 \
                              TypedBuffer{in, in_count, in_type}, source, receive_tag, comm, status, [&] {            \
                                return PMPI_Sendrecv##SUFFIX(out, out_count, out_type, dest, send_tag, in, in_count,  \
                                                             in_type, source, receive_tag, comm, status);             \
                              });                                                                                     \
  }                                                                                                                   \
  SPILLWAY_ENTRY int MPI_Sendrecv_replace##SUFFIX(void* buf, COUNT count, MPI_Datatype type, int dest, int send_tag,  \
                                                  int source, int receive_tag, MPI_Comm comm, MPI_Status* status) {   \
    const TypedBuffer buffer{buf, count, type};                                                                       \
    return send_receive_entry(buffer, dest, send_tag, buffer, source, receive_tag, comm, status, [&] {                \
      return PMPI_Sendrecv_replace##SUFFIX(buf, count, type, dest, send_tag, source, receive_tag, comm, status);      \
    });                                                                                                               \
  }                                                                                                                   \
  SPILLWAY_ENTRY int MPI_Mrecv##SUFFIX(void* buf, COUNT count, MPI_Datatype type, MPI_Message* message,               \
                                       MPI_Status* status) {                                                          \
    return mrecv_entry(TypedBuffer{buf, count, type}, message, status,                                                \
                       [&] { return PMPI_Mrecv##SUFFIX(buf, count, type, message, status); });                        \
  }                                                                                                                   \
  SPILLWAY_ENTRY int MPI_Imrecv##SUFFIX(void* buf, COUNT count, MPI_Datatype type, MPI_Message* message,              \
                                        MPI_Request* request) {                                                       \
    return imrecv_entry(TypedBuffer{buf, count, type}, message, request,                                              \
                        [&] { return PMPI_Imrecv##SUFFIX(buf, count, type, message, request); });                     \
  }

#define SPILLWAY_COUNT int
DEFINE_SEND(Send, buffered)
DEFINE_SEND(Bsend, buffered)
DEFINE_SEND(Rsend, buffered)
DEFINE_SEND(Ssend, synchronous)
DEFINE_ISEND(Isend, buffered)
DEFINE_ISEND(Ibsend, buffered)
DEFINE_ISEND(Irsend, buffered)
DEFINE_ISEND(Issend, synchronous)
#undef SPILLWAY_COUNT
#ifdef PMPI_Send_c
#define SPILLWAY_COUNT MPI_Count
DEFINE_SEND(Send_c, buffered)
DEFINE_SEND(Bsend_c, buffered)
DEFINE_SEND(Rsend_c, buffered)
DEFINE_SEND(Ssend_c, synchronous)
DEFINE_ISEND(Isend_c, buffered)
DEFINE_ISEND(Ibsend_c, buffered)
DEFINE_ISEND(Irsend_c, buffered)
DEFINE_ISEND(Issend_c, synchronous)
#undef SPILLWAY_COUNT
#endif
SPILLWAY_DEFINE_BOTH(DEFINE_RECEIVES)

#ifdef PMPI_Isendrecv
#define DEFINE_ISENDRECV(SUFFIX, COUNT, DISPLACEMENT)                                                                  \
  SPILLWAY_ENTRY int MPI_Isendrecv##SUFFIX(const void* out, COUNT out_count, MPI_Datatype out_type, int dest,          \
                                           int send_tag, void* in, COUNT in_count, MPI_Datatype in_type, int source,   \
                                           int receive_tag, MPI_Comm comm, MPI_Request* request) {                     \
    return isend_receive_entry(input_buffer(out, out_count, out_type), dest, send_tag,                                 \
                               TypedBuffer{in, in_count, in_type}, source, receive_tag, comm, request, [&] {           \
                                 return PMPI_Isendrecv##SUFFIX(out, out_count, out_type, dest, send_tag, in, in_count, \
                                                               in_type, source, receive_tag, comm, request);           \
                               });                                                                                     \
  }                                                                                                                    \
  SPILLWAY_ENTRY int MPI_Isendrecv_replace##SUFFIX(void* buf, COUNT count, MPI_Datatype type, int dest, int send_tag,  \
                                                   int source, int receive_tag, MPI_Comm comm, MPI_Request* request) { \
    const TypedBuffer buffer{buf, count, type};                                                                        \
    return isend_receive_entry(buffer, dest, send_tag, buffer, source, receive_tag, comm, request, [&] {               \
      return PMPI_Isendrecv_replace##SUFFIX(buf, count, type, dest, send_tag, source, receive_tag, comm, request);     \
    });                                                                                                                \
  }
SPILLWAY_DEFINE_BOTH(DEFINE_ISENDRECV)
#endif

SPILLWAY_ENTRY int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  return dispatch_on(
      comm, [&](const spillway::mpi::Communicator& c) { return spillway::mpi::check_match(c, source, tag); },
      [&](Runtime& runtime, const CommunicatorRef& c) { return spillway::mpi::probe(runtime, c, source, tag, status); },
      [&] { return PMPI_Probe(source, tag, comm, status); });
}

SPILLWAY_ENTRY int MPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  return dispatch_on(
      comm, [&](const spillway::mpi::Communicator& c) { return spillway::mpi::check_match(c, source, tag); },
      [&](Runtime& runtime, const CommunicatorRef& c) {
        return spillway::mpi::probe_now(runtime, c, source, tag, flag, status);
      },
      [&] { return PMPI_Iprobe(source, tag, comm, flag, status); });
}

SPILLWAY_ENTRY int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  return dispatch_on(
      comm, [&](const spillway::mpi::Communicator& c) { return spillway::mpi::check_match(c, source, tag); },
      [&](Runtime& runtime, const CommunicatorRef& c) {
        return spillway::mpi::matched_probe(runtime, c, source, tag, message, status);
      },
      [&] { return PMPI_Mprobe(source, tag, comm, message, status); });
}

SPILLWAY_ENTRY int MPI_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                               MPI_Status* status) {
  return dispatch_on(
      comm, [&](const spillway::mpi::Communicator& c) { return spillway::mpi::check_match(c, source, tag); },
      [&](Runtime& runtime, const CommunicatorRef& c) {
        return spillway::mpi::matched_probe_now(runtime, c, source, tag, flag, message, status);
      },
      [&] { return PMPI_Improbe(source, tag, comm, flag, message, status); });
}
