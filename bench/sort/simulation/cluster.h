// The cluster as SimGrid simulates it: hosts with a full-duplex link each to switches that carry whatever their links
// do, a local disk each, and a parallel file system, whose bandwidth all share. Host 0 to read_hosts - 1 only read.
#pragma once

#include <cstdint>
#include <random>
#include <simgrid/s4u.hpp>
#include <vector>

#include "model.h"

namespace spillway::simulation {

class SortCluster {
 public:
  explicit SortCluster(const Model& model);

  simgrid::s4u::Host* host(uint32_t number) const { return hosts_[number]; }

  // Each returns when it is done, but those that return what to wait for. To be called by actors.
  void read_file_system(uint32_t host, uint64_t bytes);
  simgrid::s4u::CommPtr write_file_system(uint32_t host, uint64_t bytes);
  void send(uint32_t from, uint32_t to, uint64_t bytes);
  // A disk does one thing after the other. `pieces` are elsewhere on it than the one before.
  void read_disk(uint32_t host, uint64_t bytes, uint64_t pieces);
  // Returns when it will be over.
  double write_disk(uint32_t host, uint64_t bytes);

 private:
  // As many bytes as take so long.
  double varied(uint64_t bytes);
  double use_disk(uint32_t host, double seconds);

  const Model& model_;
  std::mt19937_64 random_;
  simgrid::s4u::Host* file_system_;
  std::vector<simgrid::s4u::Host*> hosts_;
  std::vector<double> disk_is_free_s_;  // when
};

}  // namespace spillway::simulation
