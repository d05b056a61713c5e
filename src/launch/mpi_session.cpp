#include "launch/mpi_session.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/host_names.h"

namespace spillway::launch {
namespace {

constexpr std::string_view kPrefix = "ompi.";
constexpr int kMostAttempts = 1000;  // at making a directory in one that others remove
// In the order in which the launcher looks for the directory for temporary files.
constexpr const char* kBaseVariables[] = {"OMPI_MCA_orte_tmpdir_base", "TMPDIR", "TEMP", "TMP"};

}  // namespace

std::string session_of_launcher(pid_t launcher) {
  std::string base = "/tmp";
  for (const char* variable : kBaseVariables)
    if (const char* value = getenv(variable)) {
      base = value;
      break;
    }
  std::string host = base::host_name().data();
  host = host.substr(0, host.find('.'));
  return base + "/" + std::string(kPrefix) + host + "." + std::to_string(geteuid()) + "/pid." +
         std::to_string(launcher);
}

std::string session_of_daemon() {
  const char* directory = getenv(kSessionVariable);
  if (directory == nullptr) return "";
  // Slurm has one of its own there.
  const std::filesystem::path path(directory);
  const std::string name = path.filename(), parent = path.parent_path().filename();
  const bool is_of_one_job = name.starts_with("pid.") || name.starts_with("jf.");
  return parent.starts_with(kPrefix) && is_of_one_job ? directory : "";
}

void make_session(const std::string& directory) {
  const std::string of_user = std::filesystem::path(directory).parent_path();
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    if (mkdir(of_user.c_str(), S_IRWXU) != 0 && errno != EEXIST) return;
    if (mkdir(directory.c_str(), S_IRWXU) == 0 || errno != ENOENT) return;
  }
}

void remove_session(const std::string& directory) {
  if (directory.empty()) return;
  std::error_code ignored;  // others may be about to remove the same
  if (std::filesystem::remove_all(directory, ignored) == 0) return;
  rmdir(std::filesystem::path(directory).parent_path().c_str());  // unless other jobs have theirs there
}

}  // namespace spillway::launch
