// Freezes what lies in shared memory. If one of these fails, raise kSegmentVersion together with the new figures:
// processes of two builds that disagree here would corrupt each other's state.
#include "node/segment_layout.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "node/attach_protocol.h"

namespace spillway::node {
namespace {

TEST(SegmentLayoutTest, version_10_has_these_sizes) {
  EXPECT_EQ(kSegmentMagic, 0x53504c57u);
  EXPECT_EQ(kSegmentVersion, 10u);
  EXPECT_EQ(sizeof(SegmentHeader), 256u);
  EXPECT_EQ(sizeof(RankRecord), 384u);
  EXPECT_EQ(alignof(RankRecord), 128u);
  EXPECT_EQ(sizeof(RankStatistics), 96u);
  EXPECT_EQ(kCellBytes, 256u);
  EXPECT_EQ(kInlineBytes, 200u);
  EXPECT_EQ(kMemoryChunkBytes, 8192u);
  EXPECT_EQ(kSpillChunkBytes, 262144u);
}

TEST(SegmentLayoutTest, version_10_has_the_header_fields_at_these_offsets) {
  EXPECT_EQ(offsetof(SegmentHeader, magic), 0u);
  EXPECT_EQ(offsetof(SegmentHeader, version), 4u);
  EXPECT_EQ(offsetof(SegmentHeader, segment_bytes), 8u);
  EXPECT_EQ(offsetof(SegmentHeader, rank_count), 16u);
  EXPECT_EQ(offsetof(SegmentHeader, slot_count), 20u);
  EXPECT_EQ(offsetof(SegmentHeader, budget_bytes), 24u);
  EXPECT_EQ(offsetof(SegmentHeader, minimum_managed_bytes), 32u);
  EXPECT_EQ(offsetof(SegmentHeader, cpu_count), 40u);
  EXPECT_EQ(offsetof(SegmentHeader, strategy), 44u);
  EXPECT_EQ(offsetof(SegmentHeader, ranks_offset), 48u);
  EXPECT_EQ(offsetof(SegmentHeader, cells_offset), 56u);
  EXPECT_EQ(offsetof(SegmentHeader, cell_count), 64u);
  EXPECT_EQ(offsetof(SegmentHeader, memory_pool_offset), 72u);
  EXPECT_EQ(offsetof(SegmentHeader, spill_pool_offset), 80u);
  EXPECT_EQ(offsetof(SegmentHeader, chunks_offset), 88u);
  EXPECT_EQ(offsetof(SegmentHeader, checksums_offset), 96u);
  EXPECT_EQ(offsetof(SegmentHeader, memory_chunk_count), 104u);
  EXPECT_EQ(offsetof(SegmentHeader, spill_chunk_count), 112u);
  EXPECT_EQ(offsetof(SegmentHeader, lock), 120u);
  EXPECT_EQ(offsetof(SegmentHeader, free_slots), 160u);
  EXPECT_EQ(offsetof(SegmentHeader, attached_ranks), 164u);
  EXPECT_EQ(offsetof(SegmentHeader, finished_ranks), 168u);
  EXPECT_EQ(offsetof(SegmentHeader, job_failed), 172u);
  EXPECT_EQ(offsetof(SegmentHeader, next_load_ticket), 176u);
  EXPECT_EQ(offsetof(SegmentHeader, store_bytes), 184u);
  EXPECT_EQ(offsetof(SegmentHeader, resident_bytes), 192u);
  EXPECT_EQ(offsetof(SegmentHeader, base_bytes), 200u);
  EXPECT_EQ(offsetof(SegmentHeader, peak_bytes), 208u);
  EXPECT_EQ(offsetof(SegmentHeader, free_cells), 216u);
  EXPECT_EQ(offsetof(SegmentHeader, used_cells), 224u);
  EXPECT_EQ(offsetof(SegmentHeader, loading_ranks), 232u);
  EXPECT_EQ(offsetof(SegmentHeader, overtakings), 236u);
  EXPECT_EQ(offsetof(SegmentHeader, next_critical_ticket), 240u);
  EXPECT_EQ(offsetof(SegmentHeader, critical_rank), 248u);
  EXPECT_EQ(offsetof(SegmentHeader, next_rank), 252u);
}

TEST(SegmentLayoutTest, version_10_has_the_rank_fields_at_these_offsets) {
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

TEST(AttachProtocolTest, version_3_has_these_fields_at_these_offsets) {
  EXPECT_EQ(kAttachMagic, 0x53504c41u);
  EXPECT_EQ(kAttachVersion, 3u);
  EXPECT_EQ(sizeof(AttachMessage), 512u);
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
