// Calls generated entry points of each form and prints, in order, what they did: the classes of delegated_call.h and
// the library's functions behind them are replaced here by ones that only print. No MPI library takes part.
#include <mpi.h>

#include <cstdint>
#include <cstdio>

#include "interpose/delegated_call.h"

namespace {

// Handles are ints in MPICH and pointers in Open MPI. None of these is ever used as one.
template <typename Handle>
Handle made_up_handle(uintptr_t number) {
  return (Handle)number;
}

const MPI_Comm kOldComm = made_up_handle<MPI_Comm>(11);
const MPI_Comm kNewComm = made_up_handle<MPI_Comm>(12);
const MPI_Comm kTurnsComm = made_up_handle<MPI_Comm>(18);  // where ranks take turns
const MPI_Group kGroup = made_up_handle<MPI_Group>(13);
const MPI_Request kRequest = made_up_handle<MPI_Request>(14);
const MPI_Win kWindow = made_up_handle<MPI_Win>(15);
const MPI_Datatype kType = made_up_handle<MPI_Datatype>(17);
const MPI_File kFile = made_up_handle<MPI_File>(16);
constexpr int kFailure = 77;

char one_byte = 0;
char* const memory_of_window = &one_byte;

const char* name_of_window(MPI_Win win) { return win == kWindow ? "window" : "wrong"; }

const char* name_of(MPI_Comm comm) {
  if (comm == kTurnsComm) return "turns";
  return comm == kOldComm ? "old" : comm == kNewComm ? "new" : comm == MPI_COMM_NULL ? "null" : "wrong";
}

void print_created(int code, MPI_Comm* newcomm, MPI_Comm over) {
  std::printf(" created(%d,%s,%s)", code, name_of(*newcomm), name_of(over));
}

const char* name_of_request(const MPI_Request* request) { return *request == kRequest ? "request" : "wrong"; }

}  // namespace

namespace spillway::mpi {
CallLock::CallLock(bool) : is_held_(false) {}
void CallLock::release() {}
}  // namespace spillway::mpi

