#include "pgas/symmetric_heap.h"

#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <string_view>

#include "pgas/failure.h"

namespace spillway::pgas {
namespace {

constexpr const char* kSharedMemory = "/dev/shm";
constexpr uint64_t kPage = SymmetricHeap::kMostAlignment;

// Where a heap begins in a part that the MPI library has shared: the same place for all who map it, whole pages apart.
char* first_page(char* shared) {
  return reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(shared) + kPage - 1) & ~(kPage - 1));
}

// MPI libraries have the heaps of a host in one file.
void check_file_limit(uint64_t bytes) {
  struct rlimit limit {};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || bytes <= limit.rlim_cur) return;
  throw Failure("symmetric heaps of " + std::to_string(bytes >> 10) + " KiB in shared memory, where a file may have " +
                    std::to_string(limit.rlim_cur >> 10) + " KiB: " + std::strerror(EFBIG),
                "raise the limit of a file's size (ulimit -f)");
}

// Memory that is not there when it is first written would end the PE by a signal, without a word.
void check_room(MPI_Comm pes, MPI_Comm node, uint64_t bytes) {
  int pe = 0;
  int count = 0;
  MPI_Comm_rank(pes, &pe);
  MPI_Comm_size(pes, &count);
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  gethostname(name, sizeof name - 1);  // virtual nodes of a host share its memory
  const uint64_t own = std::hash<std::string_view>()(name);
  std::vector<uint64_t> hosts(static_cast<size_t>(count));
  MPI_Allgather(&own, 1, MPI_UINT64_T, hosts.data(), 1, MPI_UINT64_T, pes);
  if (std::find(hosts.begin(), hosts.end(), own) - hosts.begin() != pe) return;
  const auto here = static_cast<uint64_t>(std::count(hosts.begin(), hosts.end(), own));
  int in_node = 0;
  MPI_Comm_size(node, &in_node);
  check_file_limit((bytes + kPage) * static_cast<uint64_t>(in_node));
  struct statfs room {};
  if (statfs(kSharedMemory, &room) != 0) return;
  const uint64_t free_bytes = uint64_t{room.f_bavail} * static_cast<uint64_t>(room.f_bsize);
  if ((bytes + kPage) * here <= free_bytes) return;
  throw Failure("the symmetric heaps of the host's " + std::to_string(here) + " PEs, " + std::to_string(bytes >> 10) +
                    " KiB each, do not fit into " + kSharedMemory + ", which has " + std::to_string(free_bytes >> 10) +
                    " KiB left",
                "make that larger, or set PGAS_SYMMETRIC_SIZE to less");
}

// Those that share memory, or the calling one's part of them.
MPI_Comm node_of(MPI_Comm pes, uint64_t most_of_node) {
  int rank = 0;
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_rank(pes, &rank);
  MPI_Comm_split_type(pes, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
  MPI_Comm_rank(host, &rank);
  MPI_Comm_split(host, static_cast<int>(static_cast<uint64_t>(rank) / most_of_node), rank, &node);
  MPI_Comm_free(&host);
  return node;
}

// Open MPI 4 takes its osc/rdma for windows within a host, which crashes in a process's compare-and-swap on itself.
void check_virtual_nodes() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(version, &length);
  if (std::string_view(version).find("Open MPI v4.") == std::string_view::npos) return;
  if (std::getenv("OMPI_MCA_osc") != nullptr) return;
  throw Failure("PGAS_PES_PER_NODE is set, and Open MPI's osc/rdma fails between processes of a host",
                "set OMPI_MCA_osc=^rdma, too: then Open MPI takes what it has for several hosts");
}

void check_memory_model(MPI_Win window) {
  int* model = nullptr;
  int is_there = 0;
  MPI_Win_get_attr(window, MPI_WIN_MODEL, &model, &is_there);
  if (is_there == 0 || *model != MPI_WIN_UNIFIED)
    throw Failure("the MPI library's windows have two copies of memory (MPI_WIN_SEPARATE)", "use another MPI library");
}

}  // namespace

