// What a simulated sorter has to do with a block: it deals the records out and has them written. Keeps account of what
// its time goes to.
#pragma once

#include <cstdint>

#include "cluster.h"

namespace spillway::simulation {

class SorterTime {
 public:
  // `writes_behind`: a block may be on its way to the disk while the next one is dealt out, as in src/sort.
  SorterTime(SortCluster& cluster, const Model& model, uint32_t host, bool writes_behind)
      : cluster_(cluster), model_(model), host_(host), writes_behind_(writes_behind), since_s_(now_s()) {}

  // Between this and the call before it the sorter has waited.
  void deal_out(uint64_t bytes) {
    waiting_s_ += lap();
    simgrid::s4u::this_actor::sleep_for(static_cast<double>(bytes) / model_.deal_bytes_per_s);
    finish_write();
    written_s_ = cluster_.write_disk(host_, bytes);
    if (!writes_behind_) finish_write();
    computing_s_ += lap();
  }
  void finish() {
    waiting_s_ += lap();
    finish_write();
    computing_s_ += lap();
  }

  double computing_s() const { return computing_s_; }
  double waiting_s() const { return waiting_s_; }

 private:
  static double now_s() { return simgrid::s4u::Engine::get_clock(); }
  double lap() {
    const double before_s = since_s_;
    since_s_ = now_s();
    return since_s_ - before_s;
  }
  void finish_write() {
    if (written_s_ > now_s()) simgrid::s4u::this_actor::sleep_until(written_s_);
  }

  SortCluster& cluster_;
  const Model& model_;
  const uint32_t host_;
  const bool writes_behind_;
  double since_s_;
  double written_s_ = 0;  // when the last block is
  double computing_s_ = 0;
  double waiting_s_ = 0;
};

}  // namespace spillway::simulation
