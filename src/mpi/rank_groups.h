// The ranks of a communicator in groups: by the nodes that they are on, or all in one.
//
// Groups are in the order of their first ranks, and the ranks of a group in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace spillway::mpi {

class RankGroups {
 public:
  // node_of[i] is the node of rank i.
  explicit RankGroups(const std::vector<uint32_t>& node_of) {
    std::map<uint32_t, int> group_of_node;
    group_of_.reserve(node_of.size());
    for (int rank = 0; rank < static_cast<int>(node_of.size()); ++rank) {
      const int group = group_of_node.try_emplace(node_of[static_cast<size_t>(rank)], count()).first->second;
      if (group == count()) ranks_.emplace_back();
      if (group + 1 < count()) are_contiguous_ = false;
      ranks_[static_cast<size_t>(group)].push_back(rank);
      group_of_.push_back(group);
    }
  }

  static RankGroups one(int size) { return RankGroups(std::vector<uint32_t>(static_cast<size_t>(size))); }

  int count() const { return static_cast<int>(ranks_.size()); }
  const std::vector<int>& ranks(int group) const { return ranks_[static_cast<size_t>(group)]; }
  int first(int group) const { return ranks(group)[0]; }
  int last(int group) const { return ranks(group).back(); }
  int of(int rank) const { return group_of_[static_cast<size_t>(rank)]; }

  // The ranks of all other groups, in order.
  std::vector<int> others(int group) const {
    std::vector<int> others;
    for (int rank = 0; rank < static_cast<int>(group_of_.size()); ++rank)
      if (of(rank) != group) others.push_back(rank);
    return others;
  }

  // The ranks of one group after the other are all ranks in order.
  bool are_contiguous() const { return are_contiguous_; }

 private:
  std::vector<std::vector<int>> ranks_;  // by group
  std::vector<int> group_of_;            // by rank
  bool are_contiguous_ = true;
};

}  // namespace spillway::mpi
