#include "sort/bucket_table.h"

#include <algorithm>
#include <utility>

#include "sort/aligned_memory.h"

namespace spillway::sort {
namespace {

uint64_t size_of(MPI_Comm processes) {
  int size = 1;
  MPI_Comm_size(processes, &size);
  return static_cast<uint64_t>(size);
}

std::vector<uint64_t> sums(MPI_Comm processes, std::vector<uint64_t> own) {
  MPI_Allreduce(MPI_IN_PLACE, own.data(), static_cast<int>(own.size()), MPI_UINT64_T, MPI_SUM, processes);
  return own;
}

}  // namespace

BucketTable::BucketTable(MPI_Comm processes, const RecordLayout& layout, Owners owners, std::vector<uint64_t> bytes,
                         const std::vector<uint64_t>& records)
    : processes_(size_of(processes)),
      owners_(owners),
      rounds_((bytes.size() + processes_ - 1) / processes_),
      own_bytes_(std::move(bytes)),
      own_places_(own_bytes_.size(), 0),
      records_(sums(processes, records)),
      output_bytes_(sums(processes, own_bytes_)) {
  std::vector<uint64_t> whole;
  for (const uint64_t own : own_bytes_) whole.push_back(whole_blocks(own));
  int process = 0;
  MPI_Comm_rank(processes, &process);
  MPI_Exscan(whole.data(), own_places_.data(), static_cast<int>(whole.size()), MPI_UINT64_T, MPI_SUM, processes);
  if (process == 0) std::fill(own_places_.begin(), own_places_.end(), 0);
  memory_bytes_ = sums(processes, whole);

  uint64_t offset = 0;
  for (uint64_t number = 0; number < bucket_count(); ++number) {
    output_bytes_[number] = layout.output_bytes(output_bytes_[number], records_[number]);
    output_offsets_.push_back(offset);
    offset += output_bytes_[number];
  }

  std::vector<uint64_t> to_owners(processes_ * rounds_, 0);
  for (int owner = 0; owner < this->processes(); ++owner)
    for (uint64_t round = 0; has_bucket(round, owner); ++round)
      to_owners[static_cast<uint64_t>(owner) * rounds_ + round] = own_bytes_[bucket(round, owner)];
  held_.resize(to_owners.size());
  MPI_Alltoall(to_owners.data(), static_cast<int>(rounds_), MPI_UINT64_T, held_.data(), static_cast<int>(rounds_),
               MPI_UINT64_T, processes);
}

uint64_t BucketTable::most_memory_bytes() const {
  return memory_bytes_.empty() ? 0 : *std::max_element(memory_bytes_.begin(), memory_bytes_.end());
}

uint64_t BucketTable::output_offset(uint64_t bucket) const {
  if (owners_ == Owners::in_turn) return output_offsets_[bucket];
  return output_offsets_[bucket] - output_offsets_[bucket / rounds_ * rounds_];
}

uint64_t BucketTable::part_bytes(int owner) const {
  uint64_t bytes = 0;
  for (uint64_t round = 0; has_bucket(round, owner); ++round) bytes += output_bytes_[bucket(round, owner)];
  return bytes;
}

uint64_t BucketTable::part_records(int owner) const {
  uint64_t records = 0;
  for (uint64_t round = 0; has_bucket(round, owner); ++round) records += records_[bucket(round, owner)];
  return records;
}

}  // namespace spillway::sort
