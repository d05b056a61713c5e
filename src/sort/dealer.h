// Copies the records of a delivered block to the buckets that they belong to. Where only one of those with equal keys
// comes out, of those with the first key of a bucket, as the most frequent ones are, only what may be the first one is
// kept; they are counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sort/bucket_store.h"
#include "sort/input_plan.h"
#include "sort/record_layout.h"
#include "sort/splitters.h"

namespace spillway::sort {

class Dealer {
 public:
  // Behind a block of lines so much is read with it; of longer ones the rest is read here.
  static uint64_t tail_bytes(const RecordLayout& layout) { return layout.is_lines() ? 16 << 10 : 0; }

  // All stay.
  Dealer(const InputPlan& plan, const RecordLayout& layout, const Splitters& splitters, BucketStore& store,
         uint64_t bucket_count)
      : plan_(plan), layout_(layout), splitters_(splitters), store_(store) {
    if (layout.is_unique()) repeats_.resize(bucket_count, 0);
    if (layout.is_unique()) first_positions_.resize(bucket_count, ~uint64_t{0});
  }

  // A block may be given in parts of a whole number of so many bytes.
  uint64_t unit_bytes() const { return layout_.unit_bytes(); }
  // `memory` is what was read for the block. Throws Failure where a line is too long.
  void deal_out(const char* memory, const InputPlan::Block& block);
  // Nothing more comes.
  void finish() { store_.finish(); }

  uint64_t records() const { return records_; }
  // Of each bucket, how often its first key came; empty unless only one of them comes out.
  const std::vector<uint64_t>& repeats() const { return repeats_; }
  uint64_t computed_ns() const { return computed_ns_; }

 private:
  void deal_out_lines(const char* memory, const InputPlan::Block& block);
  void deal(std::string_view record, uint64_t position);

  const InputPlan& plan_;
  const RecordLayout& layout_;
  const Splitters& splitters_;
  BucketStore& store_;
  std::vector<uint64_t> repeats_;
  std::vector<uint64_t> first_positions_;  // of those that have been kept
  std::string long_line_;
  uint64_t records_ = 0;
  uint64_t computed_ns_ = 0;
};

}  // namespace spillway::sort
