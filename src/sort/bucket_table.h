// Who has how much of each bucket when all records have been dealt out, and where it goes: in the memory of the process
// that finishes the bucket, its owner, and in the output. Each process has what it needs of that, which does not grow
// with the number of processes beyond the number of buckets.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "sort/record_layout.h"

namespace spillway::sort {

class BucketTable {
 public:
  // Whose buckets are which. `in_turn`: round by round all processes finish neighbouring ones, and one output grows
  // from its beginning. `in_ranges`: each process has neighbouring ones, its own part of the output.
  enum class Owners { in_turn, in_ranges };

  // Collective. What this process holds of each bucket.
  BucketTable(MPI_Comm processes, const RecordLayout& layout, Owners owners, std::vector<uint64_t> bytes,
              const std::vector<uint64_t>& records);

  int processes() const { return static_cast<int>(processes_); }
  uint64_t rounds() const { return rounds_; }
  uint64_t bucket_count() const { return own_bytes_.size(); }
  uint64_t bucket(uint64_t round, int owner) const {
    const auto number = static_cast<uint64_t>(owner);
    return owners_ == Owners::in_turn ? round * processes_ + number : number * rounds_ + round;
  }
  bool has_bucket(uint64_t round, int owner) const { return round < rounds_ && bucket(round, owner) < bucket_count(); }

  // Of this process in any bucket.
  uint64_t own_bytes(uint64_t bucket) const { return own_bytes_[bucket]; }
  uint64_t own_place(uint64_t bucket) const { return own_places_[bucket]; }
  // Of others in the bucket of a round that this process owns.
  uint64_t bytes(uint64_t round, int holder) const { return held_[static_cast<uint64_t>(holder) * rounds_ + round]; }
  // The memory for a bucket, in which each one's part begins on a border of blocks; and for the largest one.
  uint64_t memory_bytes(uint64_t bucket) const { return memory_bytes_[bucket]; }
  uint64_t most_memory_bytes() const;
  uint64_t records(uint64_t bucket) const { return records_[bucket]; }
  // Of all its records in the output, and where they begin if all of all buckets come out: in the whole output, or in
  // the owner's part.
  uint64_t output_bytes(uint64_t bucket) const { return output_bytes_[bucket]; }
  uint64_t output_offset(uint64_t bucket) const;
  // Of an owner's buckets in the output.
  uint64_t part_bytes(int owner) const;
  uint64_t part_records(int owner) const;

 private:
  const uint64_t processes_;
  const Owners owners_;
  const uint64_t rounds_;
  std::vector<uint64_t> own_bytes_;
  std::vector<uint64_t> own_places_;
  std::vector<uint64_t> memory_bytes_;
  std::vector<uint64_t> records_;
  std::vector<uint64_t> output_bytes_;
  std::vector<uint64_t> output_offsets_;  // in the whole output
  std::vector<uint64_t> held_;            // of this process's buckets, by holder and round
};

}  // namespace spillway::sort
