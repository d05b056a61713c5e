#include "keyvalue/checkpoint.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <thread>
#include <utility>

#include "base/available_memory.h"
#include "base/clock.h"
#include "keyvalue/broadcast_bytes.h"
#include "keyvalue/failure.h"
#include "keyvalue/kept_parts.h"
#include "shuffle/quiet_thread.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace spillway::keyvalue {

using compression::OutputPart;

namespace {

// Names of files; all others in the directory are left alone.
constexpr char kOfOTasks[] = "spillway-o-%x-%d-%d";  // start, process, number
constexpr char kOfATask[] = "spillway-a-%d";
constexpr char kOfRound[] = "spillway-round-%d-%d";  // round, process
constexpr char kLockFile[] = "spillway-lock";
constexpr std::string_view kPartial = ".partial";
constexpr char kCommandVariable[] = "MPI_D_CHECKPOINT_JOB";  // of mpidrun's: what it runs
constexpr char kTokenVariable[] = "MPI_D_CHECKPOINT_TOKEN";  // of mpidrun's: the same in all its starts of the job
// Servers of network file systems keep what a host that is lost has locked until its lease ends: NFS's for 90 s.
constexpr std::chrono::seconds kLockPatience{120};
constexpr std::chrono::milliseconds kLockInterval{200};
// A file is read where it is in pieces, and for each run from its own place: shorter ones take longer than to be sent.
constexpr uint64_t kLeastRunBytes = 4 * shuffle::Run::kLeastPieceBytes;
constexpr char kRoundDone[] = "spillway-round-%d-done";
constexpr uint32_t kBroadcast = shuffle::kEndOfWindow;  // the partition of a block that is what the driver broadcast

template <typename... Numbers>
std::string name_with(const char* format, Numbers... numbers) {
  char name[80];
  std::snprintf(name, sizeof name, format, numbers...);
  return name;
}

// What a name's numbers are where it is one of `format`, and nothing else.
bool is_named(const std::string& name, const char* format) {
  int numbers[3] = {0, 0, 0};
  std::sscanf(name.c_str(), format, &numbers[0], &numbers[1], &numbers[2]);
  return name == name_with(format, numbers[0], numbers[1], numbers[2]);
}

int first_number(const std::string& name, const char* format) {
  int numbers[3] = {-1, 0, 0};
  std::sscanf(name.c_str(), format, &numbers[0], &numbers[1], &numbers[2]);
  return numbers[0];
}

// Whose start has a lock file locked, or had.
std::string token_in(const base::Descriptor& file) {
  char token[256];
  const ssize_t size = pread(file.number(), token, sizeof token, 0);
  return {token, static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

// Where that fails, a restart that finds the file locked is refused at once.
void write_token(const base::Descriptor& file, const std::string& token) {
  if (ftruncate(file.number(), 0) != 0) return;
  if (pwrite(file.number(), token.data(), token.size(), 0) < 0) return;
  fsync(file.number());  // for other hosts
}

// Two jobs with the same command, the same tasks and part files of the same names are taken for one.
uint64_t number_of_job(const Placement& placement, const Configuration& configuration) {
  const char* command = std::getenv(kCommandVariable);
  const std::string plan = whole_input_plan(configuration);
  const std::string text = std::to_string(placement.mode()) + " " + std::to_string(placement.o_tasks()) + " " +
                           std::to_string(placement.a_tasks()) + " " +
                           std::to_string(static_cast<int>(configuration.key_class)) + " " +
                           std::to_string(static_cast<int>(configuration.value_class)) + " " +
                           compression::name_of(configuration.output_codec) + " " + std::to_string(plan.size()) + " " +
                           plan + " " + (command == nullptr ? "" : command);
  return XXH3_64bits(text.data(), text.size()) | 1;  // 0 says that there is none
}

}  // namespace

CheckpointDirectory::CheckpointDirectory(MPI_Comm communicator, const Placement& placement,
                                         const Configuration& configuration)
    : communicator_(communicator),
      directory_(configuration.checkpoint_directory),
      job_(number_of_job(placement, configuration)),
      process_(placement.process()),
      process_count_(placement.process_count()) {
  share_names();
  uint64_t bytes = own_bytes();
  uint64_t memory = base::available_memory();
  MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_UINT64_T, MPI_SUM, communicator_);
  MPI_Allreduce(MPI_IN_PLACE, &memory, 1, MPI_UINT64_T, MPI_MIN, communicator_);
  is_cached_ = bytes <= memory / 2;
}

uint64_t CheckpointDirectory::own_bytes() const {
  uint64_t bytes = 0;
  for (size_t i = 0; i < names_.size(); ++i) {
    std::error_code error;
    const uint64_t of_file = is_own(i) ? std::filesystem::file_size(path_of(names_[i]), error) : 0;
    if (!error) bytes += of_file;
  }
  return bytes;
}

// Held until the process ends, however it does. A start that was lost with its host may hold it for longer: the next
// one of the same mpidrun waits for that.
void CheckpointDirectory::lock() {
  const char* variable = std::getenv(kTokenVariable);
  const std::string token = variable == nullptr ? "" : variable;
  const auto end = std::chrono::steady_clock::now() + kLockPatience;
  for (bool is_waiting = false; !try_lock(); is_waiting = true) {
    if (token.empty() || token_in(lock_) != token || std::chrono::steady_clock::now() >= end)
      throw Failure(MPI_D_ERR_CHECKPOINT, directory_ + " is in use by a job that runs",
                    "name another directory with MPI_D_CHECKPOINT (--checkpoint), or wait for that job");
    if (!is_waiting)
      std::fprintf(stderr, "mpid: waiting until %s is not locked any more by the start before (at most %d s)\n",
                   directory_.c_str(), static_cast<int>(kLockPatience.count()));
    std::this_thread::sleep_for(kLockInterval);
  }
  write_token(lock_, token);
}

// Of a file, and by fcntl: so it holds on a network file system, too. False: somebody else has it.
bool CheckpointDirectory::try_lock() {
  const std::string path = path_of(kLockFile);
  lock_ = base::Descriptor(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock_)
    throw Failure(MPI_D_ERR_CHECKPOINT, "cannot write " + path + ": " + std::strerror(errno),
                  "name a directory that all processes can write to with MPI_D_CHECKPOINT (--checkpoint)");
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (fcntl(lock_.number(), F_OFD_SETLK, &whole) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  throw Failure(MPI_D_ERR_CHECKPOINT, "cannot lock " + path + ": " + std::strerror(errno),
                "name a directory of a file system that has locks with MPI_D_CHECKPOINT (--checkpoint)");
}

bool CheckpointDirectory::is_ours(const std::string& name) const {
  const std::string whole = is_partial(name) ? name.substr(0, name.size() - kPartial.size()) : name;
  return is_named(whole, kOfOTasks) || is_named(whole, kOfATask) || is_named(whole, kOfRound) ||
         is_named(whole, kRoundDone) || whole == kOfGathered;
}

void CheckpointDirectory::share_names() {
  std::string text;
  if (process_ == 0) {
    std::error_code error;
    std::filesystem::create_directories(directory_, error);
    if (error)
      throw Failure(MPI_D_ERR_CHECKPOINT, "cannot make the directory " + directory_ + ": " + error.message(),
                    "name another one with MPI_D_CHECKPOINT (--checkpoint)");
    lock();
    std::vector<std::string> names = checkpoint_names(directory_);
    std::erase_if(names, [&](const std::string& name) { return !is_ours(name); });
    const bool is_of_no_use = refuses_all(names);
    for (const std::string& name : names) {
      if (is_partial(name) || is_of_no_use) {
        remove(name);
      } else {
        text += name + "\n";
      }
    }
    if (is_of_no_use) remove(kOfGathered);
  }
  broadcast_bytes(communicator_, 0, text);
  for (size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    names_.push_back(text.substr(begin, end - begin));
}

// Nobody knows how the records were divided. `names` then has all but the file itself, which is the last to go.
bool CheckpointDirectory::refuses_all(std::vector<std::string>& names) const {
  const auto gathered = std::find(names.begin(), names.end(), kOfGathered);
  if (gathered == names.end() || open_if_whole(kOfGathered)) return false;
  for (const std::string& name : names)
    if (!is_partial(name) && name != kOfGathered) refuse_other_job(name, CheckpointReader(path_of(name)));
  std::fprintf(stderr, "mpid: warning: nothing else in %s is used without it\n", directory_.c_str());
  names.erase(gathered);
  return true;
}

std::unique_ptr<CheckpointReader> CheckpointDirectory::open_if_whole(const std::string& name) const {
  auto reader = std::make_unique<CheckpointReader>(path_of(name));
  if (!reader->is_whole(is_cached_)) {
    say_unused(name, "is damaged");
    return nullptr;
  }
  refuse_other_job(name, *reader);
  return reader;
}

// One whose head is damaged is of no job.
void CheckpointDirectory::refuse_other_job(const std::string& name, const CheckpointReader& reader) const {
  if (reader.job() == job_ || reader.job() == 0) return;
  throw Failure(
      MPI_D_ERR_CHECKPOINT,
      path_of(name) + " is of another job, or of one with other input, numbers of tasks or MPI_D_OUTPUT_CODEC",
      "name another directory with MPI_D_CHECKPOINT (--checkpoint), or remove what is in this one");
}

std::unique_ptr<CheckpointReader> CheckpointDirectory::open_with_parts(const std::string& name,
                                                                       bool (*is_lost)(const OutputPart& part)) const {
  std::unique_ptr<CheckpointReader> reader = open_if_whole(name);
  if (!reader) return nullptr;
  for (const OutputPart& part : parts_in(reader->note())) {
    if (!is_lost(part)) continue;
    say_unused(name,
               "goes with " + part.partial + ", which " + (compression::is_gone(part) ? "is gone" : "has changed"));
    return nullptr;
  }
  return reader;
}

void CheckpointDirectory::say_unused(const std::string& name, const std::string& cause) const {
  std::fprintf(stderr, "mpid: warning: %s %s, and is not used\n", path_of(name).c_str(), cause.c_str());
}

std::unique_ptr<CheckpointWriter> CheckpointDirectory::writer_of(const std::string& name) const {
  return std::make_unique<CheckpointWriter>(path_of(name), job_);
}

void CheckpointDirectory::remove_all() const {
  if (process_ != 0) return;
  for (const std::string& name : checkpoint_names(directory_))
    if (is_ours(name) && name != kOfGathered) remove(name);
  remove(kOfGathered);  // which a start that finds any of the others needs
  remove(kLockFile);
}

MapReduceCheckpoint::MapReduceCheckpoint(MPI_Comm communicator, const Placement& placement,
                                         const Configuration& configuration)
    : directory_(communicator, placement, configuration),
      interval_ns_(configuration.checkpoint_interval_ns),
      o_done_(static_cast<size_t>(placement.o_tasks()), 0),
      a_done_(static_cast<size_t>(placement.a_tasks()), 0),
      last_commit_ns_(base::now_ns()) {
  read_own_files();
  share(o_done_);
  share(a_done_);
  refuse_overlap();
}

MapReduceCheckpoint::~MapReduceCheckpoint() {
  if (publisher_.joinable()) publisher_.join();
}

void MapReduceCheckpoint::read_own_files() {
  for (size_t i = 0; i < directory_.names().size(); ++i) {
    const std::string& name = directory_.names()[i];
    if (!directory_.is_own(i)) continue;
    std::unique_ptr<CheckpointReader> reader =
        directory_.open_with_parts(name, [](const OutputPart& part) { return !compression::is_as_kept(part); });
    if (reader) {
      compression::adopt_parts(parts_in(reader->note()));
      read(i, std::move(reader));
    } else {
      directory_.remove(name);
    }
  }
  start_ = std::random_device()();
  MPI_Bcast(&start_, 1, MPI_UINT32_T, 0, directory_.communicator());
}

void MapReduceCheckpoint::read(size_t number, std::unique_ptr<CheckpointReader> reader) {
  const std::string& name = directory_.names()[number];
  if (is_named(name, kOfATask)) {
    a_done_.at(static_cast<size_t>(first_number(name, kOfATask))) = 1;
  } else if (is_named(name, kOfOTasks)) {
    for (const int task : reader->numbers()) ++o_done_.at(static_cast<size_t>(task));
    readers_.emplace(number, std::move(reader));
  }
}

void MapReduceCheckpoint::share(std::vector<int>& done) const {
  MPI_Allreduce(MPI_IN_PLACE, done.data(), static_cast<int>(done.size()), MPI_INT, MPI_SUM, directory_.communicator());
}

void MapReduceCheckpoint::refuse_overlap() const {
  const auto twice = std::find_if(o_done_.begin(), o_done_.end(), [](int count) { return count > 1; });
  if (twice != o_done_.end())
    throw Failure(MPI_D_ERR_CHECKPOINT,
                  directory_.path_of("") + " has the records of O task " + std::to_string(twice - o_done_.begin()) +
                      " more than once: two jobs have used it at the same time",
                  "empty it, or name another directory with MPI_D_CHECKPOINT (--checkpoint)");
}

bool MapReduceCheckpoint::is_restored() const {
  const auto is_done = [](int count) { return count != 0; };
  return std::any_of(o_done_.begin(), o_done_.end(), is_done) || std::any_of(a_done_.begin(), a_done_.end(), is_done);
}

std::vector<int> MapReduceCheckpoint::o_tasks_done() const {
  std::vector<int> tasks;
  for (size_t task = 0; task < o_done_.size(); ++task)
    if (o_done_[task] != 0) tasks.push_back(static_cast<int>(task));
  return tasks;
}

std::vector<KeptRun> MapReduceCheckpoint::runs(const Route& to_a_tasks) {
  std::vector<KeptRun> found;
  for (const auto& [number, reader] : readers_) {
    for (const KeptBlock& block : reader->blocks())
      if (is_needed(block) && block.header.bytes >= kLeastRunBytes)
        found.push_back({block.header.partition, number, reader->run_of(block)});
    reader->forget_checksums();
  }
  std::vector<KeptRun> runs = exchange_runs(directory_.communicator(), to_a_tasks, std::move(found));
  std::vector<std::shared_ptr<const shuffle::RunFile>> files;
  for (const std::string& name : directory_.names())
    files.push_back(std::make_shared<shuffle::RunFile>(directory_.path_of(name), directory_.is_cached()));
  for (KeptRun& kept : runs) kept.run.file = files.at(kept.file);
  return runs;
}

void MapReduceCheckpoint::send_again(const CheckpointDirectory::TakeBlock& send) {
  for (const auto& [number, reader] : readers_)
    reader->for_each_block(
        [this](const KeptBlock& block) { return is_needed(block) && block.header.bytes < kLeastRunBytes; }, send);
  readers_.clear();
}

CheckpointWriter& MapReduceCheckpoint::writer() {
  if (!writer_) writer_ = directory_.writer_of(name_with(kOfOTasks, start_, directory_.process(), file_count_++));
  return *writer_;
}

void MapReduceCheckpoint::keep(shuffle::SortedList& list) { writer().add_list(list); }

bool MapReduceCheckpoint::is_commit_due() const {
  return !uncommitted_.empty() && base::now_ns() - last_commit_ns_ >= interval_ns_;
}

void MapReduceCheckpoint::commit() {
  if (uncommitted_.empty()) return;
  finish_commits();
  writer().close(uncommitted_, note_of(compression::parts_to_keep()));
  uncommitted_.clear();
  publisher_ =
      shuffle::quiet_thread("mpid-publish", [this, writer = std::shared_ptr<CheckpointWriter>(std::move(writer_))] {
        try {
          writer->publish();
        } catch (...) {
          publishing_error_ = std::current_exception();
        }
      });
  last_commit_ns_ = base::now_ns();
}

void MapReduceCheckpoint::finish_commits() {
  if (publisher_.joinable()) publisher_.join();
  if (publishing_error_) std::rethrow_exception(publishing_error_);
}

void MapReduceCheckpoint::a_task_ended(int task) {
  const auto writer = directory_.writer_of(name_with(kOfATask, task));
  writer->close({task}, note_of(compression::parts_to_keep()));
  writer->publish();
}

RoundCheckpoint::RoundCheckpoint(MPI_Comm communicator, const Placement& placement, const Configuration& configuration)
    : directory_(communicator, placement, configuration) {
  std::vector<int> rounds;
  for (size_t i = 0; i < directory_.names().size(); ++i) {
    const std::string& name = directory_.names()[i];
    if (is_named(name, kRoundDone)) {
      rounds.push_back(first_number(name, kRoundDone));
    } else if (!is_named(name, kOfRound) && directory_.is_own(i)) {
      directory_.open_if_whole(name);  // of another job: refused
    }
  }
  std::sort(rounds.rbegin(), rounds.rend());
  for (const int round : rounds)
    if (find_round(round)) break;
  forget_rounds_after(rounds);
  share_broadcasts();
}

// They are run again, and until that is done no mixture of both may count as complete.
void RoundCheckpoint::forget_rounds_after(const std::vector<int>& rounds) const {
  if (directory_.process() == 0) {
    for (const int round : rounds)
      if (round > last_round_) directory_.remove(name_with(kRoundDone, round));
    sync_directory(directory_.path_of(""));
  }
  MPI_Barrier(directory_.communicator());
}

// One process has read them.
void RoundCheckpoint::share_broadcasts() {
  int owner = broadcasts_.empty() ? -1 : directory_.process();
  MPI_Allreduce(MPI_IN_PLACE, &owner, 1, MPI_INT, MPI_MAX, directory_.communicator());
  if (owner < 0) return;
  auto count = static_cast<uint64_t>(broadcasts_.size());
  MPI_Bcast(&count, 1, MPI_UINT64_T, owner, directory_.communicator());
  broadcasts_.resize(count);
  for (std::string& bytes : broadcasts_) broadcast_bytes(directory_.communicator(), owner, bytes);
}

std::string RoundCheckpoint::name_of(int round, int process) const { return name_with(kOfRound, round, process); }

// In all processes the same.
bool RoundCheckpoint::find_round(int round) {
  readers_.clear();
  broadcasts_.clear();
  const auto done = directory_.open_if_whole(name_with(kRoundDone, round));
  int is_whole = done && done->numbers().size() == 1 ? 1 : 0;
  for (int i = 0; is_whole == 1 && i < done->numbers()[0]; ++i) {
    if (!directory_.is_own(static_cast<size_t>(i))) continue;
    const std::string name = name_of(round, i);
    const auto& names = directory_.names();
    const bool is_there = std::find(names.begin(), names.end(), name) != names.end();
    // Parts that have changed are of tasks of later rounds, which are run again.
    std::unique_ptr<CheckpointReader> reader =
        is_there ? directory_.open_with_parts(name, compression::is_gone) : nullptr;
    if (reader) {
      readers_.push_back(std::move(reader));
    } else {
      is_whole = 0;
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &is_whole, 1, MPI_INT, MPI_MIN, directory_.communicator());
  if (is_whole == 0) {
    readers_.clear();
    return false;
  }
  last_round_ = round;
  for (const auto& reader : readers_) {
    compression::adopt_parts(parts_in(reader->note()));
    reader->for_each_block([](const KeptBlock& block) { return block.header.partition == kBroadcast; },
                           [&](const shuffle::BlockHeader& header, const char* block) {
                             broadcasts_.emplace_back(block + sizeof header, header.bytes);
                           });
  }
  return true;
}

void RoundCheckpoint::send_again(const CheckpointDirectory::TakeBlock& send) {
  for (const auto& reader : readers_)
    reader->for_each_block([](const KeptBlock& block) { return block.header.partition != kBroadcast; }, send);
  readers_.clear();
}

// Of the rounds before, the last two stay: all processes have seen that these are complete.
void RoundCheckpoint::begin_round(int round) {
  round_ = round;
  if (directory_.process() == 0) directory_.remove(name_with(kRoundDone, round - 3));
  directory_.remove(name_of(round - 3, directory_.process()));
  writer_ = directory_.writer_of(name_of(round, directory_.process()));
}

void RoundCheckpoint::commit(const std::vector<std::string>& broadcasts) {
  if (directory_.process() == 0)
    for (const std::string& bytes : broadcasts)
      writer_->add_block({shuffle::kBlockVersion, kBroadcast, bytes.size(), 0}, bytes.data());
  writer_->close({}, note_of(compression::all_parts_to_keep()));
  writer_->publish();
  writer_.reset();
  MPI_Barrier(directory_.communicator());
  if (directory_.process() != 0) return;
  int process_count = 0;
  MPI_Comm_size(directory_.communicator(), &process_count);
  const auto done = directory_.writer_of(name_with(kRoundDone, round_));
  done->close({process_count});
  done->publish();
}

}  // namespace spillway::keyvalue
