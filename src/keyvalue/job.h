// One process of a key-value job: what the functions of mpid.h do. What the modes have in common; each is a class of
// its own (MapReduceJob, IterationJob, StreamingJob) that says when tasks begin and which way their records go.
//
// All of it is called by the program's thread, the only one that calls MPI (keyvalue/record_shuffle.h).
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "keyvalue/configuration.h"
#include "keyvalue/control_connection.h"
#include "keyvalue/figures.h"
#include "keyvalue/gather_checkpoint.h"
#include "keyvalue/placement.h"
#include "keyvalue/record_shuffle.h"
#include "shuffle/combiner.h"
#include "shuffle/item_class.h"
#include "shuffle/key_order.h"
#include "shuffle/run_merge.h"
#include "shuffle/run_store.h"

namespace spillway::keyvalue {

class Job {
 public:
  enum class Side { none, o, a };

  // Collective. Throws Failure.
  static std::unique_ptr<Job> make(MPI_D_Mode mode, const Configuration& configuration);
  // Collective, after finish().
  virtual ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // All of these throw Failure where it is too late.
  void set_compare(MPI_D_Compare_function compare, void* user);
  void set_partition(MPI_D_Partition_function partition, void* user);
  void set_combine(MPI_D_Combine_function combine, void* user,
                   shuffle::Combiner::Owner owner = shuffle::Combiner::Owner::program);

  // Of the current task.
  Side side() const { return side_; }
  int task() const { return task_; }
  const Placement& placement() const { return placement_; }
  virtual bool may_send() const { return side_ == Side::o; }
  virtual bool may_receive() const { return side_ == Side::a; }
  const Configuration& configuration() const { return configuration_; }

  // Whether this process looks at that part of the input before the tasks begin.
  bool is_nearest(int part) const;
  // Collective, before the first task: the bytes of all processes.
  void all_gather(MPI_D_Bytes& bytes);

  virtual bool next_task() = 0;
  // REQUIRES: may_send().
  virtual void send(const void* key, const void* value) = 0;
  // REQUIRES: may_receive(). False at the end.
  virtual bool receive(const void*& key, const void*& value) = 0;
  // The same, but false also where one would have to wait for a record.
  virtual bool receive_at_once(const void*& key, const void*& value) { return receive(key, value); }
  // Sends and takes what is still to come.
  virtual void finish() = 0;

  // Another start of the job would be of no use.
  void tell_over() const {
    if (control_) control_->tell_over_at_end();
  }

  // Of one mode; the others throw Failure.
  virtual bool is_driver() const;
  virtual bool next_round(bool goes_on);
  virtual int round() const;
  virtual void send_to_driver(const void* key, const void* value);
  virtual void broadcast(MPI_D_Bytes& bytes);
  virtual void flush();
  virtual void end_window();
  virtual bool next_window();

 protected:
  // So often a task looks for what has come, however slowly its list fills, and whether to report.
  static constexpr uint64_t kRecordsBetweenLooks = 1 << 16;

  Job(MPI_D_Mode mode, const Configuration& configuration);

  virtual void begin() = 0;
  virtual Figures current_figures() const = 0;

  void require_not_begun() const;
  void mark_begun() { is_begun_ = true; }
  bool is_begun() const { return is_begun_; }

  // To the one of the first `tasks` partitions that the record belongs to, or to a certain one.
  void emit(RecordShuffle& shuffle, int tasks, const void* key, const void* value);
  void emit_to(RecordShuffle& shuffle, uint32_t partition, const void* key, const void* value);
  void decode(const shuffle::Record& record, const void*& key, const void*& value);
  void begin_task(Side side, int task);
  // The records of a partition are what the current task, or the driver, receives; and the next of them, if any.
  void open_records(shuffle::RunStore& store, int partition);
  bool next_record(const void*& key, const void*& value);
  void refuse_checkpoint(const char* mode) const;
  // Each process is a task (common, streaming).
  void be_only_task();
  void report_sometimes();
  // The program ends with the current task, and others, not run: what they would have written is missing.
  [[noreturn]] void refuse_left_tasks() const;
  // Collective. All tasks of all processes have ended: their output gets its names.
  void complete();

  MPI_Comm communicator_ = MPI_COMM_NULL;
  Configuration configuration_;
  Placement placement_;
  shuffle::KeyOrder order_;
  shuffle::Combiner combiner_;
  std::optional<shuffle::RunMerge> records_;  // of the current task, or of the driver
  std::unique_ptr<ControlConnection> control_;
  std::optional<GatherCheckpoint> gathers_;  // with checkpoints
  Side side_ = Side::none;
  int task_ = 0;
  Figures figures_;
  uint64_t begin_ns_ = 0;

 private:
  void find_hosts();
  void refuse_lost_parts();
  void gather(const MPI_D_Bytes& bytes);
  shuffle::Record encoded(const void* key, const void* value) const;
  void send_record(RecordShuffle& shuffle, uint32_t partition, uint64_t hash, const shuffle::Record& record);
  uint32_t partition_by_program(int tasks, const void* key, const void* value) const;
  int call_partition(int tasks, const void* key, const void* value) const;
  std::string place(uint64_t record) const;
  std::string place_of_sent() const { return place(figures_.emitted_records - emitted_before_); }
  std::string place_of_received() const { return place(figures_.received_records - received_before_); }

  std::string gathered_;
  MPI_D_Partition_function partition_ = nullptr;
  void* partition_user_ = nullptr;
  bool is_begun_ = false;
  uint64_t emitted_before_ = 0;  // the current task
  uint64_t received_before_ = 0;
  shuffle::ItemSlot key_slot_;
  shuffle::ItemSlot value_slot_;
  uint64_t reported_ns_ = 0;
};

}  // namespace spillway::keyvalue
