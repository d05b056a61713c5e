#include <algorithm>
#include <optional>
#include <utility>

#include "bell.h"
#include "read_stage.h"
#include "sort/block_places.h"
#include "sort/slot_state.h"
#include "sorter_time.h"

namespace spillway::simulation {

namespace s4u = simgrid::s4u;

namespace {

// As in src/sort/distribution.cpp.
constexpr uint32_t kMostReadings = 3;
constexpr double kShortWaitS = 500e-6;

class OneSided {
 public:
  OneSided(SortCluster& cluster, const Model& model, uint64_t block_bytes, uint64_t slots, bool is_collective)
      : cluster_(cluster),
        model_(model),
        block_bytes_(block_bytes),
        block_count_((model.bytes + block_bytes - 1) / block_bytes),
        places_(sorters_in_turn(model), slots),
        bells_(model.processes),
        words_(model.processes * slots) {
    if (is_collective)
      for (uint32_t core = 0; core < model.cores; ++core) bins_.push_back(s4u::Barrier::create(model.sort_hosts()));
  }

  ReadStage run() {
    const double begin_s = s4u::Engine::get_clock();
    for (uint32_t host = 0; host < model_.hosts(); ++host) {
      const bool only_reads = host < model_.read_hosts;
      const uint32_t readers = only_reads ? 1 : model_.read_hosts == 0 ? model_.cores : 0;
      for (uint32_t core = 0; core < readers; ++core)
        for (uint32_t i = 0; i < kMostReadings; ++i) {
          const auto process = static_cast<int>(host * model_.cores + core);
          s4u::Actor::create("reading", cluster_.host(host), [this, process] { read(process); });
        }
    }
    for (uint64_t turn = 0; turn < places_.sorters().size(); ++turn) {
      const int process = places_.sorters()[turn];
      s4u::Actor::create("sorter", cluster_.host(host_of(process)), [this, turn, process] { sort(turn, process); });
    }
    s4u::Engine::get_instance()->run();
    found_.seconds = s4u::Engine::get_clock() - begin_s;
    const auto sorters = static_cast<double>(places_.sorters().size());
    found_.computing_s /= sorters;
    found_.waiting_s /= sorters;
    found_.ending_s = found_.seconds - found_.computing_s - found_.waiting_s;
    return found_;
  }

 private:
  // Equation 1: hosts first, then the processes of a host.
  static std::vector<int> sorters_in_turn(const Model& model) {
    std::vector<int> sorters;
    for (uint32_t core = 0; core < model.cores; ++core)
      for (uint32_t host = model.read_hosts; host < model.hosts(); ++host)
        sorters.push_back(static_cast<int>(host * model.cores + core));
    return sorters;
  }

  uint32_t host_of(int process) const { return static_cast<uint32_t>(process) / model_.cores; }
  Bell& bell(int process) { return bells_[static_cast<size_t>(process)]; }
  uint64_t& word(int process, uint64_t slot) { return words_[static_cast<uint64_t>(process) * places_.slots() + slot]; }
  uint64_t bytes_of(uint64_t block) const { return std::min(block_bytes_, model_.bytes - block * block_bytes_); }
  void round_trip() { s4u::this_actor::sleep_for(2 * model_.latency_s); }

  // One of a reader's blocks at a time.
  void read(int own) {
    for (;;) {
      round_trip();
      const uint64_t block = counter_++;
      if (block >= block_count_) return;
      const sort::BlockPlaces::Place place = places_.place_of(block);
      claim(own, place);
      cluster_.read_file_system(host_of(own), bytes_of(block));
      if (host_of(place.sorter) != host_of(own)) cluster_.send(host_of(own), host_of(place.sorter), bytes_of(block));
      word(place.sorter, place.slot) = sort::SlotState::full(place.lap);
      bell(place.sorter).ring();
    }
  }

  void claim(int own, const sort::BlockPlaces::Place& place) {
    using sort::SlotState;
    if (place.lap == 0) return;
    for (;;) {
      const uint64_t rings = bell(own).rings();
      round_trip();
      uint64_t& now = word(place.sorter, place.slot);
      const uint64_t before = now;
      if (before == SlotState::full(place.lap - 1)) now = SlotState::waited_for(place.lap - 1, own);
      const SlotState::Claim claim = SlotState::claim(before, place.lap, own);
      if (claim == SlotState::Claim::free) return;
      if (claim == SlotState::Claim::later) {
        bell(own).wait(rings);
      } else {
        s4u::this_actor::sleep_for(kShortWaitS);
      }
    }
  }

  void sort(uint64_t turn, int own) {
    SorterTime time(cluster_, model_, host_of(own), bins_.empty());
    const uint64_t count = places_.count_of(turn, block_count_);
    // All of a bin take part in each of its operations, also those that get no block in the last one.
    const uint64_t operations =
        bins_.empty() ? count : places_.count_of(turn - turn % model_.sort_hosts(), block_count_);
    for (uint64_t index = 0; index < operations; ++index) {
      const uint64_t slot = index % places_.slots(), lap = index / places_.slots();
      while (index < count && !sort::SlotState::has_arrived(word(own, slot), lap)) bell(own).wait(bell(own).rings());
      if (!bins_.empty()) {
        bins_[static_cast<uint32_t>(own) % model_.cores]->wait();
        s4u::this_actor::sleep_for(model_.allreduce_s(model_.sort_hosts()));
      }
      if (index == count) break;
      const uint64_t bytes = bytes_of(places_.block_of(turn, index));
      time.deal_out(bytes);
      found_.bytes[host_of(own)] += bytes;
      const uint64_t before = std::exchange(word(own, slot), sort::SlotState::empty(lap + 1));
      // Who is rung for asks again, which takes a message's time.
      if (const std::optional<int> waiter = sort::SlotState::waiter(before)) bell(*waiter).ring();
    }
    time.finish();
    found_.computing_s += time.computing_s();
    found_.waiting_s += time.waiting_s();
  }

  SortCluster& cluster_;
  const Model& model_;
  const uint64_t block_bytes_;
  const uint64_t block_count_;
  const sort::BlockPlaces places_;
  uint64_t counter_ = 0;
  std::vector<Bell> bells_;
  std::vector<uint64_t> words_;  // states of all slots
  std::vector<s4u::BarrierPtr> bins_;
  ReadStage found_{.block_bytes = block_bytes_, .bytes = std::vector<uint64_t>(model_.hosts())};
};

}  // namespace

ReadStage read_one_sided(SortCluster& cluster, const Model& model, uint64_t block_bytes, uint64_t slots,
                         bool is_collective) {
  return OneSided(cluster, model, block_bytes, slots, is_collective).run();
}

}  // namespace spillway::simulation
