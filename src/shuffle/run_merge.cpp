#include "shuffle/run_merge.h"

#include <utility>

namespace spillway::shuffle {

RunMerge::RunMerge(std::vector<std::unique_ptr<RunCursor>> cursors, const KeyOrder& order, const Combiner& combiner)
    : cursors_(std::move(cursors)), order_(order), combiner_(combiner), leaves_(cursors_.size()) {
  for (uint32_t leaf = 0; leaf < leaves_.size(); ++leaf) advance(leaf);
  build();
}

void RunMerge::advance(uint32_t number) {
  Leaf& leaf = leaves_[number];
  leaf.has_record = cursors_[number]->next(leaf.record);
  leaf.prefix = leaf.has_record ? order_.prefix(leaf.record.key) : UINT64_MAX;
}

bool RunMerge::comes_first_of_same_prefix(uint32_t first, uint32_t second) const {
  const Leaf& a = leaves_[first];
  const Leaf& b = leaves_[second];
  if (!a.has_record || !b.has_record) return a.has_record;
  const int order = order_.compare_further(a.record.key, b.record.key);
  return order != 0 ? order < 0 : first < second;
}

// Who wins cannot be foreseen: so both are stored without a jump.
void RunMerge::match(Player& waiting, Player& climber) const {
  const Player players[2] = {climber, waiting};
  bool waiting_wins = waiting.prefix < climber.prefix;
  if (waiting.prefix == climber.prefix) [[unlikely]]
    waiting_wins = comes_first_of_same_prefix(waiting.leaf, climber.leaf);
  climber = players[waiting_wins];
  waiting = players[!waiting_wins];
}

// Leaf i is node i + n of a binary tree whose inner nodes are 1 to n - 1. The first to come to a node waits there.
void RunMerge::build() {
  constexpr uint32_t kNobody = UINT32_MAX;
  const auto count = static_cast<uint32_t>(leaves_.size());
  losers_.assign(count, {0, kNobody});
  for (uint32_t leaf = 0; leaf < count; ++leaf) {
    Player climber{leaves_[leaf].prefix, leaf};
    uint32_t node = (leaf + count) / 2;
    for (; node != 0; node /= 2) {
      if (losers_[node].leaf == kNobody) {
        losers_[node] = climber;
        break;
      }
      match(losers_[node], climber);
    }
    if (node == 0) winner_ = climber.leaf;
  }
}

void RunMerge::replay(uint32_t leaf) {
  Player climber{leaves_[leaf].prefix, leaf};
  for (auto node = (leaf + static_cast<uint32_t>(leaves_.size())) / 2; node != 0; node /= 2)
    match(losers_[node], climber);
  winner_ = climber.leaf;
}

// That the winner's key is not before the last one, and equal to the first of those that have been equal.
void RunMerge::check_order() {
  const std::string_view key = leaves_[winner_].record.key;
  if (std::exchange(has_key_, true) && order_.are_equal_in_order(key_, key)) return;
  key_.assign(key);
}

bool RunMerge::next_single(Record& record) {
  if (is_taken_) {
    advance(winner_);
    replay(winner_);
  }
  is_taken_ = has_next();
  if (!is_taken_) return false;
  if (order_.is_programs()) check_order();
  record = leaves_[winner_].record;
  return true;
}

bool RunMerge::continues_group(uint64_t prefix) const {
  if (!has_next() || leaves_[winner_].prefix != prefix) return false;
  return order_.compare_further(leaves_[winner_].record.key, key_) == 0;
}

bool RunMerge::next_combined(Record& record) {
  if (!has_next()) return false;
  if (order_.is_programs()) check_order();
  const uint64_t prefix = leaves_[winner_].prefix;
  key_.assign(leaves_[winner_].record.key);
  value_.assign(leaves_[winner_].record.value);
  record = {key_, value_};
  uint64_t bytes = record_bytes(record);  // of what has been combined
  for (;;) {
    advance(winner_);
    replay(winner_);
    if (!continues_group(prefix)) break;
    const Record& other = leaves_[winner_].record;
    const std::string_view combined = combiner_.combine(key_, value_, other.value, slots_);
    bytes += record_bytes(other);
    if (record_bytes({key_, combined}) > bytes) break;
    value_.assign(combined);
    record.value = value_;
  }
  return true;
}

}  // namespace spillway::shuffle
