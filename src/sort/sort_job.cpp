#include "sort/sort_job.h"

#include <mpi.h>
#include <spillway/pgas.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "sort/bucket_table.h"
#include "sort/dealer.h"
#include "sort/device_rate.h"
#include "sort/device_use.h"
#include "sort/distribution.h"
#include "sort/failure.h"
#include "sort/finishing.h"
#include "sort/job_output.h"
#include "sort/memory_plan.h"
#include "sort/output_file.h"
#include "sort/progress.h"
#include "sort/sampling.h"
#include "sort/several_hosts.h"
#include "sort/shared_text.h"
#include "sort/two_sided_distribution.h"
#include "sort/two_sided_groups.h"

namespace spillway::sort {
namespace {

// A device's rate: of less its cache tells, and a larger part of the input would take time.
constexpr uint64_t kLeastToMeasure = 4'000'000'000;
constexpr uint64_t kPartToMeasure = 32;
constexpr uint64_t kMostToMeasure = uint64_t{256} << 20;

double seconds(uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

// What process 0 has found, so that all have the same.
std::vector<InputFile> list_for_all(const Settings& settings, int process) {
  std::string text;
  if (process == 0)
    for (const InputFile& file : list_input(settings.input, settings.layout.unit_bytes(), settings.output))
      text += file.path + '\0' + std::to_string(file.bytes) + '\0';
  text = share(MPI_COMM_WORLD, text);
  std::vector<InputFile> files;
  for (size_t at = 0; at < text.size();) {
    std::string path(text.c_str() + at);
    at += path.size() + 1;
    const uint64_t size = std::strtoull(text.c_str() + at, nullptr, 10);
    at += std::strlen(text.c_str() + at) + 1;
    files.push_back({std::move(path), size});
  }
  return files;
}

// Of what this process spills, beside the output. Others of its host may spill to the same disk.
void require_spill_room(const std::string& spill_directory, uint64_t own_bytes, const JobOutput& output) {
  const char* directory = spill_directory.c_str();
  const uint64_t output_bytes = output.unreserved_bytes(spill_directory);
  const uint64_t bytes_of_all =
      static_cast<uint64_t>(sum_of_sharers(directory, static_cast<int64_t>(own_bytes))) + output_bytes;
  struct statvfs status = {};
  if (statvfs(directory, &status) != 0)
    throw Failure(std::string("cannot spill into ") + directory + ": " + std::strerror(errno),
                  "name a directory on a local disk with --spill-dir");
  const uint64_t free = status.f_bavail * status.f_frsize;
  if (free >= bytes_of_all) return;
  throw Failure((output_bytes == 0 ? "the data need " : "the data and the output need ") +
                    std::to_string(bytes_of_all >> 20) + " MiB of the spill directory " + directory + ", where " +
                    std::to_string(free >> 20) + " MiB are free",
                "free space there, or name a directory on a larger disk with --spill-dir");
}

// What a process of any host may have for symmetric memory, which MPI libraries make there.
uint64_t shared_memory_bytes() {
  const int64_t processes_here = sum_of_sharers("/dev/shm", 1);
  struct statvfs status = {};
  int64_t bytes = INT64_MAX;
  if (statvfs("/dev/shm", &status) == 0)
    bytes = static_cast<int64_t>(status.f_bavail * status.f_frsize) / 8 * 7 / processes_here;  // MPI has segments there
  MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
  return static_cast<uint64_t>(bytes);
}

double over_all(double value, MPI_Op op) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
  return value;
}

uint64_t sum_of_all(uint64_t value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return value;
}

// What a process has done on its disks since the last stage ended.
class StageEnd {
 public:
  StageEnd(const AsyncIo& io, std::vector<std::string> paths) : io_(io), devices_(paths) {}

  StageDisk operator()() {
    const StageDisk stage{
        io_.read_bytes() - read_bytes_, io_.written_bytes() - written_bytes_, devices_.since_last(), {}};
    read_bytes_ = io_.read_bytes();
    written_bytes_ = io_.written_bytes();
    return stage;
  }

