#include "launch/mpi_segments.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <vector>

namespace spillway::launch {
namespace {

constexpr std::string_view kFolder = "/dev/shm/";
constexpr std::string_view kPrefixes[] = {"ucx_shm_posix_", "vader_segment.", "sm_segment.",
                                          "osc_rdma.",      "mpich_shar_tmp", "mpich_shm_",
                                          "open_mpi.",      "psm2_shm",       "psm3_shm"};
// A process in the midst of a system call stops only at its end; most take less than a millisecond.
constexpr int kLongestWaitForStopMs = 200;
constexpr time_t kClockSlack = 1;  // times of files lag behind the clock

std::vector<std::string> names_in(std::string_view path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(std::string(path).c_str()), closedir);
  if (!folder) return names;
  while (const dirent* entry = readdir(folder.get())) names.emplace_back(entry->d_name);
  return names;
}

void wait_until_stopped(pid_t child) {
  for (int i = 0; i < kLongestWaitForStopMs; ++i) {
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT) != 0) return;
    if (info.si_pid == child) return;
    usleep(1000);
  }
}

}  // namespace

bool MpiSegments::is_of_mpi_library(std::string_view path) {
  if (path.substr(0, kFolder.size()) != kFolder) return false;
  for (std::string_view prefix : kPrefixes)
    if (path.substr(kFolder.size(), prefix.size()) == prefix) return true;
  return false;
}

void MpiSegments::note(pid_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  const std::string descriptors = process + "/fd/";
  for (const std::string& name : names_in(descriptors)) {
    char target[PATH_MAX];
    const ssize_t length = readlink((descriptors + name).c_str(), target, sizeof target);
    if (length > 0) add(std::string(target, static_cast<size_t>(length)));
  }
  // After the descriptors: a file that was closed before the first look is mapped at the second.
  std::ifstream maps(process + "/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t begin = line.find('/');
    if (begin != std::string::npos) add(line.substr(begin));
  }
}

void MpiSegments::signal_after_note(pid_t child, int number) {
  kill(child, SIGSTOP);
  wait_until_stopped(child);
  note(child);
  kill(child, number);
  kill(child, SIGCONT);
}

void MpiSegments::note_orphans(time_t since) {
  MpiSegments orphans;
  for (const std::string& name : names_in(kFolder)) {
    const std::string path = std::string(kFolder) + name;
    struct stat file {};
    if (stat(path.c_str(), &file) == 0 && file.st_uid == geteuid() && file.st_mtime + kClockSlack >= since)
      orphans.add(path);
  }
  if (orphans.paths_.empty()) return;
  MpiSegments held;
  for (const std::string& name : names_in("/proc/"))
    if (isdigit(static_cast<unsigned char>(name[0]))) held.note(atoi(name.c_str()));
  for (const std::string& path : orphans.paths_)
    if (held.paths_.count(path) == 0) paths_.insert(path);
}

void MpiSegments::add(const std::string& path) {
  if (is_of_mpi_library(path) && path.find(" (deleted)") == std::string::npos) paths_.insert(path);
}

void MpiSegments::remove() {
  for (const std::string& path : paths_) unlink(path.c_str());
  paths_.clear();
}

}  // namespace spillway::launch