namespace spillway::interpose {

// Members of the classes below; which of them prints is enough to see the order.
constinit SPILLWAY_STATIC_TLS int internal::unmanaged_depth = 0;
LibraryCall::LibraryCall() : runtime_(nullptr), lock_(false) {}
LibraryCall::~LibraryCall() = default;

DelegatedCollective::DelegatedCollective(const char* function, MPI_Comm over) {
  std::printf("%s: gather(%s)", function, name_of(over));
  must_take_turns_ = over == kTurnsComm;
}
DelegatedCollective::DelegatedCollective(const char* function, OverGroup over) {
  std::printf("%s: gather(%s)", function, over.group == kGroup ? "group" : "wrong");
}
DelegatedCollective::DelegatedCollective(const char* function, OverFile over) {
  std::printf("%s: gather(%s)", function, over.file == kFile ? "file" : "wrong");
}
DelegatedCollective::DelegatedCollective(const char* function, OverFile over, const void* buffer, MPI_Count count,
                                         MPI_Datatype type) {
  std::printf("%s: gather(%s,%d,%d,%d)", function, over.file == kFile ? "file" : "wrong", buffer == memory_of_window,
              static_cast<int>(count), type == kType);
}
DelegatedCollective::DelegatedCollective(const char* function, OverWindow over) {
  std::printf("%s: gather(%s)", function, name_of_window(over.window));
}
DelegatedCollective::~DelegatedCollective() { std::printf(" leave"); }
int DelegatedCollective::wait_in_turns(int code, MPI_Request* request) {
  std::printf(" waited(%d,%s)", code, name_of_request(request));
  return code;
}
void DelegatedCollective::created(int code, MPI_Comm* newcomm, MPI_Comm over) { print_created(code, newcomm, over); }
void DelegatedCollective::opened(int code) { std::printf(" opened(%d)", code); }
void DelegatedCollective::closed(int code) { std::printf(" closed(%d)", code); }
void DelegatedCollective::window_made(int code, const MPI_Win* win, const void* base, MPI_Aint bytes) {
  std::printf(" made(%d,%s,%d,%d)", code, name_of_window(*win), base == memory_of_window, static_cast<int>(bytes));
}
void DelegatedCollective::window_leaves(const MPI_Win* win) { std::printf(" leaves(%s)", name_of_window(*win)); }
void DelegatedCollective::window_has_left(int code) { std::printf(" left(%d)", code); }
void DelegatedCollective::operations_complete() { std::printf(" complete"); }
void DelegatedCollective::operations_have_completed(int code, MPI_Win win) {
  std::printf(" completed(%d,%s)", code, name_of_window(win));
}

DelegatedBlocking::DelegatedBlocking(const char* function) { std::printf("%s: block", function); }
DelegatedBlocking::~DelegatedBlocking() { std::printf(" leave"); }
void DelegatedBlocking::window_attached(int code, MPI_Win win, const void* base, MPI_Aint bytes) {
  std::printf(" attached(%d,%s,%d,%d)", code, name_of_window(win), base == memory_of_window, static_cast<int>(bytes));
}
void DelegatedBlocking::window_detached(int code, MPI_Win win, const void* base) {
  std::printf(" detached(%d,%s,%d)", code, name_of_window(win), base == memory_of_window);
}
void DelegatedBlocking::operation_begun(int code, MPI_Win win, int target, const void* address, MPI_Count count,
                                        MPI_Datatype type) {
  std::printf(" begun(%d,%s,%d,%d,%d,%d)", code, name_of_window(win), target, address == memory_of_window,
              static_cast<int>(count), type == kType);
}
void DelegatedBlocking::operations_complete() { std::printf(" complete"); }
void DelegatedBlocking::operations_have_completed(int code, MPI_Win win, int target) {
  std::printf(" completed(%d,%s,%d)", code, name_of_window(win), target);
}
void DelegatedBlocking::operations_have_completed(int code, MPI_Win win) {
  std::printf(" completed(%d,%s)", code, name_of_window(win));
}

DelegatedRequest::DelegatedRequest(const char* function) : runtime_(nullptr) { std::printf("%s: request", function); }
DelegatedRequest::~DelegatedRequest() { std::printf(" leave"); }
void DelegatedRequest::started(int code, MPI_Request* request) {
  std::printf(" started(%d,%s)", code, name_of_request(request));
}
void DelegatedRequest::prepared(int code, MPI_Request* request) {
  std::printf(" prepared(%d,%s)", code, name_of_request(request));
}
void DelegatedRequest::created(int code, MPI_Comm* newcomm, MPI_Comm over) { print_created(code, newcomm, over); }

}  // namespace spillway::interpose

namespace {

// Stands for a function of the library that makes a communicator, a request, or both.
int library_call(MPI_Comm* newcomm, MPI_Request* request, int code = MPI_SUCCESS) {
  std::printf(" library");
  if (newcomm) *newcomm = kNewComm;
  if (request) *request = kRequest;
  return code;
}

}  // namespace

