// What a generated entry point does around a call that the MPI library itself carries out.
//
// MPI libraries wait by spinning. A rank that waits in the library with a slot in its hand would starve the rank that
// it waits for, so every call that may wait for another rank passes through one of the three classes below: the
// constructor gets the rank ready to wait (and may sleep), the destructor takes a slot again. Calls that wait for
// nobody are not interposed at all. Which call is of which kind is said once, in library/functions/mpi_functions.csv,
// from which generate_entry_points.py beside it writes the entry points; none of them is written by hand.
//
//   DelegatedCollective   all ranks of a group take part. They gather asleep and enter the library at once.
//   DelegatedBlocking     waits for some other rank, alone. No slot during the call.
//   DelegatedRequest      returns at once, with a request of the library's that a later wait or test completes.
//
// All three may be made before MPI_Init and after MPI_Finalize, where a wrong program calls them and the library is
// to report it, and on invalid handles, for the same reason. They never throw: they stand right behind a C boundary.
//
// They nest: parts of MPI libraries call the exported MPI_ names themselves (ROMIO in Open MPI 4.1: MPI_Win_lock,
// MPI_Put, MPI_Ialltoall), so an inner one finds the rank without a slot already and leaves it so.
#pragma once

#include <mpi.h>

#include "interpose/managed_memory.h"
#include "mpi/call_lock.h"
#include "mpi/promised_communicator.h"
#include "node/segment_layout.h"

namespace spillway::mpi {
class Runtime;
}

namespace spillway::interpose {

// The part that calls have in common which may wait in the library: no slot, and the library's allocations are its own.
class LibraryCall {
 public:
  LibraryCall();
  ~LibraryCall();
  LibraryCall(const LibraryCall&) = delete;
  LibraryCall& operator=(const LibraryCall&) = delete;

  // nullptr when the call is not Spillway's concern: no job, or a call that the library makes for itself.
  mpi::Runtime* runtime() { return runtime_; }

  // Gives the slot up; the destructor takes one again.
  void leave_slot(node::RankState state);

  // The rank's own part is done, the library's begins: nobody may ask the rank for room, and its other threads may call
  // MPI.
  void enter_library();

  // The call returned `code`; on success *newcomm is a communicator, or MPI_COMM_NULL.
  void created(int code, MPI_Comm* newcomm);

  // Tells the rank's windows (mpi/windows.h) of the call, before the library's part or after it.
  template <typename Tell>
  void tell_windows(Tell tell);

 private:
  mpi::Runtime* runtime_;
  mpi::CallLock lock_;
  UnmanagedScope unmanaged_;
  bool is_away_ = false;
};

// In MPICH every handle is an int: this type keeps a group apart from a communicator.
struct OverGroup {
  MPI_Group group;
};

// The ranks that have opened a file together.
struct OverFile {
  explicit OverFile(MPI_File handle) : file(handle) {}
  explicit OverFile(const MPI_File* handle) : file(handle != nullptr ? *handle : MPI_FILE_NULL) {}
  MPI_File file;
};

// The ranks that have a window together.
struct OverWindow {
  explicit OverWindow(MPI_Win handle) : window(handle) {}
  explicit OverWindow(const MPI_Win* handle) : window(handle != nullptr ? *handle : MPI_Win{}) {}
  MPI_Win window;
};

class DelegatedCollective {
 public:
  // Gathers the ranks of `over`, of an intercommunicator: of both groups, before the call.
  DelegatedCollective(const char* function, MPI_Comm over);
  // Gathers the members of `over` only: other ranks of the communicator do not make this call.
  DelegatedCollective(const char* function, OverGroup over);
  // Gathers those who have opened the file.
  DelegatedCollective(const char* function, OverFile over);
  // The same for a call with a buffer of `count` elements. The library moves data between all ranks, so the buffers of
  // all are in memory during the call: each stays from when its rank has come, and the rest of the rank's memory makes
  // room for those who have not.
  DelegatedCollective(const char* function, OverFile over, const void* buffer, MPI_Count count, MPI_Datatype type);
  // Gathers those who have made the window. The library moves messages between all of them, so what is in memory of all
  // during the call is no more than it uses.
  DelegatedCollective(const char* function, OverWindow over);
  ~DelegatedCollective();
  DelegatedCollective(const DelegatedCollective&) = delete;
  DelegatedCollective& operator=(const DelegatedCollective&) = delete;

