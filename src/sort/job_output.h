// The output of a job: one file, or a directory with a part for each process and manifest.json, which says in which
// order they follow. Until it is whole it is hidden beside the place where it appears then, and only the user can read
// it.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

namespace spillway::sort {

class JobOutput {
 public:
  // Collective. Process 0 makes it; there must be room for `bytes`, and it is expected to have `most_bytes` at most.
  // `token` is in its name until it is whole; empty: one is made up. Throws Failure.
  JobOutput(MPI_Comm processes, const std::string& path, bool has_parts, uint64_t bytes, uint64_t most_bytes,
            const std::string& token);
  // abandon(), unless it is published.
  ~JobOutput();
  JobOutput(const JobOutput&) = delete;
  JobOutput& operator=(const JobOutput&) = delete;

  bool has_parts() const { return has_parts_; }
  // What this process writes to: its part, or the file of all.
  std::string file() const;
  // Makes this process's part, likewise. REQUIRES: has_parts().
  void make_part(uint64_t bytes, uint64_t most_bytes) const;

  // In bytes, what it still takes of the device of `directory`, where that is its own: what is reserved is not among
  // it.
  uint64_t unreserved_bytes(const std::string& directory) const;

  // Collective, when all have written: of so many bytes and records each. It is there when this returns. Throws
  // Failure.
  void publish(uint64_t bytes, uint64_t records);
  // By any process, before it ends the job: what has been made of it is removed.
  void abandon() const noexcept;

 private:
  void require_on_all_hosts() const;
  std::string part_name(int process) const;
  void write_manifest(const std::vector<uint64_t>& bytes, const std::vector<uint64_t>& records) const;

  MPI_Comm processes_;
  int process_ = 0;
  int process_count_ = 1;
  std::string path_;  // of process 0: an output that is a link stays one
  std::string partial_;
  const bool has_parts_;
  const uint64_t bytes_;
  bool is_published_ = false;
};

}  // namespace spillway::sort
