#include "finish_stage.h"

#include <algorithm>
#include <utility>

#include "bell.h"

namespace spillway::simulation {

namespace s4u = simgrid::s4u;

namespace {

constexpr uint64_t kLeastBuckets = 4;  // as src/sort has at least, so that reading and writing overlap
constexpr uint64_t kBuffers = 2;       // as in src/sort/finishing.cpp

// How many have come to the end of each round.
class Rounds {
 public:
  Rounds(uint64_t rounds, uint64_t members) : counts_(rounds), members_(members) {}

  void end(uint64_t round) {
    if (++counts_[round] == members_) bell_.ring();
  }
  // Until all have.
  void wait(uint64_t round) {
    while (counts_[round] != members_) bell_.wait(bell_.rings());
  }

 private:
  std::vector<uint64_t> counts_;
  const uint64_t members_;
  Bell bell_;
};

class Stage {
 public:
  Stage(SortCluster& cluster, const Model& model, const std::vector<uint64_t>& bytes, uint64_t rounds)
      : cluster_(cluster),
        model_(model),
        bytes_(bytes),
        rounds_(rounds),
        hosts_(model.sort_hosts()),
        gathered_(rounds, hosts_),
        sorted_(rounds, hosts_) {}

  // What is sorted, in bytes of each host and round.
  uint64_t share() const { return model_.bytes / hosts_ / rounds_; }
  uint64_t held(uint32_t host) const { return bytes_[host] / rounds_; }
  uint32_t first_host() const { return model_.read_hosts; }
  void send_to_others(uint32_t host) {
    const uint32_t next = host + 1 == model_.hosts() ? first_host() : host + 1;
    if (next != host) cluster_.send(host, next, held(host) / hosts_ * (hosts_ - 1));
  }
  void sort() { s4u::this_actor::sleep_for(static_cast<double>(share()) / model_.cores / model_.sort_bytes_per_s); }
  template <typename Body>
  void start(Body body) {
    for (uint32_t host = first_host(); host < model_.hosts(); ++host)
      s4u::Actor::create("finishing", cluster_.host(host), [body, host] { body(host); });
  }

  SortCluster& cluster_;
  const Model& model_;
  const std::vector<uint64_t>& bytes_;
  const uint64_t rounds_;
  const uint64_t hosts_;
  Rounds gathered_;
  Rounds sorted_;
};

double run_all() {
  const double begin_s = s4u::Engine::get_clock();
  s4u::Engine::get_instance()->run();
  return s4u::Engine::get_clock() - begin_s;
}

}  // namespace

double finish_one_bucket_at_a_time(SortCluster& cluster, const Model& model, const std::vector<uint64_t>& bytes) {
  const uint64_t room = model.memory_of_process * model.cores / 2;
  const uint64_t rounds = std::max(kLeastBuckets, model.bytes / model.sort_hosts() / room + 1);
  Stage stage(cluster, model, bytes, rounds);
  Rounds read(rounds, stage.hosts_);
  stage.start([&](uint32_t host) {
    s4u::CommPtr write;
    for (uint64_t round = 0; round < stage.rounds_; ++round) {
      cluster.read_disk(host, stage.held(host), model.cores);
      read.end(round);
      read.wait(round);
      stage.send_to_others(host);
      stage.gathered_.end(round);
      stage.gathered_.wait(round);
      stage.sort();
      if (write) write->wait();
      write = cluster.write_file_system(host, stage.share());
    }
    write->wait();
  });
  return run_all();
}

double finish_own_buckets(SortCluster& cluster, const Model& model, const std::vector<uint64_t>& bytes,
                          const sort::MemoryPlan& plan) {
  const uint64_t rounds = plan.bucket_count / model.sorters();
  Stage stage(cluster, model, bytes, rounds);
  stage.start([&](uint32_t host) {
    for (uint64_t round = 0; round < stage.rounds_; ++round) {
      if (round >= kBuffers) stage.sorted_.wait(round - kBuffers);
      // Full chunks lie where they were written; the last ones of all buckets follow one another.
      const uint64_t full_chunks = bytes[host] / model.cores / plan.bucket_count / plan.chunk_bytes;
      cluster.read_disk(host, stage.held(host), model.cores * (1 + full_chunks * model.sorters()));
      stage.send_to_others(host);
      stage.gathered_.end(round);
    }
  });
  stage.start([&](uint32_t host) {
    for (uint64_t round = 0; round < stage.rounds_; ++round) {
      stage.gathered_.wait(round);
      stage.sort();
      cluster.write_file_system(host, stage.share())->wait();
      stage.sorted_.end(round);
    }
  });
  return run_all();
}

}  // namespace spillway::simulation
