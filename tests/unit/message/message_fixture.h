// Ranks with mailbox, store and ledger, in one process: each has its own mapping of the segment, as in a job.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <memory>
#include <vector>

#include "message/mailbox.h"
#include "message/message_store.h"
#include "node/forked_ranks.h"
#include "node/scheduler.h"

namespace spillway::message {

inline constexpr uint64_t kMiB = 1 << 20;

struct Rank {
  Rank(const node::Segment& segment, uint32_t index, int spill_descriptor)
      : self(node::mapped_again(segment), index),
        ledger(self),
        scheduler(self, ledger),
        store(self, ledger, std::array{dup(spill_descriptor)}.data(), base::SpillDirectories(".")),
        mailbox(self) {}

  node::LocalRank self;
  node::Ledger ledger;
  node::Scheduler scheduler;
  MessageStore store;
  Mailbox mailbox;
};

inline node::SegmentConfig message_config(uint32_t ranks, uint64_t budget_bytes) {
  node::SegmentConfig config;
  config.rank_count = ranks;
  config.slot_count = ranks;
  config.budget_bytes = budget_bytes;
  config.spill_capacity_bytes = 1ull << 30;
  return config;
}

// A spill file for the tests' messages, in memory: what the device does is the business of storage's tests.
inline int spill_file() { return memfd_create("messages", MFD_CLOEXEC); }

inline std::vector<std::byte> pattern(uint64_t bytes, uint64_t seed) {
  std::vector<std::byte> data(bytes);
  for (uint64_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(seed * 131 + i * 7 + i / 8192 * 3);
  return data;
}

inline Cell cell_of(uint32_t sender, int32_t tag, uint64_t number) {
  Cell cell{};
  cell.kind = CellKind::message;
  cell.source = static_cast<int32_t>(sender);
  cell.sender = sender;
  cell.tag = tag;
  cell.bytes = sizeof number;
  memcpy(cell.inlined, &number, sizeof number);
  return cell;
}

inline uint64_t number_in(const Cell& cell) {
  uint64_t number = 0;
  memcpy(&number, cell.inlined, sizeof number);
  return number;
}

}  // namespace spillway::message