 private:
  const AsyncIo& io_;
  DeviceUse devices_;
  uint64_t read_bytes_ = 0;
  uint64_t written_bytes_ = 0;
};

bool are_on_one_device(const std::string& path, const std::string& other) {
  struct stat status[2] = {};
  return stat(path.c_str(), &status[0]) == 0 && stat(other.c_str(), &status[1]) == 0 &&
         status[0].st_dev == status[1].st_dev;
}

// Collective. Of what those that take part do at once, in seconds each gives: nothing where one of them cannot.
template <typename Function>
std::optional<double> rate_of_all(uint64_t own_bytes, bool takes_part, Function seconds_of_own) {
  MPI_Barrier(MPI_COMM_WORLD);
  double own_s = 0;
  bool is_done = true;
  try {
    if (takes_part) own_s = seconds_of_own();
  } catch (const std::exception&) {  // it may be no more than the probe that fails
    is_done = false;
  }
  const double longest_s = over_all(own_s, MPI_MAX);
  const auto bytes = static_cast<double>(sum_of_all(takes_part ? own_bytes : 0));
  return over_all(is_done ? 1 : 0, MPI_MIN) > 0 && longest_s > 0 ? std::optional(bytes / longest_s) : std::nullopt;
}

// The rate of the devices under spill directories, if the sort is so large that it takes little time beside it. All of
// a device's processes that spill measure at once. Not those of devices that others know nothing of.
std::optional<DeviceRate> measure_devices(const Settings& settings, uint64_t total_bytes, bool is_sorter) {
  if (total_bytes < kLeastToMeasure) return {};
  const uint64_t of_device = std::min(total_bytes / kPartToMeasure, kMostToMeasure);
  const int64_t sharers = sum_of_sharers(settings.spill_directory.c_str(), is_sorter ? 1 : 0);
  std::optional<DeviceProbe> probe;
  try {
    if (is_sorter) probe.emplace(settings.spill_directory, of_device / static_cast<uint64_t>(sharers));
  } catch (const std::exception&) {
  }
  if (over_all(probe || !is_sorter ? 1 : 0, MPI_MIN) == 0) return {};
  const uint64_t own_bytes = probe ? probe->bytes() : 0;
  const std::optional<double> written = rate_of_all(own_bytes, is_sorter, [&] { return probe->write(); });
  if (!written) return {};
  const std::optional<double> read = rate_of_all(own_bytes, is_sorter, [&] { return probe->read(); });
  if (!read) return {};
  return DeviceRate{*read, *written};
}

// What of a stage is on the device of the spill directory.
struct OnDevice {
  bool is_read;
  bool is_written;
};

StageDisk of_all(const StageDisk& own, OnDevice there, const std::optional<DeviceRate>& rate, double stage_s) {
  const double known = over_all(own.busy ? 1 : 0, MPI_SUM);
  const double busy = over_all(own.busy.value_or(0), MPI_SUM);
  StageDisk all{sum_of_all(own.read_bytes), sum_of_all(own.written_bytes), {}, {}};
  if (known > 0) all.busy = busy / known;
  const auto read = static_cast<double>(sum_of_all(there.is_read ? own.read_bytes : 0));
  const auto written = static_cast<double>(sum_of_all(there.is_written ? own.written_bytes : 0));
  if (rate && stage_s > 0) all.of_rate = (read / rate->read + written / rate->written) / stage_s;
  return all;
}

std::vector<uint64_t> sums_of_all(std::vector<uint64_t> values) {
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return values;
}

// Of the output, if all that is read comes out.
uint64_t whole_output_bytes(const RecordLayout& layout, uint64_t input_bytes, size_t files) {
  return input_bytes + (layout.is_lines() ? files : 0);  // whose last lines may have no end
}

// With counts, of so many records: not of those that occur millions of times, which make it smaller.
uint64_t most_output_bytes(const RecordLayout& layout, uint64_t whole_bytes, uint64_t records) {
  return whole_bytes + records * (layout.written_bytes({}, 1) - (layout.is_lines() ? 1 : 0));
}

// With a heap of so many bytes, whatever the program's environment says.
void begin_one_sided(uint64_t heap_bytes) {
  const char* found = std::getenv(PGAS_SYMMETRIC_SIZE);
  const std::optional<std::string> before = found == nullptr ? std::nullopt : std::optional<std::string>(found);
  setenv(PGAS_SYMMETRIC_SIZE, std::to_string(heap_bytes).c_str(), 1);
  pgas_init();
  if (before) {
    setenv(PGAS_SYMMETRIC_SIZE, before->c_str(), 1);
  } else {
    unsetenv(PGAS_SYMMETRIC_SIZE);
  }
}

// A process that fails in `body` cannot just leave.
template <typename Body>
auto or_end(const mpi_program::EndOfJob& end_of_job, const std::optional<JobOutput>& output, Body body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    if (output) output->abandon();
    end_of_job.end(kWantOfMemory);
  } catch (const std::exception& error) {
    if (output) output->abandon();
    end_of_job.end(error.what());
  }
}

// All that was read has come out.
void require_whole_output(const RecordLayout& layout, uint64_t input_bytes, size_t files, uint64_t own_bytes) {
  const uint64_t bytes = sum_of_all(own_bytes);
  if (layout.is_unique() || (bytes >= input_bytes && bytes <= whole_output_bytes(layout, input_bytes, files))) return;
  throw Failure(std::to_string(bytes) + " bytes have come out of " + std::to_string(input_bytes) + " that were read",
                "sort files that nobody changes meanwhile; where nobody does, this is an error of Spillway's");
}

}  // namespace

