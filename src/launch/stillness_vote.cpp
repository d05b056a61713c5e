#include "launch/stillness_vote.h"

#include <algorithm>
#include <sstream>

#include "launch/deadlock_watch.h"

namespace spillway::launch {

std::string Stillness::text() const {
  return std::to_string(sent_frames) + " " + std::to_string(received_frames) + " " + std::to_string(waiting_ranks) +
         "\n" + who_waits;
}

std::optional<Stillness> Stillness::read(const std::string& text) {
  std::istringstream numbers(text);
  Stillness stillness;
  if (!(numbers >> stillness.sent_frames >> stillness.received_frames >> stillness.waiting_ranks)) return std::nullopt;
  stillness.who_waits = text.substr(text.find('\n') + 1);
  return stillness;
}

void StillnessVote::take(size_t node, uint32_t round, std::optional<Stillness> stillness) {
  if (node >= nodes_.size()) return;
  Node& entry = nodes_[node];
  const auto is_same = [&] {
    return stillness.has_value() && entry.stillness.has_value() &&
           stillness->sent_frames == entry.stillness->sent_frames &&
           stillness->received_frames == entry.stillness->received_frames;
  };
  if (is_asking_ && round == round_ && is_same()) {
    entry.confirmed_round = round;
    return;
  }
  if (round != 0 && round != round_) return;  // of an older round; what has changed since is said anyway
  is_asking_ = false;
  entry.stillness = std::move(stillness);
}

bool StillnessVote::are_all_still() const {
  uint64_t sent = 0, received = 0;
  for (const Node& node : nodes_) {
    if (!node.stillness.has_value()) return false;
    sent += node.stillness->sent_frames;
    received += node.stillness->received_frames;
  }
  return sent == received;
}

std::optional<uint32_t> StillnessVote::round_to_ask() {
  if (is_asking_ || !are_all_still()) return std::nullopt;
  is_asking_ = true;
  return ++round_;
}

bool StillnessVote::is_deadlock() const {
  return is_asking_ && are_all_still() &&
         std::ranges::all_of(nodes_, [&](const Node& node) { return node.confirmed_round == round_; }) &&
         std::ranges::any_of(nodes_, [](const Node& node) { return node.stillness->waiting_ranks != 0; });
}

std::string StillnessVote::who_waits() const {
  std::string lines;
  uint64_t count = 0;
  for (const Node& node : nodes_) {
    if (!node.stillness.has_value()) continue;
    lines += node.stillness->who_waits;
    count += node.stillness->waiting_ranks;
  }
  return first_waiting(lines, count);
}

}  // namespace spillway::launch
