// How long a broadcast from one node to all others takes on a cluster that SimGrid simulates.
//
//   broadcast-simulation ALGORITHM NODES BYTES PART_BYTES NODES_PER_LEAF [random:SEED] [acknowledgements]
//
// ALGORITHM is one of src/routing, or `mpi:` and a name that SMPI has for an implementation of MPI_Bcast (`mpi:ompi`:
// what Open MPI chooses), for which PART_BYTES means nothing. NODES are those that the data go to: the root is one
// more, as the paper counts. They come in the order of the topology unless `random` is given. With `acknowledgements`,
// these take 5% of the data's rate in the other direction, which is SimGrid's own figure. Prints the simulated seconds
// and SimGrid's version.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "cluster.h"
#include "mpi_library.h"
#include "simulated_broadcast.h"
#include "simulation/simulation_program.h"

namespace {

using namespace spillway;
using simulation::number;
using simulation::refuse;
namespace s4u = simgrid::s4u;

constexpr std::string_view kMpiPrefix = "mpi:";
constexpr std::string_view kRandomPrefix = "random:";

struct Setting {
  std::string algorithm;
  uint32_t nodes;
  uint64_t bytes;
  uint64_t part_bytes;
  uint32_t nodes_per_leaf;
  std::optional<uint64_t> seed;
  bool has_acknowledgements = false;
};

Setting setting_of(int argc, char** argv) {
  if (argc < 6) refuse("ALGORITHM NODES BYTES PART_BYTES NODES_PER_LEAF [random:SEED] [acknowledgements]");
  Setting setting{.algorithm = argv[1],
                  .nodes = static_cast<uint32_t>(number(argv[2], 1u << 20)),
                  .bytes = number(argv[3], uint64_t{1} << 50),
                  .part_bytes = number(argv[4], uint64_t{1} << 50),
                  .nodes_per_leaf = static_cast<uint32_t>(number(argv[5], 1u << 20)),
                  .seed = {}};
  for (int i = 6; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "acknowledgements") {
      setting.has_acknowledgements = true;
    } else if (word.starts_with(kRandomPrefix)) {
      setting.seed = number(argv[i] + kRandomPrefix.size(), UINT64_MAX);
    } else {
      refuse("unknown word: " + std::string(word));
    }
  }
  return setting;
}

// The root stays the first node.
std::vector<uint32_t> order_of(const Setting& setting) {
  std::vector<uint32_t> order(setting.nodes + 1);
  std::iota(order.begin(), order.end(), 0);
  if (setting.seed.has_value()) {
    std::mt19937_64 random(*setting.seed);
    // The standard library's own shuffle may differ from one to the next.
    for (uint32_t i = setting.nodes; i > 1; --i) std::swap(order[i], order[1 + random() % i]);
  }
  return order;
}

void configure(const Setting& setting) {
  s4u::Engine::set_config(std::string("network/crosstraffic:") + (setting.has_acknowledgements ? "yes" : "no"));
}

double simulate_couriers(const Setting& setting, routing::Broadcast algorithm) {
  const simulation::Cluster cluster(setting.nodes + 1, setting.nodes_per_leaf, simulation::Cluster::Latency::left_out);
  simulation::SimulatedBroadcast broadcast(cluster, algorithm, order_of(setting), setting.bytes, setting.part_bytes);
  double seconds = 0;
  s4u::Actor::create("broadcast", cluster.host(0), [&] { seconds = broadcast.run(); });
  s4u::Engine::get_instance()->run();
  return seconds;
}

double simulate_mpi_library(const Setting& setting) {
  if (setting.bytes > INT32_MAX) refuse("MPI_Bcast takes less than 2 GiB");
  simulation::configure_mpi_library(setting.algorithm.substr(kMpiPrefix.size()));
  const simulation::Cluster cluster(setting.nodes + 1, setting.nodes_per_leaf, simulation::Cluster::Latency::in_links);
  return simulation::run_mpi_library(cluster, order_of(setting), setting.bytes);
}

}  // namespace

int main(int argc, char** argv) {
  s4u::Engine engine(&argc, argv);
  simulation::begin_program("broadcast-simulation");
  const Setting setting = setting_of(argc, argv);
  configure(setting);
  routing::Broadcast algorithm{};
  double seconds = 0;
  if (setting.algorithm.starts_with(kMpiPrefix)) {
    seconds = simulate_mpi_library(setting);
  } else if (routing::find(setting.algorithm, algorithm)) {
    seconds = simulate_couriers(setting, algorithm);
  } else {
    refuse("unknown algorithm: " + setting.algorithm);
  }
  std::printf("%.6f s, SimGrid %s\n", seconds, SPILLWAY_SIMGRID_VERSION);
}
