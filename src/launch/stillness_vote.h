// Finds that no rank of a job on several nodes can ever go on again (`--detect-deadlock`).
//
// Each node's agent says when its ranks are still (DeadlockWatch), how many frames its courier has sent and received by
// then, and when that is over. When all are still and as many frames have been received as sent, nothing was on its way
// between them, if they were still at the same time: so all are asked again, and when each then says that nothing has
// changed, that is so (four counters: F. Mattern, Algorithms for distributed termination detection, 1987).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spillway::launch {

// What an agent says. As text: the numbers in a line, then the lines.
struct Stillness {
  uint64_t sent_frames = 0;
  uint64_t received_frames = 0;
  uint32_t waiting_ranks = 0;
  std::string who_waits;  // lines of DeadlockWatch

  std::string text() const;
  static std::optional<Stillness> read(const std::string& text);  // nothing: it is not still
};

class StillnessVote {
 public:
  explicit StillnessVote(size_t node_count) : nodes_(node_count) {}

  // The agent of the node has said something of its own accord, or in answer to round `round`.
  void take(size_t node, uint32_t round, std::optional<Stillness> stillness);

  // The round that all are to be asked in, once for each.
  std::optional<uint32_t> round_to_ask();

  // All have confirmed, and some wait.
  bool is_deadlock() const;

  // A line for each rank that waits, or of the first ones; the last one is not ended.
  std::string who_waits() const;

 private:
  struct Node {
    std::optional<Stillness> stillness;
    uint32_t confirmed_round = 0;
  };

  bool are_all_still() const;

  std::vector<Node> nodes_;
  uint32_t round_ = 0;
  bool is_asking_ = false;
};

}  // namespace spillway::launch
