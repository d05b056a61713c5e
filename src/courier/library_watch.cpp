#include "courier/library_watch.h"

#include <algorithm>

#include "base/clock.h"

namespace spillway::courier {
namespace {

constexpr uint64_t kMillisecondNs = 1000000;
constexpr uint64_t kLookNs = 10 * kMillisecondNs;

// Between two calls nobody is in the library for a moment. Those calls would each be told to all nodes otherwise.
constexpr uint32_t kQuietLooks = 2;

}  // namespace

bool LibraryWatch::is_anyone_in_library() const {
  for (uint32_t i = 0; i < self_.rank_count(); ++i) {
    const node::RankRecord& rank = self_.peer(i);
    const bool is_finished = static_cast<node::RankState>(rank.state.load()) == node::RankState::finished;
    if (!is_finished && (rank.library_calls != 0 || rank.pins != 0)) return true;
  }
  return false;
}

bool LibraryWatch::begin() {
  const bool is_news = next_look_ns_ == 0;
  next_look_ns_ = base::now_ns() + kLookNs;
  quiet_looks_ = 0;
  return is_news;
}

bool LibraryWatch::has_ended() {
  if (next_look_ns_ == 0 || base::now_ns() < next_look_ns_) return false;
  next_look_ns_ = base::now_ns() + kLookNs;
  quiet_looks_ = is_anyone_in_library() ? 0 : quiet_looks_ + 1;
  if (quiet_looks_ < kQuietLooks) return false;
  // Whoever begins after this sends a cell; whoever began before it is seen by the last look.
  self_.header().is_library_use_known = 0;
  if (is_anyone_in_library()) {
    self_.header().is_library_use_known = 1;
    quiet_looks_ = 0;
    return false;
  }
  next_look_ns_ = 0;
  return true;
}

int LibraryWatch::timeout_ms() const {
  if (next_look_ns_ == 0) return -1;
  const uint64_t now_ns = base::now_ns();
  return next_look_ns_ <= now_ns ? 0 : static_cast<int>((next_look_ns_ - now_ns) / kMillisecondNs + 1);
}

void LibraryWatch::note(uint32_t node, bool is_in_use) {
  uses_[node] = is_in_use;
  self_.header().nodes_in_library = static_cast<uint32_t>(std::ranges::count(uses_, true));
  if (!is_in_use) return;
  for (uint32_t i = 0; i < self_.rank_count(); ++i) {
    node::RankRecord& rank = self_.peer(i);
    if (rank.rests != 0 && rank.rests.exchange(0) != 0) node::LocalRank::ring(rank);
  }
}

}  // namespace spillway::courier
