#include "keyvalue/job.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/host_names.h"
#include "compression/output_parts.h"
#include "keyvalue/broadcast_bytes.h"
#include "keyvalue/failure.h"
#include "keyvalue/iteration_job.h"
#include "keyvalue/map_reduce_job.h"
#include "keyvalue/streaming_job.h"
#include "keyvalue/task_hosts.h"
#include "shuffle/key_hash.h"
#include "shuffle/program_error.h"

namespace spillway::keyvalue {
namespace {

constexpr uint64_t kReportEveryNs = 500'000'000;
constexpr uint64_t kRecordsBetweenRepeats = 64;  // whose partition the program is asked for twice

Placement placement_here(MPI_Comm communicator, MPI_D_Mode mode, const Configuration& configuration) {
  int process = 0;
  int process_count = 0;
  MPI_Comm_rank(communicator, &process);
  MPI_Comm_size(communicator, &process_count);
  return {mode, configuration, process, process_count};
}

int local_process_count(MPI_Comm communicator) {
  MPI_Comm node = MPI_COMM_NULL;
  int count = 1;
  MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &count);
  MPI_Comm_free(&node);
  return count;
}

std::vector<std::string> hosts_of_processes(MPI_Comm communicator, int process_count) {
  const base::HostName here = base::host_name();
  std::vector<base::HostName> all(static_cast<size_t>(process_count));
  MPI_Allgather(here.data(), here.size(), MPI_CHAR, all.data(), here.size(), MPI_CHAR, communicator);
  std::vector<std::string> hosts;
  hosts.reserve(all.size());
  for (const base::HostName& name : all) hosts.emplace_back(name.data());
  return hosts;
}

// Each process has planned by itself, from files that may have changed meanwhile, and has a configuration of its own.
void refuse_different_plans(MPI_Comm communicator, const Placement& placement, const Configuration& configuration) {
  const std::string plan = whole_input_plan(configuration) + "\n" + std::to_string(placement.o_tasks());
  const struct {
    const char* name;
    uint64_t value;
  } same[] = {{"mode", static_cast<uint64_t>(placement.mode())},
              {"class of keys (MPI_D_KEY_CLASS)", static_cast<uint64_t>(configuration.key_class)},
              {"class of values (MPI_D_VALUE_CLASS)", static_cast<uint64_t>(configuration.value_class)},
              {"number of A tasks (MPI_D_A_TASKS)", static_cast<uint64_t>(placement.a_tasks())},
              {"plan", XXH3_64bits(plan.data(), plan.size())}};
  constexpr size_t kCount = std::size(same);
  uint64_t most[2][kCount];
  for (size_t i = 0; i < kCount; ++i) {
    most[0][i] = same[i].value;
    most[1][i] = ~same[i].value;
  }
  MPI_Allreduce(MPI_IN_PLACE, most, 2 * kCount, MPI_UINT64_T, MPI_MAX, communicator);
  const auto is_same = [&](size_t i) { return most[0][i] == ~most[1][i]; };
  for (size_t i = 0; i + 1 < kCount; ++i)
    if (!is_same(i))
      throw Failure(MPI_D_ERR_CONF, std::string("the processes do not have the same ") + same[i].name,
                    "call MPI_D_Init() with the same mode and configuration in all processes");
  if (is_same(kCount - 1)) return;
  throw Failure(
      MPI_D_ERR_CONF,
      "the processes have not planned the same input: its files, or the numbers of O tasks, are not the same for all",
      "name files that all processes see, and that nobody writes to, and plan in all processes before Init()");
}

[[noreturn]] void refuse_outside(const char* mode) {
  throw Failure(MPI_D_ERR_MODE, std::string("called outside of the ") + mode + " mode",
                "call MPI_D_Init() with another mode, or leave the call out");
}

}  // namespace

std::unique_ptr<Job> Job::make(MPI_D_Mode mode, const Configuration& configuration) {
  switch (mode) {
    case MPI_D_MODE_ITERATION:
      return std::make_unique<IterationJob>(configuration);
    case MPI_D_MODE_STREAMING:
      return std::make_unique<StreamingJob>(configuration);
    default:
      return std::make_unique<MapReduceJob>(mode, configuration);
  }
}

Job::Job(MPI_D_Mode mode, const Configuration& configuration)
    : configuration_(configuration),
      placement_(placement_here(MPI_COMM_WORLD, mode, configuration)),
      order_(configuration.key_class) {
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator_);
  choose_defaults(configuration_, mode, placement_.process_count(), local_process_count(communicator_));
  std::vector<std::string>& directories = configuration_.spill_directories;  // processes begin with different ones
  std::rotate(directories.begin(), directories.begin() + placement_.process() % std::ssize(directories),
              directories.end());
  control_ = ControlConnection::open_if_named(placement_);
  refuse_different_plans(communicator_, placement_, configuration);
  if (!configuration.input_hosts.empty()) find_hosts();
  begin_ns_ = base::now_ns();
}

