// Freezes what lies in shared memory. If one of these fails, raise kSegmentVersion together with the new figures:
// processes of two builds that disagree here would corrupt each other's state.
#include "node/segment_layout.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "node/attach_protocol.h"

namespace spillway::node {
namespace {

TEST(SegmentLayoutTest, version_12_has_these_sizes) {
  EXPECT_EQ(kSegmentMagic, 0x53504c57u);
  EXPECT_EQ(kSegmentVersion, 12u);
  EXPECT_EQ(sizeof(SegmentHeader), 288u);
  EXPECT_EQ(sizeof(RankPlace), 8u);
  EXPECT_EQ(sizeof(RankRecord), 512u);
  EXPECT_EQ(alignof(RankRecord), 128u);
  EXPECT_EQ(sizeof(RankStatistics), 96u);
  EXPECT_EQ(kCellBytes, 256u);
  EXPECT_EQ(kInlineBytes, 196u);
  EXPECT_EQ(kMemoryChunkBytes, 8192u);
  EXPECT_EQ(kSpillChunkBytes, 262144u);
}

TEST(SegmentLayoutTest, version_12_has_the_header_fields_at_these_offsets) {
  EXPECT_EQ(offsetof(SegmentHeader, magic), 0u);
  EXPECT_EQ(offsetof(SegmentHeader, version), 4u);
  EXPECT_EQ(offsetof(SegmentHeader, segment_bytes), 8u);
  EXPECT_EQ(offsetof(SegmentHeader, rank_count), 16u);
  EXPECT_EQ(offsetof(SegmentHeader, slot_count), 20u);
  EXPECT_EQ(offsetof(SegmentHeader, world_size), 24u);
  EXPECT_EQ(offsetof(SegmentHeader, node_count), 28u);
  EXPECT_EQ(offsetof(SegmentHeader, node_index), 32u);
  EXPECT_EQ(offsetof(SegmentHeader, budget_bytes), 40u);
  EXPECT_EQ(offsetof(SegmentHeader, minimum_managed_bytes), 48u);
  EXPECT_EQ(offsetof(SegmentHeader, cpu_count), 36u);
  EXPECT_EQ(offsetof(SegmentHeader, strategy), 56u);
  EXPECT_EQ(offsetof(SegmentHeader, places_offset), 64u);
  EXPECT_EQ(offsetof(SegmentHeader, ranks_offset), 72u);
  EXPECT_EQ(offsetof(SegmentHeader, cells_offset), 80u);
  EXPECT_EQ(offsetof(SegmentHeader, cell_count), 88u);
  EXPECT_EQ(offsetof(SegmentHeader, memory_pool_offset), 96u);
  EXPECT_EQ(offsetof(SegmentHeader, spill_pool_offset), 104u);
  EXPECT_EQ(offsetof(SegmentHeader, chunks_offset), 112u);
  EXPECT_EQ(offsetof(SegmentHeader, checksums_offset), 120u);
  EXPECT_EQ(offsetof(SegmentHeader, memory_chunk_count), 128u);
  EXPECT_EQ(offsetof(SegmentHeader, spill_chunk_count), 136u);
  EXPECT_EQ(offsetof(SegmentHeader, lock), 144u);
  EXPECT_EQ(offsetof(SegmentHeader, free_slots), 184u);
  EXPECT_EQ(offsetof(SegmentHeader, attached_ranks), 188u);
  EXPECT_EQ(offsetof(SegmentHeader, finished_ranks), 192u);
  EXPECT_EQ(offsetof(SegmentHeader, job_failed), 196u);
  EXPECT_EQ(offsetof(SegmentHeader, next_load_ticket), 200u);
  EXPECT_EQ(offsetof(SegmentHeader, store_bytes), 208u);
  EXPECT_EQ(offsetof(SegmentHeader, resident_bytes), 216u);
  EXPECT_EQ(offsetof(SegmentHeader, base_bytes), 224u);
  EXPECT_EQ(offsetof(SegmentHeader, peak_bytes), 232u);
  EXPECT_EQ(offsetof(SegmentHeader, free_cells), 240u);
  EXPECT_EQ(offsetof(SegmentHeader, used_cells), 248u);
  EXPECT_EQ(offsetof(SegmentHeader, loading_ranks), 256u);
  EXPECT_EQ(offsetof(SegmentHeader, overtakings), 260u);
  EXPECT_EQ(offsetof(SegmentHeader, next_critical_ticket), 264u);
  EXPECT_EQ(offsetof(SegmentHeader, critical_rank), 272u);
  EXPECT_EQ(offsetof(SegmentHeader, next_rank), 276u);
  EXPECT_EQ(offsetof(SegmentHeader, is_library_use_known), 280u);
  EXPECT_EQ(offsetof(SegmentHeader, nodes_in_library), 284u);
}

TEST(SegmentLayoutTest, version_12_has_the_rank_fields_at_these_offsets) {
  EXPECT_EQ(offsetof(RankRecord, state), 0u);
  EXPECT_EQ(offsetof(RankRecord, pid), 4u);
  EXPECT_EQ(offsetof(RankRecord, doorbell), 8u);
  EXPECT_EQ(offsetof(RankRecord, granted), 12u);
  EXPECT_EQ(offsetof(RankRecord, evict_wanted), 16u);
  EXPECT_EQ(offsetof(RankRecord, ready_since_ns), 24u);
  EXPECT_EQ(offsetof(RankRecord, blocked_since_ns), 32u);
  EXPECT_EQ(offsetof(RankRecord, load_ticket), 40u);
  EXPECT_EQ(offsetof(RankRecord, managed_bytes), 48u);
  EXPECT_EQ(offsetof(RankRecord, resident_bytes), 56u);
  EXPECT_EQ(offsetof(RankRecord, base_bytes), 64u);
  EXPECT_EQ(offsetof(RankRecord, pins), 72u);
  EXPECT_EQ(offsetof(RankRecord, world_rank), 76u);
  EXPECT_EQ(offsetof(RankRecord, mailbox_head), 80u);
  EXPECT_EQ(offsetof(RankRecord, passed_over), 84u);
  EXPECT_EQ(offsetof(RankRecord, arrivals), 88u);
  EXPECT_EQ(offsetof(RankRecord, wake_at), 96u);
  EXPECT_EQ(offsetof(RankRecord, statistics), 104u);
  EXPECT_EQ(offsetof(RankRecord, waits_for), 200u);
  EXPECT_EQ(offsetof(RankRecord, critical_ticket), 328u);
  EXPECT_EQ(offsetof(RankRecord, has_lent), 336u);
  EXPECT_EQ(offsetof(RankRecord, library_calls), 340u);
  EXPECT_EQ(offsetof(RankRecord, rests), 344u);
  EXPECT_EQ(offsetof(RankRecord, sleeps_outside), 348u);
  EXPECT_EQ(offsetof(RankRecord, other_threads), 352u);
  EXPECT_EQ(offsetof(RankRecord, away_threads), 356u);
  EXPECT_EQ(offsetof(RankRecord, pinned_bytes), 360u);
  EXPECT_EQ(offsetof(RankRecord, busy_until_ns), 368u);
  EXPECT_EQ(offsetof(RankRecord, last_spell_us), 376u);
  EXPECT_EQ(offsetof(RankRecord, may_come_ahead), 380u);
  EXPECT_EQ(offsetof(RankRecord, combining_context), 384u);
  EXPECT_EQ(offsetof(RankRecord, combining_tag), 392u);
}

TEST(SegmentLayoutTest, states_have_these_numbers) {
  EXPECT_EQ(static_cast<uint32_t>(RankState::absent), 0u);
  EXPECT_EQ(static_cast<uint32_t>(RankState::running), 1u);
  EXPECT_EQ(static_cast<uint32_t>(RankState::ready), 2u);
  EXPECT_EQ(static_cast<uint32_t>(RankState::blocked_receive), 3u);
  EXPECT_EQ(static_cast<uint32_t>(RankState::blocked_collective), 4u);
  EXPECT_EQ(static_cast<uint32_t>(RankState::loading), 5u);
  EXPECT_EQ(static_cast<uint32_t>(RankState::delegated), 6u);
  EXPECT_EQ(static_cast<uint32_t>(RankState::finished), 7u);
}

TEST(AttachProtocolTest, version_6_has_these_fields_at_these_offsets) {
  EXPECT_EQ(kAttachMagic, 0x53504c41u);
  EXPECT_EQ(kAttachVersion, 6u);
  EXPECT_EQ(sizeof(AttachMessage), 4096u);
  EXPECT_EQ(offsetof(AttachMessage, kind), 8u);
  EXPECT_EQ(offsetof(AttachMessage, role), 12u);
  EXPECT_EQ(offsetof(AttachMessage, world_rank), 16u);
  EXPECT_EQ(offsetof(AttachMessage, world_size), 20u);
  EXPECT_EQ(offsetof(AttachMessage, pid), 24u);
  EXPECT_EQ(offsetof(AttachMessage, wait_status), 28u);
  EXPECT_EQ(offsetof(AttachMessage, text), 32u);
}

}  // namespace
}  // namespace spillway::node