  // Whether the ranks would spin in the call, all of them: it is to be made in its form that does not wait, if it has
  // one. Not so on intercommunicators: MPICH's broadcast without waiting takes a wrong root there.
  bool must_take_turns() const { return must_take_turns_; }

  // That form has been called, and returned `code`. Waits, and returns the code of it all.
  int wait_in_turns(int code, MPI_Request* request);

  // The call returned `code`. On success *newcomm is a communicator made from `over` (MPI_COMM_NULL: made from a
  // group), or MPI_COMM_NULL where this rank is no member. What is made from one that Spillway does not follow, it does
  // not follow either: MPICH 4.0 takes the processes of others that are in it for ranks of the job.
  void created(int code, MPI_Comm* newcomm, MPI_Comm over);

  // The call returned `code`. On success the library may use this rank's memory until another call has closed what this
  // one has opened: meanwhile the memory stays where it is, and the rank plays the library's part in it while it
  // sleeps. A file has one such operation at a time, which is closed with success or without.
  void opened(int code);
  void closed(int code);

  // The call returned `code`. On success *win is a window with this memory.
  void window_made(int code, const MPI_Win* win, const void* base, MPI_Aint bytes);

  // The call is about to free the window, or to complete all operations that this rank has begun on it; then, it
  // returned `code`.
  void window_leaves(const MPI_Win* win);
  void window_has_left(int code);
  void operations_complete();
  void operations_have_completed(int code, MPI_Win win);

 private:
  void gather_file(const char* function, MPI_File file);

  LibraryCall call_;
  bool must_take_turns_ = false;
  uint64_t file_ = 0;    // the handle's value
  uint64_t lent_ = 0;    // buffer: its number
  uint64_t window_ = 0;  // that is being freed: its number
  uint64_t begun_ = 0;   // operations that are being completed: their number
};

class DelegatedBlocking {
 public:
  explicit DelegatedBlocking(const char* function);
  ~DelegatedBlocking();
  DelegatedBlocking(const DelegatedBlocking&) = delete;
  DelegatedBlocking& operator=(const DelegatedBlocking&) = delete;

  // The call returned `code`. On success the window has this memory too, or no longer; or an operation on rank `target`
  // of it has begun, whose buffer is in use until it is complete.
  void window_attached(int code, MPI_Win win, const void* base, MPI_Aint bytes);
  void window_detached(int code, MPI_Win win, const void* base);
  void operation_begun(int code, MPI_Win win, int target, const void* address, MPI_Count count, MPI_Datatype type);

  // The call is about to complete the operations that this rank has begun on one rank, or on all; then, it returned
  // `code`.
  void operations_complete();
  void operations_have_completed(int code, MPI_Win win, int target);
  void operations_have_completed(int code, MPI_Win win);

 private:
  LibraryCall call_;
  uint64_t begun_ = 0;
};

class DelegatedRequest {
 public:
  explicit DelegatedRequest(const char* function);
  ~DelegatedRequest();
  DelegatedRequest(const DelegatedRequest&) = delete;
  DelegatedRequest& operator=(const DelegatedRequest&) = delete;

  // The call returned `code`. On success *request is active: its buffers are in use until it completes.
  void started(int code, MPI_Request* request);
  // The call returned `code`. On success *request is persistent and inactive; MPI_Start starts it.
  void prepared(int code, MPI_Request* request);
  // MPI_Comm_idup and its like, called before `started`: *newcomm is not usable before the request has completed.
  void created(int code, MPI_Comm* newcomm, MPI_Comm over);

 private:
  mpi::Runtime* runtime_;  // nullptr when the call is not Spillway's concern; before unmanaged_, which hides that
  UnmanagedScope unmanaged_;
  mpi::PromisedCommunicator promised_;
  bool has_started_ = false;  // the request keeps the rank's memory where it is from here on
};

}  // namespace spillway::interpose
