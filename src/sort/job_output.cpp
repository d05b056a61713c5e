#include "sort/job_output.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <numeric>
#include <system_error>
#include <vector>

#include "base/clock.h"
#include "sort/failure.h"
#include "sort/output_file.h"
#include "sort/several_hosts.h"
#include "sort/shared_text.h"

namespace spillway::sort {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // one after the other, as Linux has it
constexpr const char* kManifest = "manifest.json";

// A link that is an output stays one.
std::string behind_links(std::string path) {
  std::error_code error;
  for (int links = 0; fs::is_symlink(path, error) && links < kMostLinks; ++links)
    path = fs::path(path).parent_path() / fs::read_symlink(path, error);
  return path;
}

void require_that_it_may_be_made(const std::string& path, bool is_directory) {
  std::error_code error;
  if (!fs::exists(path, error)) return;
  if (!is_directory && !fs::is_regular_file(path, error))
    throw Failure("cannot write " + path + ": it is no file", "name a file");
  if (!is_directory) return;
  if (!(fs::is_directory(path, error) && fs::is_empty(path, error)))
    throw Failure("cannot write to the directory " + path + ": it is there, and not empty",
                  "name one that is empty, or not there");
  // Another one takes its place.
  const std::string name = fs::path(path).filename().string();
  struct stat status[2] = {};
  const bool is_known = stat(path.c_str(), &status[0]) == 0 && stat((path + "/..").c_str(), &status[1]) == 0;
  if (name == "." || name == ".." || !is_known || status[0].st_dev != status[1].st_dev)
    throw Failure("cannot write to the directory " + path + ": a new one cannot take its place",
                  "name a directory in it, which is not there");
}

}  // namespace

JobOutput::JobOutput(MPI_Comm processes, const std::string& path, bool has_parts, uint64_t bytes, uint64_t most_bytes,
                     const std::string& token)
    : processes_(processes), has_parts_(has_parts), bytes_(bytes) {
  MPI_Comm_rank(processes, &process_);
  MPI_Comm_size(processes, &process_count_);
  if (process_ == 0) {
    path_ = path;
    while (has_parts && path_.size() > 1 && path_.back() == '/') path_.pop_back();
    path_ = behind_links(path_);
    require_that_it_may_be_made(path_, has_parts);
    const std::string own = std::to_string(getpid()) + "-" + std::to_string(base::now_ns());
    partial_ = partial_name(path_, token.empty() ? own : token);
    if (has_parts) {
      create_partial_directory(partial_, bytes);
    } else {
      create_partial(partial_, bytes, most_bytes);
    }
  }
  partial_ = share(processes_, partial_);
  require_on_all_hosts();
}

JobOutput::~JobOutput() {
  if (!is_published_) abandon();
}

// Process 0 removes it before another one ends the job: from that host nobody can.
void JobOutput::require_on_all_hosts() const {
  const int error = why_not_writable(partial_);
  int is_writable = error == 0 ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &is_writable, 1, MPI_INT, MPI_MIN, processes_);
  if (is_writable != 0) return;
  if (process_ == 0) abandon();
  MPI_Barrier(processes_);
  if (error != 0)
    throw Failure("this host cannot write " + partial_ + ", which another one has made: " + std::strerror(error),
                  "name an output that all hosts can write to: on a file system that they share");
  MPI_Barrier(processes_);  // until the end of the job
}

// Also where no more files can be opened: names of parts are known.
void JobOutput::abandon() const noexcept {
  try {
    if (!has_parts_) {
      unlink(partial_.c_str());
      return;
    }
    for (int process = 0; process < process_count_; ++process) unlink((partial_ + "/" + part_name(process)).c_str());
    unlink((partial_ + "/" + kManifest).c_str());
    rmdir(partial_.c_str());
  } catch (const std::bad_alloc&) {  // it stays
  }
}

uint64_t JobOutput::unreserved_bytes(const std::string& directory) const {
  struct stat own = {};
  struct stat other = {};
  const bool are_known = stat(partial_.c_str(), &own) == 0 && stat(directory.c_str(), &other) == 0;
  return has_parts_ && are_known && own.st_dev == other.st_dev ? bytes_ : 0;
}

std::string JobOutput::part_name(int process) const {
  char name[32];
  std::snprintf(name, sizeof name, "part-%05d", process);
  return name;
}

std::string JobOutput::file() const { return has_parts_ ? partial_ + "/" + part_name(process_) : partial_; }

void JobOutput::make_part(uint64_t bytes, uint64_t most_bytes) const { create_partial(file(), bytes, most_bytes); }

void JobOutput::publish(uint64_t bytes, uint64_t records) {
  std::vector<uint64_t> all_bytes(static_cast<size_t>(process_count_));
  std::vector<uint64_t> all_records(all_bytes.size());
  if (has_parts_) complete(file(), file(), bytes);
  MPI_Gather(&bytes, 1, MPI_UINT64_T, all_bytes.data(), 1, MPI_UINT64_T, 0, processes_);
  MPI_Gather(&records, 1, MPI_UINT64_T, all_records.data(), 1, MPI_UINT64_T, 0, processes_);
  if (process_ == 0) {
    if (has_parts_) {
      write_manifest(all_bytes, all_records);
    } else {
      complete(partial_, path_, std::accumulate(all_bytes.begin(), all_bytes.end(), uint64_t{0}));
    }
    rename_partial(partial_, path_);
  }
  MPI_Barrier(processes_);
  is_published_ = true;
}

void JobOutput::write_manifest(const std::vector<uint64_t>& bytes, const std::vector<uint64_t>& records) const {
  std::string text = "{\n  \"records\": ";
  text += std::to_string(std::accumulate(records.begin(), records.end(), uint64_t{0}));
  text += ",\n  \"bytes\": " + std::to_string(std::accumulate(bytes.begin(), bytes.end(), uint64_t{0}));
  text += ",\n  \"parts\": [";
  for (int process = 0; process < process_count_; ++process) {
    const auto at = static_cast<size_t>(process);
    text += process == 0 ? "\n" : ",\n";
    text += R"(    {"name": ")" + part_name(process) + R"(", "records": )" + std::to_string(records[at]) +
            ", \"bytes\": " + std::to_string(bytes[at]) + "}";
  }
  text += "\n  ]\n}\n";
  const std::string manifest = partial_ + "/" + kManifest;
  create_partial(manifest, text.size(), text.size());
  write_whole(manifest, text);
  complete(manifest, manifest, text.size());
}

}  // namespace spillway::sort
