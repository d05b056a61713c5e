#include "sort/several_hosts.h"

#include <mpi.h>
#include <spillway/spillway.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <system_error>

#include "sort/failure.h"

namespace spillway::sort {
namespace {

// Among how many processes of this host.
struct PlaceOnHost {
  int process;
  int processes;
};

PlaceOnHost place_on_host() {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  PlaceOnHost place{};
  MPI_Comm_rank(host, &place.process);
  MPI_Comm_size(host, &place.processes);
  MPI_Comm_free(&host);
  return place;
}

bool is_first_of_host() { return place_on_host().process == 0; }

// The same for all processes of a machine, also in containers; another one for each machine.
std::string machine() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id;
}

}  // namespace

bool are_on_several_nodes() {
  int processes = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  int is_among_others = place_on_host().processes < processes ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &is_among_others, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return is_among_others != 0;
}

uint64_t memory_of_process(uint64_t processes, uint64_t reserve) {
  spillway_usage usage{};
  if (spillway_get_usage(&usage) != 0)
    throw UsageFailure("it is not said how much memory there is", "start it with spillway sort, or give --memory");
  uint64_t memory = usage.budget_bytes / processes;
  memory -= std::min(memory, reserve);
  MPI_Allreduce(MPI_IN_PLACE, &memory, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
  return memory;
}

int64_t sum_of_sharers(const char* directory, int64_t value) {
  struct stat status = {};
  const bool is_there = stat(directory, &status) == 0;
  const std::string place = machine() + ":" + (is_there ? std::to_string(status.st_dev) : "none");
  int processes = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  const uint64_t own[2] = {std::hash<std::string>()(place), static_cast<uint64_t>(value)};
  std::vector<uint64_t> all(2 * static_cast<size_t>(processes));
  MPI_Allgather(own, 2, MPI_UINT64_T, all.data(), 2, MPI_UINT64_T, MPI_COMM_WORLD);
  uint64_t sum = 0;
  for (size_t i = 0; i < all.size(); i += 2) sum += all[i] == own[0] ? all[i + 1] : 0;
  return static_cast<int64_t>(sum);
}

void require_inputs(const std::vector<InputFile>& files) {
  constexpr const char* kRemedy = "name files that all hosts have: on a file system that they share";
  if (!is_first_of_host()) return;
  for (const InputFile& file : files) {
    std::error_code error;
    const uint64_t bytes = std::filesystem::file_size(file.path, error);
    if (error) throw Failure("this host has no " + file.path + ": " + error.message(), kRemedy);
    if (bytes != file.bytes)
      throw Failure("this host has another " + file.path + ", of " + std::to_string(bytes) + " bytes and not " +
                        std::to_string(file.bytes),
                    kRemedy);
  }
}

int why_not_writable(const std::string& path) {
  return !is_first_of_host() || access(path.c_str(), W_OK) == 0 ? 0 : errno;
}

}  // namespace spillway::sort