extern "C" {
int PMPI_Comm_dup(MPI_Comm, MPI_Comm* newcomm) { return library_call(newcomm, nullptr); }
int PMPI_Comm_create_group(MPI_Comm, MPI_Group, int, MPI_Comm* newcomm) { return library_call(newcomm, nullptr); }
int PMPI_Comm_join(int, MPI_Comm* intercomm) { return library_call(intercomm, nullptr); }
int PMPI_Comm_idup(MPI_Comm, MPI_Comm* newcomm, MPI_Request* request) { return library_call(newcomm, request); }
int PMPI_File_iread(MPI_File, void*, int, MPI_Datatype, MPI_Request* request) { return library_call(nullptr, request); }
int PMPI_File_sync(MPI_File) { return library_call(nullptr, nullptr); }
int PMPI_File_read_all_begin(MPI_File, void*, int, MPI_Datatype) { return library_call(nullptr, nullptr); }
int PMPI_File_read_all_end(MPI_File, void*, MPI_Status*) { return library_call(nullptr, nullptr); }
int PMPI_File_close(MPI_File* file) { return library_call(nullptr, nullptr, *file == kFile ? kFailure : 0); }
int PMPI_Win_create_dynamic(MPI_Info, MPI_Comm, MPI_Win* win) {
  *win = kWindow;
  return library_call(nullptr, nullptr);
}
int PMPI_Win_free(MPI_Win*) { return library_call(nullptr, nullptr, kFailure); }
int PMPI_Win_fence(int, MPI_Win) { return library_call(nullptr, nullptr); }
int PMPI_Win_create(void*, MPI_Aint, int, MPI_Info, MPI_Comm, MPI_Win* win) {
  *win = kWindow;
  return library_call(nullptr, nullptr);
}
int PMPI_Neighbor_allgather(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm) {
  return library_call(nullptr, nullptr);
}
int PMPI_Ineighbor_allgather(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Request* request) {
  return library_call(nullptr, request);
}
int PMPI_Win_attach(MPI_Win, void*, MPI_Aint) { return library_call(nullptr, nullptr); }
int PMPI_Win_detach(MPI_Win, const void*) { return library_call(nullptr, nullptr); }
int PMPI_Put(const void*, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Win) {
  return library_call(nullptr, nullptr);
}
int PMPI_Fetch_and_op(const void*, void*, MPI_Datatype, int, MPI_Aint, MPI_Op, MPI_Win) {
  return library_call(nullptr, nullptr);
}
int PMPI_Win_flush_all(MPI_Win) { return library_call(nullptr, nullptr); }
int PMPI_Win_test(MPI_Win, int* flag) {
  static int calls = 0;
  *flag = ++calls == 2;
  return library_call(nullptr, nullptr, 0);
}
int PMPI_Win_flush(int, MPI_Win window) { return library_call(nullptr, nullptr, window == kWindow ? kFailure : 0); }
#ifdef HAS_MPI_4  // this mpi.h declares them
int PMPI_Precv_init(void*, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request* request) {
  return library_call(nullptr, request);
}
#endif
}

int main() {
  MPI_Comm new_comm = MPI_COMM_NULL;
  MPI_Request request{};
  std::printf(" -> %d\n", MPI_Comm_dup(kOldComm, &new_comm));
  std::printf(" -> %d\n", MPI_Comm_create_group(kOldComm, kGroup, 0, &new_comm));
  std::printf(" -> %d\n", MPI_Comm_join(0, &new_comm));
  std::printf(" -> %d\n", MPI_Comm_idup(kOldComm, &new_comm, &request));
  std::printf(" -> %d\n", MPI_File_iread(kFile, nullptr, 0, kType, &request));
  std::printf(" -> %d\n", MPI_File_sync(kFile));
  std::printf(" -> %d\n", MPI_File_read_all_begin(kFile, memory_of_window, 6, kType));
  std::printf(" -> %d\n", MPI_File_read_all_end(kFile, nullptr, nullptr));
  MPI_File file = kFile;
  std::printf(" -> %d\n", MPI_File_close(&file));
  MPI_Win window = kWindow;
  std::printf(" -> %d\n", MPI_Win_create_dynamic(MPI_INFO_NULL, kOldComm, &window));
  std::printf(" -> %d\n", MPI_Win_create(memory_of_window, 8, 1, MPI_INFO_NULL, kOldComm, &window));
  std::printf(" -> %d\n", MPI_Win_attach(kWindow, memory_of_window, 8));
  std::printf(" -> %d\n", MPI_Win_detach(kWindow, memory_of_window));
  std::printf(" -> %d\n", MPI_Put(memory_of_window, 3, kType, 5, 0, 0, kType, kWindow));
  std::printf(" -> %d\n", MPI_Fetch_and_op(nullptr, memory_of_window, kType, 5, 0, MPI_SUM, kWindow));
  int flag = 0;
  const int tested = MPI_Win_test(kWindow, &flag);
  std::printf(" found(%d) -> %d\n", flag, tested);
  std::printf(" -> %d\n", MPI_Win_free(&window));
  std::printf(" -> %d\n", MPI_Win_fence(0, kWindow));
  std::printf(" -> %d\n", MPI_Win_flush(5, kWindow));
  std::printf(" -> %d\n", MPI_Win_flush_all(kWindow));
  for (MPI_Comm comm : {kOldComm, kTurnsComm})
    std::printf(" -> %d\n", MPI_Neighbor_allgather(memory_of_window, 1, kType, memory_of_window, 1, kType, comm));
#ifdef HAS_MPI_4  // this mpi.h declares them
  std::printf(" -> %d\n", MPI_Precv_init(nullptr, 0, 0, kType, 0, 0, kOldComm, MPI_INFO_NULL, &request));
#endif
  return 0;
}
