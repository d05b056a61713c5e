// What a job keeps so that it can go on after a process, a node or all of it was lost: the records of O tasks that have
// ended, or those of the last rounds. A directory that all processes see holds files of keyvalue/checkpoint_file.h.
//
// MapReduce: each process writes what it sends into a file, and every few seconds, between two O tasks, it completes
// the file with the numbers of the tasks whose records these are. When the job is started again, the tasks are not run:
// A tasks find these records where they are, but for those of short blocks, which are sent. A tasks that have ended are
// left out. Part files of these tasks must be as they were,
// and get their names with all others.
//
// Iteration: each process writes what its A tasks send into a file of the round. A round is complete when process 0 has
// written that, after all files were. At least two are kept: where a file of the last one was damaged, the job goes on
// from the one before.
//
// All of it is called by the program's thread; files are brought to the disk by another one meanwhile.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "compression/output_parts.h"
#include "keyvalue/checkpoint_file.h"
#include "keyvalue/configuration.h"
#include "keyvalue/kept_runs.h"
#include "keyvalue/placement.h"
#include "shuffle/sorted_list.h"

namespace spillway::keyvalue {

// The file of keyvalue/gather_checkpoint.h.
inline constexpr char kOfGathered[] = "spillway-gathered";

// What both have in common: where the files are, of which job, and who says what.
class CheckpointDirectory {
 public:
  using TakeBlock = CheckpointReader::TakeBlock;

  // Collective. Makes it where it is not there. Throws Failure where it is of another job.
  CheckpointDirectory(MPI_Comm communicator, const Placement& placement, const Configuration& configuration);

  MPI_Comm communicator() const { return communicator_; }
  int process() const { return process_; }
  std::string path_of(const std::string& name) const { return directory_ + "/" + name; }
  // Those that were there at the beginning, the same in all processes.
  const std::vector<std::string>& names() const { return names_; }
  // How they are read: by way of the file cache where each machine has memory for all, as most are read twice.
  bool is_cached() const { return is_cached_; }
  // File number i of those is read by process i modulo their number.
  bool is_own(size_t number) const {
    return number % static_cast<size_t>(process_count_) == static_cast<size_t>(process_);
  }
  std::unique_ptr<CheckpointReader> open_if_whole(const std::string& name) const;
  // The same, where no part file of its note is lost.
  std::unique_ptr<CheckpointReader> open_with_parts(const std::string& name,
                                                    bool (*is_lost)(const compression::OutputPart& part)) const;
  void say_unused(const std::string& name, const std::string& cause) const;
  std::unique_ptr<CheckpointWriter> writer_of(const std::string& name) const;
  // Of no use any more, or never.
  void remove(const std::string& name) const { remove_checkpoint_file(path_of(name)); }
  // The job has ended well in all processes, and nothing of it stays.
  void remove_all() const;

 private:
  void lock();
  bool try_lock();
  void share_names();
  bool refuses_all(std::vector<std::string>& names) const;
  void refuse_other_job(const std::string& name, const CheckpointReader& reader) const;
  bool is_ours(const std::string& name) const;
  uint64_t own_bytes() const;

  MPI_Comm communicator_;
  std::string directory_;
  uint64_t job_;
  int process_;
  int process_count_;
  base::Descriptor lock_;  // of process 0
  std::vector<std::string> names_;
  bool is_cached_ = false;
};

class MapReduceCheckpoint {
 public:
  // Collective. Reads what is there.
  MapReduceCheckpoint(MPI_Comm communicator, const Placement& placement, const Configuration& configuration);
  ~MapReduceCheckpoint();

  bool is_o_task_done(int task) const { return o_done_[static_cast<size_t>(task)]; }
  bool is_a_task_done(int task) const { return a_done_[static_cast<size_t>(task)]; }
  bool is_restored() const;
  const CheckpointDirectory& directory() const { return directory_; }
  std::vector<int> o_tasks_done() const;
  // Collective. What those tasks had sent to those of this process's A tasks that have not ended, of long blocks.
  std::vector<KeptRun> runs(const Route& to_a_tasks);
  // The short ones, of which this process read some files, to all such tasks. REQUIRES: runs() has been called.
  void send_again(const CheckpointDirectory::TakeBlock& send);

  // A list that is going to be sent, of tasks that have not been committed. It must stay until release(), and what pads
  // it is set.
  void keep(shuffle::SortedList& list);
  void release(const shuffle::SortedList& list) {
    if (writer_) writer_->release(list);
  }
  void o_task_ended(int task) { uncommitted_.push_back(task); }
  bool is_commit_due() const;
  // REQUIRES: all that the ended tasks have sent has been kept.
  void commit();
  // Waits until all that was committed is on the disk.
  void finish_commits();
  void a_task_ended(int task);
  void remove_all() const { directory_.remove_all(); }

 private:
  CheckpointWriter& writer();
  void read_own_files();
  void read(size_t number, std::unique_ptr<CheckpointReader> reader);
  bool is_needed(const KeptBlock& block) const { return !is_a_task_done(static_cast<int>(block.header.partition)); }
  void share(std::vector<int>& done) const;
  void refuse_overlap() const;

  CheckpointDirectory directory_;
  uint64_t interval_ns_;
  std::vector<int> o_done_;  // by task
  std::vector<int> a_done_;
  std::map<size_t, std::unique_ptr<CheckpointReader>> readers_;  // by number of the name
  uint32_t start_ = 0;                                           // in the names of files: another one in each start
  int file_count_ = 0;
  std::unique_ptr<CheckpointWriter> writer_;
  std::vector<int> uncommitted_;
  uint64_t last_commit_ns_;
  std::thread publisher_;  // of the file before
  std::exception_ptr publishing_error_;
};

class RoundCheckpoint {
 public:
  // Collective. Finds the last round that is whole; -1: there is none.
  RoundCheckpoint(MPI_Comm communicator, const Placement& placement, const Configuration& configuration);

  int last_round() const { return last_round_; }
  const CheckpointDirectory& directory() const { return directory_; }
  // Of that round: what the driver had broadcast, call by call, and what A tasks had sent, of which this process read
  // some files.
  const std::vector<std::string>& broadcasts() const { return broadcasts_; }
  void send_again(const CheckpointDirectory::TakeBlock& send);

  void begin_round(int round);
  // As those of MapReduceCheckpoint.
  void keep(shuffle::SortedList& list) {
    if (writer_) writer_->add_list(list);  // of a round that was restored, nothing is kept
  }
  void release(const shuffle::SortedList& list) {
    if (writer_) writer_->release(list);
  }
  // Collective, when all of the round's records have been kept. Afterwards it is not run again.
  void commit(const std::vector<std::string>& broadcasts);
  // No list is used after that.
  void remove_all() {
    writer_.reset();
    directory_.remove_all();
  }

 private:
  bool find_round(int round);
  void share_broadcasts();
  void forget_rounds_after(const std::vector<int>& rounds) const;
  std::string name_of(int round, int process) const;

  CheckpointDirectory directory_;
  int last_round_ = -1;
  int round_ = 0;
  std::vector<std::string> broadcasts_;
  std::vector<std::unique_ptr<CheckpointReader>> readers_;
  std::unique_ptr<CheckpointWriter> writer_;
};

}  // namespace spillway::keyvalue
