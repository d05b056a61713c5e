// Which sorter and which of its staging buffers a block goes to, by its number alone: equations 1 and 2 of
// hybrid-sort.txt, section 4.3, for any list of sorters. They take turns, and so do nodes in the order that
// nodes_in_turn() gives them, however ranks were placed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace spillway::sort {

// One of each node, then the next one of each, while there are some. `nodes` has each sorter's.
inline std::vector<int> nodes_in_turn(const std::vector<int>& sorters, const std::vector<int>& nodes) {
  std::map<int, size_t> of_node;
  std::vector<std::pair<size_t, int>> turns;
  for (size_t i = 0; i < sorters.size(); ++i) turns.emplace_back(of_node[nodes[i]]++, sorters[i]);
  std::stable_sort(turns.begin(), turns.end(), [](const auto& one, const auto& two) { return one.first < two.first; });
  std::vector<int> in_turn;
  for (const auto& [turn, sorter] : turns) in_turn.push_back(sorter);
  return in_turn;
}

class BlockPlaces {
 public:
  struct Place {
    int sorter;
    uint64_t slot;
    uint64_t lap;  // how often the buffer has been used before
  };

  BlockPlaces(std::vector<int> sorters, uint64_t slots) : sorters_(std::move(sorters)), slots_(slots) {}

  const std::vector<int>& sorters() const { return sorters_; }
  uint64_t slots() const { return slots_; }

  Place place_of(uint64_t block) const {
    const uint64_t index = block / sorters_.size();
    return {sorters_[block % sorters_.size()], index % slots_, index / slots_};
  }
  // Of `block_count` blocks, how many come to the sorter that has this turn; none where turn == sorters().size().
  uint64_t count_of(uint64_t turn, uint64_t block_count) const {
    if (turn == sorters_.size()) return 0;
    return (block_count + sorters_.size() - 1 - turn) / sorters_.size();
  }
  // The number of the `index`th of them.
  uint64_t block_of(uint64_t turn, uint64_t index) const { return index * sorters_.size() + turn; }

 private:
  const std::vector<int> sorters_;
  const uint64_t slots_;
};

}  // namespace spillway::sort
