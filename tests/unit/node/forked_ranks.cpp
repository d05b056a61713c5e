#include "forked_ranks.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "base/clock.h"

namespace spillway::node {

ForkedRanks::~ForkedRanks() {
  for (const auto& [index, pid] : pids_) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

void ForkedRanks::start(uint32_t index, const std::function<void(Segment)>& body) {
  fflush(nullptr);
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    body(mapped_again(segment_));
    _exit(0);
  }
  pids_[index] = pid;
}

testing::AssertionResult ForkedRanks::join(int limit_s) {
  const uint64_t deadline = base::now_ns() + static_cast<uint64_t>(limit_s) * 1000000000u;
  testing::AssertionResult result = testing::AssertionSuccess();
  while (!pids_.empty()) {
    for (auto it = pids_.begin(); it != pids_.end();) {
      int status = 0;
      if (waitpid(it->second, &status, WNOHANG) == 0) {
        ++it;
        continue;
      }
      if (status != 0)
        return testing::AssertionFailure() << "rank " << it->first << " ended with wait status " << status << "\n"
                                           << describe(segment_);
      it = pids_.erase(it);
    }
    if (base::now_ns() > deadline)
      return testing::AssertionFailure() << "not ended after " << limit_s << " s:\n" << describe(segment_);
    usleep(1000);
  }
  return result;
}

void ForkedRanks::reap(uint32_t index) {
  waitpid(pids_.at(index), nullptr, 0);
  pids_.erase(index);
}

Segment mapped_again(const Segment& segment) {
  std::string problem;
  return Segment::attach(dup(segment.descriptor()), problem);
}

std::string describe(const Segment& segment) {
  static constexpr const char* kNames[] = {"absent",  "running",   "ready",   "blocked_receive", "blocked_collective",
                                           "loading", "delegated", "finished"};
  const SegmentHeader& header = segment.header();
  char line[256];
  snprintf(line, sizeof line, "free slots %u, resident %llu of %llu, store %llu, loading ranks %u\n",
           header.free_slots.load(), static_cast<unsigned long long>(header.resident_bytes),
           static_cast<unsigned long long>(header.budget_bytes), static_cast<unsigned long long>(header.store_bytes),
           header.loading_ranks.load());
  std::string text = line;
  for (uint32_t i = 0; i < header.rank_count; ++i) {
    const RankRecord& rank = segment.rank(i);
    snprintf(line, sizeof line,
             "  rank %u: %s, resident %llu of %llu, asked for %llu, ticket %llu, arrivals %llu, wakes at %llu\n", i,
             kNames[rank.state], static_cast<unsigned long long>(rank.resident_bytes),
             static_cast<unsigned long long>(rank.managed_bytes), static_cast<unsigned long long>(rank.evict_wanted),
             static_cast<unsigned long long>(rank.load_ticket), static_cast<unsigned long long>(rank.arrivals),
             static_cast<unsigned long long>(rank.wake_at));
    text += line;
  }
  return text;
}

std::string broken_invariant(const Segment& segment) {
  SegmentHeader& header = segment.header();
  NodeLock lock(header);
  uint64_t resident = 0, base = 0;
  uint32_t slots_held = 0, ready = 0, loading = 0;
  for (uint32_t i = 0; i < header.rank_count; ++i) {
    const RankRecord& rank = segment.rank(i);
    const auto state = static_cast<RankState>(rank.state.load());
    resident += rank.resident_bytes;
    base += rank.base_bytes;
    const bool may_compute = state == RankState::running || state == RankState::loading;
    slots_held += may_compute && rank.has_lent == 0 ? 1 : 0;
    ready += state == RankState::ready ? 1 : 0;
    loading += rank.load_ticket != 0 ? 1 : 0;
    if (rank.resident_bytes > rank.managed_bytes) return "rank " + std::to_string(i) + " has more resident than it has";
  }
  if (resident != header.resident_bytes) return "resident_bytes is not the sum over ranks";
  if (base != header.base_bytes) return "base_bytes is not the sum over ranks";
  if (header.free_slots + slots_held != header.slot_count) return "slots are lost or doubled";
  if (header.free_slots > 0 && ready > 0) return "a rank is ready and a slot is free";
  if (loading != header.loading_ranks) return "loading_ranks is not the number of tickets";
  return "";
}

}  // namespace spillway::node
