// A sort of files by all processes of MPI_COMM_WORLD: from the sample to the whole output.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mpi_program/end_of_job.h"
#include "sort/device_rate.h"
#include "sort/record_layout.h"

namespace spillway::sort {

inline constexpr const char* kWantOfMemory =
    "not enough memory\n  Remedy: use fewer processes (-n), or a smaller --memory.";

enum class Delivery { one_sided, two_sided, two_sided_one_receive };

struct Settings {
  std::vector<std::string> input;  // that of process 0 counts
  std::string output;
  bool has_parts;  // the output is a directory with a part for each process
  std::string spill_directory;
  RecordLayout layout;
  uint64_t memory_bytes;  // of each process
  int readers = 0;        // the first so many processes only read, and the others only sort; 0: each does both
  Delivery delivery = Delivery::one_sided;
  std::string progress;  // a file that process 0 writes it to; empty: none
  std::string token;     // in the name of the output while it is not whole; empty: one is made up
};

// What a stage reads and writes, and how much of its time the busiest disk of a process is busy, on average over those
// that know one (DeviceUse); nothing where none does. And the part of its time that what it reads from and writes to
// the devices under spill directories takes these at DeviceRate.
struct StageDisk {
  uint64_t read_bytes;
  uint64_t written_bytes;
  std::optional<double> busy;
  std::optional<double> of_rate;
};

// Of the whole job; times of a phase are the longest process's, unless they are sums.
struct Report {
  uint64_t records;
  uint64_t output_records;
  uint64_t bytes;
  uint64_t buckets;
  bool is_in_memory;
  double sample_s;
  double distribute_s;
  double finish_s;
  double total_s;
  double dealt_s;  // sums over the processes
  double sorted_s;
  double moved_s;
  // Sums over those who deal out: of the stage, without a block to deal out, for the last chunks to be written, for the
  // others at its end.
  uint64_t sorters;
  double sorters_distribute_s;
  double waited_s;
  double flushed_s;
  double barrier_s;
  uint64_t read_bytes;
  uint64_t written_bytes;
  StageDisk sample_disk;
  StageDisk distribute_disk;
  StageDisk finish_disk;
  std::optional<DeviceRate> device_rate;  // of the devices under all spill directories together, where it was measured
};

// Collective, between MPI_Init() and MPI_Finalize(), and not between pgas_init() and pgas_finalize(). Throws Failure,
// or ends the job: in the middle of it others wait for this process, and the kernel writes into its memory.
Report run_sort(const Settings& settings, const mpi_program::EndOfJob& end_of_job);

}  // namespace spillway::sort
