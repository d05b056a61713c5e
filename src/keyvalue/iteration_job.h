// The iteration mode: rounds in which records go from O to A tasks, and what these send back comes to the O tasks of
// the next round, or to the driver, process 0, which says between two rounds whether there is another one. Tasks stay
// in their processes, O tasks on the hosts that have their input, so that a program keeps in memory what does not
// change from round to round (Twister, sections 2, 3).
//
// Where values are combined and nodes have several tasks, they are combined in two steps: by all tasks of a node, whose
// processes divide the A tasks among them, and what is left of that goes to the A tasks (Twister, section 5: local
// reduction). So a key goes from one node to another once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "keyvalue/checkpoint.h"
#include "keyvalue/job.h"
#include "shuffle/run_store.h"

namespace spillway::keyvalue {

class IterationJob final : public Job {
 public:
  explicit IterationJob(const Configuration& configuration);
  ~IterationJob() override;

  bool may_send() const override { return side_ != Side::none; }
  bool may_receive() const override { return side_ != Side::none || phase_ == Phase::between; }
  bool next_task() override;
  void send(const void* key, const void* value) override;
  bool receive(const void*& key, const void*& value) override;
  void finish() override;

  bool is_driver() const override { return placement_.process() == 0; }
  bool next_round(bool goes_on) override;
  int round() const override { return round_; }
  void send_to_driver(const void* key, const void* value) override;
  void broadcast(MPI_D_Bytes& bytes) override;

 private:
  enum class Phase { o, a, between, over };

  void begin() override;
  Figures current_figures() const override;
  std::unique_ptr<shuffle::RunStore> new_store(const Route& route) const;
  void prepare_reduction();
  void begin_round();
  void restore_round();
  void end_task();
  bool begin_own_task(Side side, int task, int tasks, shuffle::RunStore* store);
  void send_reduced();
  void end_o_phase();
  void end_a_phase();
  void count_spills(const std::unique_ptr<shuffle::RunStore>& store);

  Phase phase_ = Phase::o;
  int round_ = 0;
  int next_task_ = 0;  // of the current phase
  shuffle::Combiner no_combiner_;
  std::unique_ptr<RecordShuffle> to_a_;
  std::unique_ptr<RecordShuffle> to_o_;
  std::unique_ptr<shuffle::RunStore> a_store_;  // what comes for the A tasks of this round
  std::unique_ptr<shuffle::RunStore> o_store_;  // for the O tasks of this round, or from the A tasks on of the next one

  MPI_Comm node_ = MPI_COMM_NULL;           // where a node reduces
  std::unique_ptr<RecordShuffle> in_node_;  // from its O tasks to those that send for them
  std::unique_ptr<shuffle::RunStore> node_store_;

  std::unique_ptr<RoundCheckpoint> checkpoint_;  // nullptr: none was asked for
  bool is_round_restored_ = false;               // the current one, which is over
  std::vector<std::string> broadcasts_;          // of this round
  size_t restored_broadcasts_ = 0;               // of the last start, that have been given again
  std::string broadcast_;
  uint64_t spilled_bytes_ = 0;  // by stores that are gone
  uint64_t phase_begin_ns_ = 0;
};

}  // namespace spillway::keyvalue