void Job::find_hosts() {
  const std::vector<std::string> hosts = hosts_of_processes(communicator_, placement_.process_count());
  const TaskHosts task_hosts(hosts, placement_, configuration_.input_hosts);
  placement_.place_o_tasks(task_hosts.processes_of_tasks());
  if (!control_ || placement_.mode() != MPI_D_MODE_MAPREDUCE) return;
  control_->tell_host(task_hosts.here());
  if (placement_.process() == 0) control_->tell_hosts_of_tasks(task_hosts.of_tasks());
  MPI_Barrier(communicator_);  // nobody asks for a task before
}

bool Job::is_nearest(int part) const {
  return part >= 0 && placement_.process_of_o_task(part % placement_.o_tasks()) == placement_.process();
}

void Job::all_gather(MPI_D_Bytes& bytes) {
  if (is_begun() || side_ != Side::none)
    throw Failure(MPI_D_ERR_STATE, "MPI_D_Allgather() called in a task, or after the first one",
                  "call it before the first task, in every process");
  if (!gathers_ || !gathers_->restore(gathered_)) gather(bytes);
  bytes = {gathered_.data(), gathered_.size()};
}

void Job::gather(const MPI_D_Bytes& bytes) {
  const std::string own(static_cast<const char*>(bytes.data), bytes.size);
  gathered_.clear();
  for (int process = 0; process < placement_.process_count(); ++process) {
    std::string of_process = process == placement_.process() ? own : std::string();
    broadcast_bytes(communicator_, process, of_process);
    gathered_ += of_process;
  }
  if (gathers_) gathers_->add(gathered_);
}

Job::~Job() { MPI_Comm_free(&communicator_); }

bool Job::is_driver() const { refuse_outside("iteration"); }
bool Job::next_round(bool /*goes_on*/) { refuse_outside("iteration"); }
int Job::round() const { refuse_outside("iteration"); }
void Job::send_to_driver(const void* /*key*/, const void* /*value*/) { refuse_outside("iteration"); }
void Job::broadcast(MPI_D_Bytes& /*bytes*/) { refuse_outside("iteration"); }
void Job::flush() { refuse_outside("streaming"); }
void Job::end_window() { refuse_outside("streaming"); }
bool Job::next_window() { refuse_outside("streaming"); }

void Job::require_not_begun() const {
  if (is_begun_)
    throw Failure(MPI_D_ERR_STATE, "compare, partition and combine functions are set too late",
                  "set them before the first call for tasks, records, rounds or windows");
}

void Job::set_compare(MPI_D_Compare_function compare, void* user) {
  require_not_begun();
  order_ = shuffle::KeyOrder(configuration_.key_class, compare, user);
}

void Job::set_partition(MPI_D_Partition_function partition, void* user) {
  require_not_begun();
  partition_ = partition;
  partition_user_ = user;
}

void Job::set_combine(MPI_D_Combine_function combine, void* user, shuffle::Combiner::Owner owner) {
  require_not_begun();
  combiner_ = shuffle::Combiner(configuration_.key_class, configuration_.value_class, combine, user, owner);
}

void Job::refuse_checkpoint(const char* mode) const {
  if (!configuration_.checkpoint_directory.empty())
    throw Failure(MPI_D_ERR_CONF, std::string("there are no checkpoints in the ") + mode + " mode",
                  "leave MPI_D_CHECKPOINT (--checkpoint) out");
}

// A program may do without MPI_D_Next_task().
void Job::be_only_task() {
  const int process = placement_.process();
  const bool is_o = placement_.has_o_tasks(process);
  begin_task(is_o ? Side::o : Side::a, is_o ? process : process - placement_.o_tasks());
}

void Job::begin_task(Side side, int task) {
  side_ = side;
  task_ = task;
  emitted_before_ = figures_.emitted_records;
  received_before_ = figures_.received_records;
}

// For messages: the current task, and which of the records that it sends, or receives, it is about.
std::string Job::place(uint64_t record) const {
  if (side_ == Side::none) return "";
  return (side_ == Side::o ? "O task " : "A task ") + std::to_string(task_) + ", record " + std::to_string(record) +
         ": ";
}

int Job::call_partition(int tasks, const void* key, const void* value) const {
  return shuffle::call_of_program(
      "partition", [&] { return partition_(key, value, tasks, partition_user_); },
      [&] { return "key " + shuffle::shown(configuration_.key_class, encoded(key, value).key); });
}

uint32_t Job::partition_by_program(int tasks, const void* key, const void* value) const {
  const int partition = call_partition(tasks, key, value);
  if (figures_.emitted_records % kRecordsBetweenRepeats == 0) {
    const int again = call_partition(tasks, key, value);
    if (again != partition)
      throw Failure(MPI_D_ERR_PARTITION,
                    place_of_sent() + "the partition function contradicts itself: called twice with the key " +
                        shuffle::shown(configuration_.key_class, encoded(key, value).key) +
                        " and the same value, it returned " + std::to_string(partition) + " and " +
                        std::to_string(again),
                    "compute the task from key and value alone");
  }
  if (partition < 0 || partition >= tasks)
    throw Failure(MPI_D_ERR_PARTITION,
                  place_of_sent() + "the partition function returned " + std::to_string(partition) + ", and the " +
                      (side_ == Side::a ? "O" : "A") + " tasks are 0 to " + std::to_string(tasks - 1),
                  "return a number below the one that it is given");
  return static_cast<uint32_t>(partition);
}

