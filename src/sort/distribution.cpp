#include "sort/distribution.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "sort/aligned_memory.h"
#include "sort/memory_plan.h"

namespace spillway::sort {
namespace {

constexpr uint64_t kShortWaitNs = 500'000;
constexpr uint64_t kPartBytes = 128 << 10;  // some 0.2 ms

}  // namespace

Distribution::Distribution(const InputPlan& plan, InputFiles& files, Dealer& dealer, Staging& staging, AsyncIo& io,
                           Progress& progress, uint64_t slot_bytes, bool is_reader)
    : plan_(plan),
      files_(files),
      dealer_(dealer),
      staging_(staging),
      io_(io),
      progress_(progress),
      slot_bytes_(slot_bytes),
      has_more_to_read_(is_reader),
      own_blocks_(staging.own_count(plan.block_count())) {}

void Distribution::run() {
  for (;;) {
    const uint64_t rings = staging_.rings();
    bool has_moved = io_.progress();
    has_moved |= take_blocks();
    for (Reading& reading : readings_) has_moved |= advance(reading);
    for (Reading& reading : readings_)
      if (reading.step == Step::over && reading.memory.data() != nullptr) spare_.push_back(std::move(reading.memory));
    std::erase_if(readings_, [](const Reading& reading) { return reading.step == Step::over; });
    has_moved |= use_next_block();
    ring_waiters();
    if (progress_.is_due())
      progress_.show('d', std::min(staging_.taken_blocks(), plan_.block_count()), plan_.block_count());
    if (has_moved) {
      pause_.reset();
      continue;
    }
    if (!has_more_to_read_ && readings_.empty() && used_ == own_blocks_ && to_ring_.empty()) break;
    idle(rings);
  }
  const uint64_t begin = base::now_ns();
  dealer_.finish();
  io_.finish();
  times_.flushed_ns = base::now_ns() - begin;
}

bool Distribution::take_blocks() {
  if (!has_more_to_read_ || readings_.size() == MemoryPlan::kMostReadings || is_delivering_to(Staging::kCounterPe))
    return false;
  const uint64_t block = staging_.take_block();
  has_more_to_read_ = block < plan_.block_count();
  if (!has_more_to_read_) return false;
  Reading& reading = readings_.emplace_back();
  reading.block = block;
  reading.of = plan_.block(block);
  reading.place = staging_.place_of(block);
  if (staging_.direct(reading.place) == nullptr) start_reading(reading, memory_for(reading));
  return true;
}

// On this node a block is read into its place, once that is free. To another node it is read first.
bool Distribution::advance(Reading& reading) {
  char* const direct = staging_.direct(reading.place);
  switch (reading.step) {
    case Step::claiming: {
      if (is_delivering_to(reading.place.sorter)) return false;
      const uint64_t rings = staging_.rings();
      if (reading.waits_for_ring && rings == reading.rings) return false;
      reading.rings = rings;
      const Staging::Claim claim = staging_.claim(reading.place);
      reading.waits_for_ring = claim == Staging::Claim::later;
      if (claim != Staging::Claim::free) return false;
      if (direct != nullptr) {
        start_reading(reading, direct);
      } else {
        reading.delivery = staging_.deliver(reading.place, reading.memory.data(), reading.of.read_bytes);
        reading.step = Step::delivering;
      }
      return true;
    }
    case Step::read:
      if (direct != nullptr) staging_.say_delivered(reading.place);
      reading.step = direct != nullptr ? Step::over : Step::claiming;
      return true;
    case Step::delivering:
      if (!staging_.has_been_delivered(reading.delivery)) return false;
      reading.step = Step::over;
      return true;
    default:
      return false;
  }
}

// Then whatever is done to it would wait for what is on its way there.
bool Distribution::is_delivering_to(int sorter) const {
  return std::any_of(readings_.begin(), readings_.end(), [&](const Reading& reading) {
    return reading.step == Step::delivering && reading.place.sorter == sorter;
  });
}

char* Distribution::memory_for(Reading& reading) {
  if (spare_.empty()) spare_.emplace_back(slot_bytes_);
  reading.memory = std::move(spare_.back());
  spare_.pop_back();
  return reading.memory.data();
}

void Distribution::start_reading(Reading& reading, char* to) {
  const uint64_t needed = reading.of.read_bytes;
  reading.step = Step::reading;
  const std::shared_ptr<DirectFile> file = files_.open(reading.of.file);
  io_.read(*file, to, whole_blocks(needed), needed, reading.of.read_offset, [this, file, block = reading.block] {
    for (Reading& other : readings_)
      if (other.block == block) other.step = Step::read;
  });
}

bool Distribution::use_next_block() {
  if (used_ == own_blocks_) return false;
  const char* memory = staging_.arrived(used_);
  if (memory == nullptr) return false;
  deal_out(memory, plan_.block(staging_.own_block(used_)));
  if (const std::optional<int> waiter = staging_.release(used_++)) to_ring_.push_back(*waiter);
  return true;
}

void Distribution::ring_waiters() {
  std::erase_if(to_ring_, [this](int pe) {
    if (is_delivering_to(pe)) return false;
    staging_.ring(pe);
    return true;
  });
}

// Where others reach this process's memory only while it calls MPI, a block is dealt out in parts: they would wait for
// a whole one at each of the operations that a delivery takes.
void Distribution::deal_out(const char* memory, const InputPlan::Block& block) {
  if (staging_.is_all_direct()) return dealer_.deal_out(memory, block);
  const uint64_t unit = dealer_.unit_bytes();
  const uint64_t most = std::max<uint64_t>(kPartBytes / unit, 1) * unit;
  for (uint64_t done = 0; done < block.bytes; done += most) {
    InputPlan::Block part = block;
    part.offset += done;
    part.position += done;
    part.bytes = std::min(most, block.bytes - done);
    dealer_.deal_out(memory, part);
    staging_.let_others_in();
  }
}

// Until a read or a write has ended, or the bell has rung again.
void Distribution::idle(uint64_t rings) {
  const uint64_t begin = base::now_ns();
  const bool polls = std::any_of(readings_.begin(), readings_.end(), [](const Reading& reading) {
    return reading.step == Step::claiming && !reading.waits_for_ring;
  });
  if (!staging_.is_all_direct()) {
    staging_.let_others_in();
    pause_.take();
  } else if (io_.pending() != 0) {
    io_.wait(kShortWaitNs);
  } else if (polls) {
    usleep(kShortWaitNs / 1000);
  } else {
    staging_.wait_for_ring(rings);
  }
  if (used_ != own_blocks_) times_.waited_ns += base::now_ns() - begin;
}

}  // namespace spillway::sort
