// How long sorting by way of local disks takes on the cluster of hybrid-sort.txt, which SimGrid simulates.
//
//   sort-simulation DESIGN PROCESSES BYTES [NAME=NUMBER...]
//
// DESIGN is `two-sided`, the paper's existing one (section 3); `hybrid`, its own (section 4), with buckets dealt out
// collectively and the existing final stage; or `spillway`, that of src/sort. NAME=NUMBER changes the model (model.h):
// read-hosts (default: a quarter of the hosts, 0: all read and sort), disk-rate, file-system-rate and link-rate in
// bytes/s, seek-us, latency-us, spread-percent, seed, blocks, receive-buffers. Prints what it found as JSON.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "cluster.h"
#include "finish_stage.h"
#include "model.h"
#include "read_stage.h"
#include "simulation/simulation_program.h"
#include "sort/failure.h"

namespace {

using namespace spillway;
using simulation::Model;
using simulation::number;
using simulation::refuse;

constexpr uint64_t kRecordBytes = 100;

enum class Design { two_sided, hybrid, spillway };

Design design_of(const std::string& name) {
  const std::map<std::string, Design> designs = {
      {"two-sided", Design::two_sided}, {"hybrid", Design::hybrid}, {"spillway", Design::spillway}};
  const auto found = designs.find(name);
  if (found == designs.end()) refuse("unknown design: " + name);
  return found->second;
}

uint64_t number_or_zero(const char* text) { return std::strcmp(text, "0") == 0 ? 0 : number(text, uint64_t{1} << 50); }

void change(Model& model, const std::string& word) {
  const size_t end = word.find('=');
  if (end == std::string::npos) refuse("not NAME=NUMBER: " + word);
  const std::string name = word.substr(0, end);
  const uint64_t value = number_or_zero(word.c_str() + end + 1);
  const auto real = static_cast<double>(value);
  if (name == "read-hosts") {
    model.read_hosts = static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX));
  } else if (name == "disk-rate") {
    model.disk_bytes_per_s = real;
  } else if (name == "file-system-rate") {
    model.file_system_bytes_per_s = real;
  } else if (name == "link-rate") {
    model.link_bytes_per_s = real;
  } else if (name == "seek-us") {
    model.seek_s = real * 1e-6;
  } else if (name == "latency-us") {
    model.latency_s = real * 1e-6;
  } else if (name == "spread-percent") {
    model.spread = real / 100;
  } else if (name == "seed") {
    model.seed = value;
  } else if (name == "blocks") {
    model.most_blocks = value;
  } else if (name == "receive-buffers") {
    model.receive_buffers = value;
  } else {
    refuse("unknown name: " + name);
  }
}

Model model_of(int argc, char** argv, Design design) {
  Model model;
  model.processes = static_cast<uint32_t>(number(argv[2], 1u << 20));
  model.bytes = number(argv[3], uint64_t{1} << 50);
  if (model.processes % model.cores != 0) refuse("processes: a multiple of " + std::to_string(model.cores));
  model.read_hosts = std::max(1u, model.hosts() / 4);
  for (int i = 4; i < argc; ++i) change(model, argv[i]);
  if (model.read_hosts >= model.hosts()) refuse("no hosts are left to sort");
  if (model.read_hosts == 0 && design != Design::spillway) refuse("only of spillway all processes read and sort");
  if (model.disk_bytes_per_s == 0 || model.file_system_bytes_per_s == 0 || model.link_bytes_per_s == 0)
    refuse("rates: at least 1");
  if (model.spread > 1) refuse("spread-percent: at most 100");
  if (model.most_blocks == 0 || model.receive_buffers == 0) refuse("blocks and receive-buffers: at least 1");
  return model;
}

sort::MemoryPlan plan_of(const Model& model) {
  try {
    return sort::MemoryPlan::make(
        {model.bytes, kRecordBytes, kRecordBytes, 0},
        {model.sorters(), model.sorters(), model.memory_of_process, model.shared_memory_of_process, model.hosts() > 1});
  } catch (const sort::Failure& failure) {
    const std::string why = failure.what();
    std::printf("{\"refused\": \"%s\", \"simgrid\": \"%s\"}\n", why.substr(0, why.find('\n')).c_str(),
                SPILLWAY_SIMGRID_VERSION);
    std::exit(0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  simgrid::s4u::Engine engine(&argc, argv);
  simulation::begin_program("sort-simulation");
  if (argc < 4) refuse("DESIGN PROCESSES BYTES [NAME=NUMBER...]");
  const Design design = design_of(argv[1]);
  const Model model = model_of(argc, argv, design);
  const sort::MemoryPlan plan = plan_of(model);
  const uint64_t block_bytes = std::max(plan.block_bytes, model.bytes / model.sorters() / model.most_blocks);
  simulation::SortCluster cluster(model);
  const simulation::ReadStage read =
      design == Design::two_sided ? read_two_sided(cluster, model, block_bytes, plan.slots)
                                  : read_one_sided(cluster, model, block_bytes, plan.slots, design == Design::hybrid);
  const double finish_s = design == Design::spillway ? finish_own_buckets(cluster, model, read.bytes, plan)
                                                     : finish_one_bucket_at_a_time(cluster, model, read.bytes);
  const auto [least, most] = std::minmax_element(read.bytes.begin() + model.read_hosts, read.bytes.end());
  const double own_s = static_cast<double>(model.bytes) / model.sort_hosts() *
                       (1 / model.disk_bytes_per_s + 1 / model.deal_bytes_per_s / model.cores);
  std::printf(
      "{\"read_s\": %.6f, \"finish_s\": %.6f, \"computing_s\": %.6f, \"waiting_s\": %.6f, \"ending_s\": %.6f, "
      "\"own_s\": %.6f, \"least_bytes\": %llu, \"most_bytes\": %llu, \"block_bytes\": %llu, \"buckets\": %llu, "
      "\"chunk_bytes\": %llu, \"simgrid\": \"%s\"}\n",
      read.seconds, finish_s, read.computing_s, read.waiting_s, read.ending_s, own_s,
      static_cast<unsigned long long>(*least), static_cast<unsigned long long>(*most),
      static_cast<unsigned long long>(read.block_bytes), static_cast<unsigned long long>(plan.bucket_count),
      static_cast<unsigned long long>(plan.chunk_bytes), SPILLWAY_SIMGRID_VERSION);
}
