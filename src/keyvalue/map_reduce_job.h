// The modes common and MapReduce: records go from O to A tasks, once.
#pragma once

#include <memory>
#include <vector>

#include "keyvalue/checkpoint.h"
#include "keyvalue/job.h"
#include "shuffle/run_store.h"

namespace spillway::keyvalue {

class MapReduceJob final : public Job {
 public:
  MapReduceJob(MPI_D_Mode mode, const Configuration& configuration);

  bool next_task() override;
  void send(const void* key, const void* value) override;
  bool receive(const void*& key, const void*& value) override;
  void finish() override;

 private:
  enum class Phase { o, a, over };

  void begin() override;
  Figures current_figures() const override;
  bool is_common() const { return placement_.mode() == MPI_D_MODE_COMMON; }
  int next_o_task();
  void begin_from_checkpoint();
  std::vector<int> a_tasks_done() const;  // by an earlier start
  bool begin_o_task();
  bool begin_a_task();
  void end_task();
  void end_o_phase();

  Phase phase_ = Phase::o;
  int next_task_ = 0;                                // of this phase, of the O phase where nobody gives them out
  bool has_begun_only_task_ = false;                 // of the common mode
  std::unique_ptr<MapReduceCheckpoint> checkpoint_;  // nullptr: none was asked for
  std::unique_ptr<shuffle::RunStore> store_;
  std::unique_ptr<RecordShuffle> shuffle_;  // in the O phase
  uint64_t a_begin_ns_ = 0;
};

}  // namespace spillway::keyvalue
