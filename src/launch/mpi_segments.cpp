#include "launch/mpi_segments.h"

#include <unistd.h>

#include <fstream>

namespace spillway::launch {
namespace {

constexpr std::string_view kFolder = "/dev/shm/";
constexpr std::string_view kPrefixes[] = {"ucx_shm_posix_", "vader_segment.", "sm_segment.", "osc_rdma.",
                                          "mpich_shar_tmp", "psm2_shm",       "psm3_shm"};

}  // namespace

bool MpiSegments::is_of_mpi_library(std::string_view path) {
  if (path.substr(0, kFolder.size()) != kFolder) return false;
  for (std::string_view prefix : kPrefixes)
    if (path.substr(kFolder.size(), prefix.size()) == prefix) return true;
  return false;
}

void MpiSegments::note(pid_t pid) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t begin = line.find('/');
    if (begin != std::string::npos && is_of_mpi_library(std::string_view(line).substr(begin)) &&
        line.find(" (deleted)") == std::string::npos)
      paths_.insert(line.substr(begin));
  }
}

void MpiSegments::remove() {
  for (const std::string& path : paths_) unlink(path.c_str());
  paths_.clear();
}

}  // namespace spillway::launch
