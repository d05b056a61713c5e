// Which rank gets a slot (BDMPI 5.2).
//
// The policy: of the ranks that are ready, the one with the highest share of its memory resident goes first, because it
// costs the least to go on with. A rank that has been passed over more often than there are ranks on the node goes
// before all others, so nobody starves; counting grants instead of time makes this independent of how long the ranks
// compute.
//
// Two kinds of rank lend a slot that they cannot use, so that as many ranks as there are slots compute:
// - A rank may wait by means that Spillway does not see: for a connection, a file, a child. When the agent finds one
//   that sleeps with its slot (launch/slot_lender.h), the slot goes to a ready rank, and the sleeper has none to give
//   up when it waits in MPI next. So nobody waits for the slot of whom it keeps waiting.
// - A rank that waits for room may find only memory in the way that must stay until its owner goes on (a buffer of an
//   operation of the MPI library). Its slot goes to such an owner that is ready, and comes back, if nobody wants it,
//   when there is room.
//
// Invariants: free_slots + (ranks in running or loading that have not lent their slot) == slot_count, and
// free_slots > 0 only while no rank is ready.
//
// REQUIRES the node's lock, except where a function says that it takes it.
#pragma once

#include <cstdint>

#include "node/segment.h"
#include "node/segment_layout.h"

namespace spillway::node {

// Who gets the next slot. nullptr: nobody is ready.
RankRecord* best_ready_rank(Segment& segment, bool must_be_resident = false);

// Gives the free slots to ready ranks, and rings those that are not the caller. The one that comes next is rung too, to
// have its memory brought in before (Scheduler::get_ready_ahead).
void grant_free_slots(Segment& segment, const RankRecord* caller);

// The slot of a rank that runs or loads, unless it has lent it.
void put_slot_back(SegmentHeader& header, RankRecord& rank);

// Passes the slot of a rank that sleeps outside of MPI to a ready rank. False when the rank has no slot, or none is
// ready, or the node's lock is taken: to be tried again. Takes the lock.
bool lend_slot_of(Segment& segment, uint32_t index);

// Passes the slot of a rank that waits for room to a ready rank that needs none. False when there is no such pair.
bool lend_slot_while_loading(Segment& segment);

// For a rank that has found room: the slot that it has lent, if nobody has it.
void take_lent_slot_back(SegmentHeader& header, RankRecord& rank);

}  // namespace spillway::node
