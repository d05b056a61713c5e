// Requests of Spillway's own operations, behind real MPI_Request handles.
//
// A handle is a generalized request of the MPI library, so it is valid wherever the program hands it, and cannot be
// confused with the library's own requests. Handles are kept and used again: making a request costs a table look-up.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "memory/overwrites.h"
#include "message/matching.h"
#include "mpi/collective_operation.h"
#include "mpi/communicator.h"
#include "mpi/promised_communicator.h"
#include "mpi/typed_buffer.h"

namespace spillway::mpi {

// What MPI_Status tells.
struct Outcome {
  int source = MPI_ANY_SOURCE;
  int tag = MPI_ANY_TAG;
  int error = MPI_SUCCESS;
  uint64_t bytes = 0;
  bool cancelled = false;
};

enum class SendMode : uint8_t { buffered, synchronous };

struct Request {
  enum class Kind : uint8_t { send, receive, collective };

  Kind kind = Kind::send;
  bool is_persistent = false;
  bool is_active = true;     // false only for a persistent request that is not started
  bool is_complete = false;  // outcome is final
  SendMode mode = SendMode::buffered;
  uint32_t token = 0;  // of a synchronous send
  TypedBuffer buffer;
  DatatypeHold type;
  CommunicatorRef communicator;
  int peer = MPI_PROC_NULL;
  int tag = 0;
  message::PostedReceive posted;
  memory::Overwrite overwrite;  // of a receive that waits
  // Of a collective operation: begins it, and keeps what it needs of the program's arguments until the request ends.
  std::function<std::unique_ptr<CollectiveOperation>()> begin;
  std::unique_ptr<CollectiveOperation> operation;  // that has begun and not ended
  Outcome outcome;
  MPI_Request handle = MPI_REQUEST_NULL;
};

// A request of the MPI library that went through our hands. The library may give one handle to several operations that
// were complete at once, so it stands for a number of them.
struct LibraryRequest {
  bool is_persistent = false;
  int active_count = 0;  // in flight: the rank's memory is pinned once for each
  std::vector<PromisedCommunicator> promised;

  bool is_active() const { return active_count > 0; }
};

class RequestTable {
 public:
  // A new request with a handle.
  Request& create();

  // nullptr for a handle of the MPI library, and for MPI_REQUEST_NULL.
  Request* find(MPI_Request handle);

  // False for MPI_REQUEST_NULL and for persistent requests that are not started, of ours and of the library's: there is
  // nothing to wait for.
  bool is_active(MPI_Request handle);

  // The request's life ends; its handle is kept for the next one.
  void remove(Request& request);

  // The program has given up an active request (MPI_Request_free): it lives until it is complete.
  void orphan(Request& request);
  std::vector<std::unique_ptr<Request>>& orphans() { return orphans_; }

  std::unordered_map<uint64_t, LibraryRequest>& library() { return library_; }

  // Returns the handles to the MPI library; before MPI_Finalize.
  void release_handles();

 private:
  std::unordered_map<uint64_t, std::unique_ptr<Request>> live_;
  std::vector<MPI_Request> idle_handles_;
  std::vector<std::unique_ptr<Request>> orphans_;
  std::unordered_map<uint64_t, LibraryRequest> library_;
};

// Fills the program's status, unless it is MPI_STATUS_IGNORE. The error field is written only if `with_error`
// (MPI 4.1, 3.2.5).
void set_status(MPI_Status* status, const Outcome& outcome, bool with_error = false);

// What MPI_PROC_NULL gives.
Outcome null_process_outcome();

}  // namespace spillway::mpi