Report run_sort(const Settings& settings, const mpi_program::EndOfJob& end_of_job) {
  const uint64_t begin_ns = base::now_ns();
  int process = 0;
  int processes = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  MPI_Comm_size(MPI_COMM_WORLD, &processes);
  if (settings.readers < 0 || settings.readers >= processes)
    throw UsageFailure(std::to_string(settings.readers) + " of " + std::to_string(processes) + " processes only read",
                       "leave some to sort");
  std::optional<TwoSidedGroups> groups;
  if (settings.delivery != Delivery::one_sided) groups = TwoSidedGroups::make(settings.readers);
  const bool is_reader = settings.readers == 0 || process < settings.readers;
  const bool is_sorter = groups ? groups->part == TwoSidedGroups::Part::sorter : process >= settings.readers;
  const uint64_t sorter_count = sum_of_all(is_sorter ? 1 : 0);
  const RecordLayout& layout = settings.layout;
  std::vector<InputFile> listed = list_for_all(settings, process);
  require_inputs(listed);
  const InputPlan whole(listed, RecordLayout::kMostRecordBytes, 0);
  const uint64_t total_bytes = whole.total_bytes();
  Report report{};
  report.bytes = total_bytes;
  std::optional<JobOutput> output;
  const auto make_output = [&, whole_bytes = whole_output_bytes(layout, total_bytes, listed.size())](uint64_t records) {
    const uint64_t room = layout.is_unique() ? 0 : whole_bytes;  // it may become much smaller
    output.emplace(MPI_COMM_WORLD, settings.output, settings.has_parts, room,
                   most_output_bytes(layout, whole_bytes, records), settings.token);
  };
  if (total_bytes == 0) {
    make_output(0);
    if (output->has_parts()) output->make_part(0, 0);
    output->publish(0, 0);
    if (groups) groups->free();
    report.is_in_memory = true;
    return report;
  }

  AsyncIo io;
  StageEnd end_stage(io, {listed.front().path, settings.spill_directory, directory_of(settings.output)});
  InputFiles listed_files(whole);
  const RecordSize size =
      or_end(end_of_job, output, [&] { return record_size(MPI_COMM_WORLD, whole, layout, listed_files, io); });
  const auto stored_bytes =
      static_cast<uint64_t>(static_cast<double>(total_bytes) / size.file_bytes * size.bucket_bytes);
  const MemoryPlan memory =
      MemoryPlan::make({stored_bytes, size.bucket_bytes, layout.unit_bytes(), Dealer::tail_bytes(layout)},
                       {sorter_count, static_cast<uint64_t>(processes), settings.memory_bytes, shared_memory_bytes(),
                        are_on_several_nodes()});
  begin_one_sided(memory.heap_bytes);
  make_output(static_cast<uint64_t>(static_cast<double>(total_bytes) / size.file_bytes));
  if (!memory.is_in_memory)
    require_spill_room(settings.spill_directory, is_sorter ? stored_bytes / sorter_count : 0, *output);
  const bool is_input_there = are_on_one_device(listed.front().path, settings.spill_directory);
  const bool is_output_there = are_on_one_device(directory_of(settings.output), settings.spill_directory);
  report.is_in_memory = memory.is_in_memory;
  report.buckets = memory.bucket_count;

  Progress progress = process == 0 && !settings.progress.empty() ? Progress(settings.progress) : Progress();
  const InputPlan plan(std::move(listed), memory.block_bytes, Dealer::tail_bytes(layout));
  InputFiles files(plan);
  const Splitters splitters = or_end(end_of_job, output, [&] {
    return sample_splitters(MPI_COMM_WORLD, plan, layout, files, size, {memory.bucket_count, memory.heap_bytes},
                            settings.memory_bytes / 16, io);
  });
  const uint64_t sampled_ns = base::now_ns();
  const StageDisk sample_disk = end_stage();
  std::optional<DeviceRate> device_rate;
  if (!memory.is_in_memory) device_rate = measure_devices(settings, total_bytes, is_sorter);
  end_stage();  // what that did is no stage's
  const uint64_t measured_ns = base::now_ns();

  std::optional<BucketStore> store;
  or_end(end_of_job, output, [&] {
    store.emplace(is_sorter ? memory.bucket_count : 0, memory.chunk_bytes, memory.chunks,
                  memory.is_in_memory || !is_sorter, settings.spill_directory.c_str(), io);
  });
  Dealer dealer(plan, layout, splitters, *store, memory.bucket_count);
  ReadStageTimes times;
  uint64_t dealt_ns = 0;
  if (groups) {
    using Receives = TwoSidedReceiver::Receives;
    TwoSidedDistribution distribution(
        plan, files, dealer, *groups, io, progress, memory.slots, memory.slot_bytes,
        settings.delivery == Delivery::two_sided_one_receive ? Receives::one : Receives::several);
    or_end(end_of_job, output, [&] { distribution.run(); });
    times = distribution.times();
    dealt_ns = base::now_ns();
    pgas_barrier_all();
  } else {
    std::vector<int> sorters;
    for (int sorter = settings.readers; sorter < processes; ++sorter) sorters.push_back(sorter);
    Staging staging(sorters, memory.slots, memory.slot_bytes);
    Distribution distribution(plan, files, dealer, staging, io, progress, memory.slot_bytes, is_reader);
    or_end(end_of_job, output, [&] { distribution.run(); });
    times = distribution.times();
    dealt_ns = base::now_ns();
    pgas_barrier_all();
  }
  store->free_memory();
  const uint64_t distributed_ns = base::now_ns();
  const StageDisk distribute_disk = end_stage();

  std::vector<uint64_t> own_bytes = store->bucket_bytes();
  own_bytes.resize(memory.bucket_count, 0);
  std::vector<uint64_t> own_records = store->bucket_records();
  own_records.resize(memory.bucket_count, 0);
  const BucketTable table(MPI_COMM_WORLD, layout,
                          output->has_parts() ? BucketTable::Owners::in_ranges : BucketTable::Owners::in_turn,
                          std::move(own_bytes), own_records);
  const std::vector<uint64_t> repeats = sums_of_all(dealer.repeats());
  FinishingFigures finished;
  {
    std::optional<Finishing> finishing;
    or_end(end_of_job, output, [&] {
      if (output->has_parts()) {
        const uint64_t bytes = table.part_bytes(process);
        output->make_part(layout.is_unique() ? 0 : bytes,
                          most_output_bytes(layout, bytes, table.part_records(process)));
      }
      finishing.emplace(layout, is_sorter ? &*store : nullptr, table, splitters, repeats, memory.heap_bytes,
                        output->file(), output->has_parts(), io, progress);
      finished = finishing->run();
    });
    pgas_barrier_all();
  }
  or_end(end_of_job, output, [&] {
    require_whole_output(layout, total_bytes, plan.files().size(), finished.bytes);
    output->publish(finished.bytes, finished.records);
  });
  const uint64_t finished_ns = base::now_ns();
  const StageDisk finish_disk = end_stage();

  report.records = sum_of_all(dealer.records());
  report.output_records = sum_of_all(finished.records);
  report.sample_s = over_all(seconds(sampled_ns - begin_ns), MPI_MAX);
  report.distribute_s = over_all(seconds(distributed_ns - measured_ns), MPI_MAX);
  report.finish_s = over_all(seconds(finished_ns - distributed_ns), MPI_MAX);
  report.total_s = over_all(seconds(finished_ns - begin_ns), MPI_MAX);
  report.dealt_s = over_all(seconds(dealer.computed_ns()), MPI_SUM);
  report.sorted_s = over_all(seconds(finished.sorted_ns), MPI_SUM);
  report.moved_s = over_all(seconds(finished.moved_ns), MPI_SUM);
  const auto of_sorters = [&](uint64_t ns) { return over_all(is_sorter ? seconds(ns) : 0, MPI_SUM); };
  report.sorters = sorter_count;
  report.sorters_distribute_s = of_sorters(distributed_ns - measured_ns);
  report.waited_s = of_sorters(times.waited_ns);
  report.flushed_s = of_sorters(times.flushed_ns);
  report.barrier_s = of_sorters(distributed_ns - dealt_ns);
  report.read_bytes = sum_of_all(io.read_bytes());
  report.written_bytes = sum_of_all(io.written_bytes());
  report.device_rate = device_rate;
  report.sample_disk = of_all(sample_disk, {is_input_there, false}, device_rate, report.sample_s);
  report.distribute_disk = of_all(distribute_disk, {is_input_there, true}, device_rate, report.distribute_s);
  report.finish_disk = of_all(finish_disk, {true, is_output_there}, device_rate, report.finish_s);
  store.reset();
  if (groups) groups->free();
  pgas_finalize();
  return report;
}

}  // namespace spillway::sort