shuffle::Record Job::encoded(const void* key, const void* value) const {
  return {shuffle::encoded(configuration_.key_class, key), shuffle::encoded(configuration_.value_class, value)};
}

void Job::send_record(RecordShuffle& shuffle, uint32_t partition, uint64_t hash, const shuffle::Record& record) {
  shuffle.send(partition, hash, record);
  figures_.emitted_bytes += record.key.size() + record.value.size();
  if (++figures_.emitted_records % kRecordsBetweenLooks == 0) {
    shuffle.progress();
    report_sometimes();
  }
}

void Job::emit(RecordShuffle& shuffle, int tasks, const void* key, const void* value) try {
  const shuffle::Record record = encoded(key, value);
  const uint64_t hash = shuffle::key_hash(record.key);
  const uint32_t partition = partition_ == nullptr
                                 ? static_cast<uint32_t>((hash >> 32) * static_cast<uint32_t>(tasks) >> 32)
                                 : partition_by_program(tasks, key, value);
  send_record(shuffle, partition, hash, record);
} catch (const shuffle::ProgramError& error) {
  throw shuffle::ProgramError(place_of_sent() + error.what());
}

void Job::emit_to(RecordShuffle& shuffle, uint32_t partition, const void* key, const void* value) {
  const shuffle::Record record = encoded(key, value);
  send_record(shuffle, partition, shuffle::key_hash(record.key), record);
}

void Job::open_records(shuffle::RunStore& store, int partition) try {
  records_.emplace(store.open(static_cast<uint32_t>(partition)));
} catch (const shuffle::ProgramError& error) {
  throw shuffle::ProgramError(place_of_received() + error.what());
}

bool Job::next_record(const void*& key, const void*& value) try {
  shuffle::Record record;
  if (!records_ || !records_->next(record)) return false;
  decode(record, key, value);
  return true;
} catch (const shuffle::ProgramError& error) {
  throw shuffle::ProgramError(place_of_received() + error.what());
}

void Job::decode(const shuffle::Record& record, const void*& key, const void*& value) {
  key = key_slot_.decode(configuration_.key_class, record.key);
  value = value_slot_.decode(configuration_.value_class, record.value);
  if (++figures_.received_records % kRecordsBetweenLooks == 0) report_sometimes();
}

void Job::report_sometimes() {
  if (!control_) return;
  const uint64_t now = base::now_ns();
  if (now - reported_ns_ < kReportEveryNs) return;
  reported_ns_ = now;
  control_->report(current_figures());
}

void Job::refuse_left_tasks() const {
  throw shuffle::ProgramError(
      std::string("MPI_D_Finalize() called before all tasks were run: ") + (side_ == Side::o ? "O" : "A") + " task " +
      std::to_string(task_) +
      " would be the next one\n  Remedy: go on until MPI_D_Next_task() returns 0 (in Python, to the "
      "end of tasks()), and leave tasks out by doing nothing in them");
}

// A part of a round that was restored, and that a later round had written anew, perhaps in another process.
void Job::refuse_lost_parts() {
  const std::vector<std::string> of_others = compression::parts_of_others();
  int count = static_cast<int>(of_others.size());
  MPI_Allreduce(MPI_IN_PLACE, &count, 1, MPI_INT, MPI_MAX, communicator_);
  if (count == 0) return;
  std::set<std::string> at_hand;
  for (int process = 0; process < placement_.process_count(); ++process) {
    std::string names;
    if (process == placement_.process())
      for (const std::string& name : compression::parts_at_hand()) names.append(name).push_back('\0');
    broadcast_bytes(communicator_, process, names);
    for (size_t begin = 0; begin < names.size(); begin += std::strlen(names.c_str() + begin) + 1)
      at_hand.insert(names.c_str() + begin);
  }
  for (const std::string& name : of_others)
    if (!at_hand.contains(name))
      throw Failure(MPI_D_ERR_CHECKPOINT,
                    name + " is lost, or has been changed, and is of a round that is not run again",
                    "empty the directory of MPI_D_CHECKPOINT (--checkpoint), and start the job again");
  MPI_Barrier(communicator_);  // where one of them is lost, nobody comes out of it
}

void Job::complete() {
  refuse_lost_parts();  // when all tasks of all processes have ended
  for (const MPI_D_Publish_step step :
       {MPI_D_PUBLISH_LOOK, MPI_D_PUBLISH_BEGIN, MPI_D_PUBLISH_NAME, MPI_D_PUBLISH_END}) {
    compression::publish_parts(step);
    MPI_Barrier(communicator_);  // where one process fails, nobody comes out of it; behind the last one it is done
  }
  figures_ = current_figures();
  if (!control_) return;
  control_->report(figures_);
  control_->tell_over();
}

}  // namespace spillway::keyvalue
