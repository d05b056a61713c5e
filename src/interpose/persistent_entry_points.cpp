// Entry points of persistent point-to-point communication (MPI 4.1, 3.9), and of the buffer of buffered sends (3.6),
// which Spillway has no need of: every send is buffered.
#include "interpose/entry.h"
#include "mpi/completion.h"
#include "mpi/point_to_point.h"

namespace spillway::interpose {
namespace {

template <typename Library>
int send_init_entry(const TypedBuffer& buffer, int destination, int tag, MPI_Comm comm, mpi::SendMode mode,
                    MPI_Request* request, Library library) {
  return dispatch_request_on(
      comm, [&](const mpi::Communicator& c) { return mpi::check_send(c, buffer, destination, tag); },
      [&](Runtime& runtime, const CommunicatorRef& c) {
        mpi::Request& made = runtime.requests.create();
        made.is_persistent = true;
        made.is_active = false;
        made.type = mpi::DatatypeHold(buffer.type);
        mpi::prepare_send(made, c, TypedBuffer{buffer.address, buffer.count, made.type.type()}, destination, tag, mode);
        *request = made.handle;
        return MPI_SUCCESS;
      },
      library, request, true);
}

template <typename Library>
int receive_init_entry(const TypedBuffer& buffer, int source, int tag, MPI_Comm comm, MPI_Request* request,
                       Library library) {
  return dispatch_request_on(
      comm, [&](const mpi::Communicator& c) { return mpi::check_receive(c, buffer, source, tag); },
      [&](Runtime& runtime, const CommunicatorRef& c) {
        mpi::Request& made = runtime.requests.create();
        made.is_persistent = true;
        made.is_active = false;
        made.type = mpi::DatatypeHold(buffer.type);
        mpi::prepare_receive(made, c, TypedBuffer{buffer.address, buffer.count, made.type.type()}, source, tag);
        *request = made.handle;
        return MPI_SUCCESS;
      },
      library, request, true);
}

}  // namespace
}  // namespace spillway::interpose

using namespace spillway::interpose;
namespace mpi = spillway::mpi;

#define DEFINE_SEND_INIT(NAME, SUFFIX, COUNT, MODE)                                                                 \
  SPILLWAY_ENTRY int MPI_##NAME##_init##SUFFIX(const void* buf, COUNT count, MPI_Datatype type, int dest, int tag,  \
                                               MPI_Comm comm, MPI_Request* request) {                               \
    return send_init_entry(input_buffer(buf, count, type), dest, tag, comm, mpi::SendMode::MODE, request,           \
                           [&] { return PMPI_##NAME##_init##SUFFIX(buf, count, type, dest, tag, comm, request); }); \
  }
#define DEFINE_INITS(SUFFIX, COUNT, DISPLACEMENT)                                                                    \
  DEFINE_SEND_INIT(Send, SUFFIX, COUNT, buffered)                                                                    \
  DEFINE_SEND_INIT(Bsend, SUFFIX, COUNT, buffered)                                                                   \
  DEFINE_SEND_INIT(Rsend, SUFFIX, COUNT, buffered)                                                                   \
  DEFINE_SEND_INIT(Ssend, SUFFIX, COUNT, synchronous)                                                                \
  SPILLWAY_ENTRY int MPI_Recv_init##SUFFIX(void* buf, COUNT count, MPI_Datatype type, int source, int tag,           \
                                           MPI_Comm comm, MPI_Request* request) {                                    \
    return receive_init_entry(TypedBuffer{buf, count, type}, source, tag, comm, request,                             \
                              [&] { return PMPI_Recv_init##SUFFIX(buf, count, type, source, tag, comm, request); }); \
  }                                                                                                                  \
  SPILLWAY_ENTRY int MPI_Buffer_attach##SUFFIX(void* buffer, COUNT size) {                                           \
    return PMPI_Buffer_attach##SUFFIX(buffer, size);                                                                 \
  }                                                                                                                  \
  SPILLWAY_ENTRY int MPI_Buffer_detach##SUFFIX(void* buffer_addr, COUNT* size) {                                     \
    return PMPI_Buffer_detach##SUFFIX(buffer_addr, size);                                                            \
  }
SPILLWAY_DEFINE_BOTH(DEFINE_INITS)

SPILLWAY_ENTRY int MPI_Start(MPI_Request* request) {
  return dispatch([&](Runtime& runtime) { return mpi::start_persistent(runtime, request); },
                  [&] { return PMPI_Start(request); });
}

SPILLWAY_ENTRY int MPI_Startall(int count, MPI_Request requests[]) {
  return dispatch(
      [&](Runtime& runtime) {
        int result = MPI_SUCCESS;
        for (int i = 0; i < count && result == MPI_SUCCESS; ++i) result = mpi::start_persistent(runtime, &requests[i]);
        return result;
      },
      [&] { return PMPI_Startall(count, requests); });
}