SymmetricHeap::SymmetricHeap(MPI_Comm pes, uint64_t bytes, uint64_t most_of_node)
    : bytes_(bytes), blocks_(Bell::kBytes, bytes) {
  MPI_Comm_dup(pes, &pes_);
  MPI_Comm_set_errhandler(pes_, MPI_ERRORS_ARE_FATAL);
  int count = 0;
  MPI_Comm_rank(pes_, &pe_);
  MPI_Comm_size(pes_, &count);
  bases_.resize(static_cast<size_t>(count));
  node_ = node_of(pes_, most_of_node);
  check_room(pes_, node_, bytes);
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "alloc_shared_noncontig", "true");  // each on pages of its own
  char* own = nullptr;
  MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes + kPage), 1, info, node_, &own, &node_window_);
  MPI_Info_free(&info);
  own = first_page(own);
  new (own) Bell{};
  MPI_Win_lock_all(MPI_MODE_NOCHECK, node_window_);

  int node_count = 0;
  MPI_Comm_size(node_, &node_count);
  std::vector<int> of_node(static_cast<size_t>(node_count));
  MPI_Allgather(&pe_, 1, MPI_INT, of_node.data(), 1, MPI_INT, node_);
  for (int rank = 0; rank < node_count; ++rank) {
    MPI_Aint size = 0;
    int unit = 0;
    char* base = nullptr;
    MPI_Win_shared_query(node_window_, rank, &size, &unit, &base);
    bases_[static_cast<size_t>(of_node[static_cast<size_t>(rank)])] = first_page(base);
  }
  int least_of_node = node_count;
  MPI_Allreduce(MPI_IN_PLACE, &least_of_node, 1, MPI_INT, MPI_MIN, pes_);
  if (least_of_node == count) return;
  if (most_of_node < static_cast<uint64_t>(count)) check_virtual_nodes();
  MPI_Info_create(&info);
  MPI_Info_set(info, "accumulate_ops", "same_op_no_op");      // what MPI promises atomicity for at most
  MPI_Info_set(info, "which_accumulate_ops", "cswap,no_op");  // to MPICH, which may leave these to the network
  MPI_Comm_set_errhandler(pes_, MPI_ERRORS_RETURN);
  if (MPI_Win_create(own, static_cast<MPI_Aint>(bytes), 1, info, pes_, &window_) != MPI_SUCCESS)
    throw Failure("the MPI library cannot make a window over the nodes of this job",
                  "with Open MPI 4 over TCP, set OMPI_MCA_osc=^rdma in the environment of all ranks");
  MPI_Comm_set_errhandler(pes_, MPI_ERRORS_ARE_FATAL);
  MPI_Info_free(&info);
  check_memory_model(window_);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
}

SymmetricHeap::~SymmetricHeap() {
  for (MPI_Win* window : {&window_, &node_window_}) {
    if (*window == MPI_WIN_NULL) continue;
    MPI_Win_unlock_all(*window);
    MPI_Win_free(window);
  }
  for (MPI_Comm* communicator : {&node_, &pes_})
    if (*communicator != MPI_COMM_NULL) MPI_Comm_free(communicator);
}

void* SymmetricHeap::allocate(uint64_t bytes, uint64_t alignment) {
  uint64_t most[] = {bytes, ~bytes, alignment, ~alignment};
  MPI_Allreduce(MPI_IN_PLACE, most, 4, MPI_UINT64_T, MPI_MAX, pes_);
  if (most[0] != bytes || most[1] != ~bytes || most[2] != alignment || most[3] != ~alignment)
    throw Failure("allocates " + std::to_string(bytes) + " bytes, and other PEs from " + std::to_string(~most[1]) +
                      " to " + std::to_string(most[0]) + ", or on another border",
                  "symmetric memory is allocated in all PEs by the same calls with the same sizes");
  if (bytes == 0) return nullptr;
  const auto offset = blocks_.take(bytes, alignment);
  return offset ? bases_[static_cast<size_t>(pe_)] + *offset : nullptr;
}

void SymmetricHeap::free(void* address) {
  const uint64_t offset = offset_of(address, 1);
  uint64_t most[] = {offset, ~offset};
  MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_UINT64_T, MPI_MAX, pes_);
  if (most[0] != offset || most[1] != ~offset)
    throw Failure("PEs free different memory", "symmetric memory is freed in all PEs by the same calls");
  if (!blocks_.give_back(offset))
    throw Failure("frees what has not been allocated, or has been freed before",
                  "free each address that pgas_malloc() has returned once, and no other");
}

bool SymmetricHeap::contains(const void* address, uint64_t bytes) const {
  const auto begin = reinterpret_cast<uintptr_t>(address);
  const auto base = reinterpret_cast<uintptr_t>(bases_[static_cast<size_t>(pe_)]);
  return begin >= base + Bell::kBytes && begin <= base + bytes_ && bytes <= base + bytes_ - begin;
}

uint64_t SymmetricHeap::offset_of(const void* address, uint64_t bytes) const {
  if (!contains(address, bytes)) {
    char text[32];
    std::snprintf(text, sizeof text, "%p", address);
    throw Failure(
        std::to_string(bytes) + " bytes at " + (address == nullptr ? "NULL" : text) + " are not in the symmetric heap",
        address == nullptr ? "look at what pgas_malloc() returns: where it is NULL, set PGAS_SYMMETRIC_SIZE to more"
                           : "take an address that pgas_malloc() has returned in this PE, and a size that fits");
  }
  return static_cast<uint64_t>(static_cast<const char*>(address) - bases_[static_cast<size_t>(pe_)]);
}

}  // namespace spillway::pgas
