#include "shuffle/run_store.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "shuffle/program_error.h"
#include "shuffle/quiet_thread.h"
#include "shuffle/run_writer.h"

namespace spillway::shuffle {
namespace {

constexpr uint64_t kMostChunkBytes = 512 << 10;
constexpr size_t kCombiningFan = 16;
constexpr size_t kMemoryFan = 256;
constexpr uint64_t kMostSpilledFan = 256;
constexpr uint64_t kLeastFileChunkBytes = 4 * Run::kLeastPieceBytes;
constexpr uint64_t kBuffersShare = 4;  // of the memory is for one buffer of each spilled run; there are two

// As large as a chunk of a merge of the most runs may be: so checksums take little memory.
size_t piece_bytes_for(uint64_t memory_bytes) {
  return std::bit_floor(
      std::clamp(memory_bytes / kBuffersShare / kMostSpilledFan, Run::kLeastPieceBytes, kMostChunkBytes));
}

}  // namespace

RunStore::RunStore(const Settings& settings, const KeyOrder& order, const Combiner& combiner)
    : order_(order),
      combiner_(combiner),
      memory_bytes_(settings.memory_bytes),
      memory_fan_(combiner ? kCombiningFan : kMemoryFan),
      piece_bytes_(piece_bytes_for(settings.memory_bytes)),
      spilled_fan_(std::clamp<uint64_t>(settings.memory_bytes / kBuffersShare / piece_bytes_, 8, kMostSpilledFan)),
      space_(settings.spill_directories),
      partitions_(settings.partition_count),
      staying_(settings.partition_count),
      resident_bytes_(settings.partition_count, 0),
      thread_(quiet_thread("mpid-merge", [this] { work(); })) {}

RunStore::~RunStore() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  work_came_.notify_one();
  thread_.join();
}

bool RunStore::is_spill_due() const { return charged_bytes_ > memory_bytes_ / 4 * 3 && spillable_bytes_ != 0; }

void RunStore::charge(uint64_t bytes) {
  std::unique_lock lock(mutex_);
  charged_bytes_ += bytes;
  work_came_.notify_one();
  work_done_.wait(lock, [&] { return charged_bytes_ <= memory_bytes_ || (spillable_bytes_ == 0 && !is_busy_); });
}

void RunStore::deliver(int /*sender*/, uint32_t partition, Run run) {
  const std::lock_guard lock(mutex_);
  if (stays(run)) return staying_[partition].push_back(std::move(run));
  resident_bytes_[partition] += run.resident_bytes();
  spillable_bytes_ += run.resident_bytes();
  partitions_[partition].push_back(std::move(run));
  touched_.push_back(partition);
  work_came_.notify_one();
}

void RunStore::finish() {
  std::unique_lock lock(mutex_);
  is_finishing_ = true;
  for (uint32_t partition = 0; partition < partitions_.size(); ++partition) {
    std::vector<Run>& staying = staying_[partition];
    std::move(staying.begin(), staying.end(), std::back_inserter(partitions_[partition]));
    staying.clear();
    touched_.push_back(partition);
  }
  work_came_.notify_one();
  work_done_.wait(lock, [&] { return !is_busy_ && touched_.empty() && !is_spill_due(); });
}

// Of a record that does not fit in a buffer, its reader has a copy.
uint64_t RunStore::long_record_bytes(const Run& run) const {
  return run.longest_record > piece_bytes_ ? run.longest_record : 0;
}

// Until the last merge. Of others, of which one merge would have to hold long records, few are merged at a time.
bool RunStore::stays(const Run& run) { return run.file && run.longest_record <= kLeastFileChunkBytes; }

// Spilled runs for one merge.
bool RunStore::are_enough(size_t spilled_count, uint64_t long_record_bytes) const {
  return spilled_count >= spilled_fan_ || (spilled_count >= 2 && long_record_bytes >= memory_bytes_ / 4);
}

RunStore::Job RunStore::take_from_memory(uint32_t partition) {
  Job job = take(partition, [](const Run& run) { return run.is_spilled; });
  job.is_spilled = true;
  return job;
}

RunStore::Job RunStore::take_level(uint32_t partition, bool is_spilled, unsigned level) {
  size_t spilled_count = 0;
  uint64_t long_bytes = 0;
  Job job = take(partition, [&](const Run& run) {
    if (stays(run) || run.is_spilled != is_spilled || run.level != level || are_enough(spilled_count, long_bytes))
      return true;
    spilled_count += is_spilled ? 1 : 0;
    long_bytes += long_record_bytes(run);
    return false;
  });
  job.is_spilled = is_spilled;
  job.level = level + 1;
  return job;
}

RunStore::Job RunStore::take(uint32_t partition, const std::function<bool(const Run&)>& stays) {
  std::vector<Run>& runs = partitions_[partition];
  const auto first = std::stable_partition(runs.begin(), runs.end(), stays);
  Job job{partition, {std::make_move_iterator(first), std::make_move_iterator(runs.end())}, false, 0};
  runs.erase(first, runs.end());
  for (const Run& run : job.runs) {
    spillable_bytes_ -= run.resident_bytes();
    resident_bytes_[partition] -= run.resident_bytes();
  }
  return job;
}

std::optional<RunStore::Job> RunStore::spill_job() {
  if (!is_spill_due()) return std::nullopt;
  const auto largest = std::max_element(resident_bytes_.begin(), resident_bytes_.end()) - resident_bytes_.begin();
  return take_from_memory(static_cast<uint32_t>(largest));
}

bool RunStore::is_merge_due(uint32_t partition, bool is_spilled, unsigned level) const {
  size_t count = 0;
  uint64_t bytes = 0;
  uint64_t long_bytes = 0;
  for (const Run& run : partitions_[partition])
    if (!stays(run) && run.is_spilled == is_spilled && run.level == level) {
      ++count;
      bytes += run.resident_bytes();
      long_bytes += long_record_bytes(run);
    }
  if (is_spilled) return are_enough(count, long_bytes);
  // A merge in memory has both what it reads and what it writes there.
  return count >= memory_fan_ && charged_bytes_ + bytes <= memory_bytes_;
}

std::optional<RunStore::Job> RunStore::merge_job(uint32_t partition) {
  unsigned highest = 0;
  for (const Run& run : partitions_[partition]) highest = std::max(highest, run.level);
  for (const bool is_spilled : {false, true})
    for (unsigned level = 0; level <= highest; ++level)
      if (is_merge_due(partition, is_spilled, level)) return take_level(partition, is_spilled, level);
  return is_finishing_ ? surplus_job(partition, highest + 1) : std::nullopt;
}

// The smallest of the runs in files, where all of them need too much for the last merge's buffers.
std::optional<RunStore::Job> RunStore::surplus_job(uint32_t partition, unsigned level) {
  struct InFile {
    uint64_t bytes;
    uint64_t chunk_bytes;
  };
  std::vector<InFile> runs;
  uint64_t needed = 0;
  for (const Run& run : partitions_[partition])
    if (run.is_spilled) {
      runs.push_back({run.bytes, least_chunk_bytes(run)});
      needed += runs.back().chunk_bytes;
    }
  const uint64_t most = spilled_fan_ * piece_bytes_;
  if (needed <= most) return std::nullopt;
  std::sort(runs.begin(), runs.end(), [](const InFile& a, const InFile& b) { return a.bytes < b.bytes; });
  size_t count = 0;
  for (uint64_t merged = 0; count < runs.size(); merged += runs[count++].chunk_bytes)
    if (count >= 2 && (merged + runs[count].chunk_bytes > most || needed - merged + piece_bytes_ <= most)) break;
  Job job = take(partition, [&, largest = runs[count - 1].bytes](const Run& run) {
    if (!run.is_spilled || run.bytes > largest || count == 0) return true;
    --count;
    return false;
  });
  job.is_spilled = true;
  job.level = level;
  return job;
}

std::optional<RunStore::Job> RunStore::next_job() {
  if (auto job = spill_job()) return job;
  while (!touched_.empty()) {
    if (auto job = merge_job(touched_.back())) return job;
    touched_.pop_back();
  }
  return std::nullopt;
}

// That are read at once of a run in a file.
uint64_t RunStore::least_chunk_bytes(const Run& run) const { return run.file ? kLeastFileChunkBytes : piece_bytes_; }

// For each of those runs as much, if there is memory for that.
uint64_t RunStore::chunk_bytes_beyond_least(const std::vector<Run>& runs) const {
  uint64_t count = 0;
  uint64_t needed = 0;
  for (const Run& run : runs)
    if (run.is_spilled) {
      ++count;
      needed += least_chunk_bytes(run);
    }
  const uint64_t most = memory_bytes_ / kBuffersShare;
  return needed < most ? (most - needed) / std::max<uint64_t>(count, 1) : 0;
}

std::vector<std::unique_ptr<RunCursor>> RunStore::cursors_of(const std::vector<Run>& runs, ReadAhead* ahead) {
  const uint64_t beyond_least = chunk_bytes_beyond_least(runs);
  std::vector<std::unique_ptr<RunCursor>> cursors;
  for (const Run& run : runs) {
    if (run.is_spilled) {
      const uint64_t chunk = std::min(least_chunk_bytes(run) + beyond_least, kMostChunkBytes);
      const uint64_t pieces = chunk / run.piece_bytes;
      cursors.push_back(std::make_unique<SpilledCursor>(run, space_, pieces * run.piece_bytes, ahead));
    } else {
      cursors.push_back(std::make_unique<MemoryCursor>(run));
    }
  }
  return cursors;
}

Run RunStore::merge(const Job& job) {
  uint64_t bytes = 0;
  for (const Run& run : job.runs) bytes += run.bytes;
  RunMerge merge(cursors_of(job.runs, nullptr), order_, combiner_);
  Record record;
  if (job.is_spilled) {
    SpilledRunWriter writer(space_, bytes, piece_bytes_);
    while (merge.next(record)) writer.add(record);
    return writer.finish();
  }
  MemoryRunWriter writer(bytes);
  while (merge.next(record)) writer.add(record);
  return writer.finish();
}

void RunStore::discard(std::vector<Run>& runs) {
  for (const Run& run : runs)
    if (run.is_spilled && !run.file) space_.release(run.offset, run.bytes);
  runs.clear();
}

void RunStore::work_on(Job job, std::unique_lock<std::mutex>& lock) {
  uint64_t resident = 0;
  for (const Run& run : job.runs) resident += run.resident_bytes();
  const uint64_t written = job.is_spilled ? 0 : resident;  // nobody else may take the room meanwhile
  charged_bytes_ += written;
  lock.unlock();
  Run merged = working("merging what has come for", job.partition, [&] { return merge(job); });
  merged.level = job.level;
  if (merged.is_spilled) {
    spilled_bytes_ += merged.bytes;
    ++spilled_runs_;
  }
  discard(job.runs);
  lock.lock();
  charged_bytes_ += merged.resident_bytes();
  charged_bytes_ -= resident + written;
  spillable_bytes_ += merged.resident_bytes();
  resident_bytes_[job.partition] += merged.resident_bytes();
  partitions_[job.partition].push_back(std::move(merged));
  touched_.push_back(job.partition);
}

void RunStore::read_next(std::unique_lock<std::mutex>& lock) {
  ReadRequest& request = *reads_.front();
  reads_.pop_front();
  lock.unlock();
  request.read(space_);
  lock.lock();
  request.is_done = true;
}

void RunStore::work() try {
  std::unique_lock lock(mutex_);
  while (!is_ending_) {
    is_busy_ = true;
    if (!reads_.empty()) {
      read_next(lock);
    } else if (auto job = next_job()) {
      work_on(std::move(*job), lock);
    } else {
      is_busy_ = false;
      work_done_.notify_all();
      work_came_.wait(lock);
      continue;
    }
    is_busy_ = false;
    work_done_.notify_all();
  }
} catch (const ProgramError& error) {
  end_process(error);
} catch (const std::bad_alloc&) {
  base::fatal(
      "not enough memory to merge what has come for the A tasks\n"
      "  Remedy: use more processes, more memory, or a smaller MPI_D_MEMORY.");
}

void RunStore::start(ReadRequest& request) {
  const std::lock_guard lock(mutex_);
  reads_.push_back(&request);
  work_came_.notify_one();
}

void RunStore::wait(ReadRequest& request) {
  std::unique_lock lock(mutex_);
  work_done_.wait(lock, [&] { return request.is_done; });
}

RunMerge RunStore::open(uint32_t partition) { return {cursors_of(partitions_[partition], this), order_, combiner_}; }

void RunStore::close(uint32_t partition) {
  uint64_t resident = 0;
  for (const Run& run : partitions_[partition]) resident += run.resident_bytes();
  discard(partitions_[partition]);
  const std::lock_guard lock(mutex_);
  charged_bytes_ -= resident;
  spillable_bytes_ -= resident;
  resident_bytes_[partition] = 0;
}

}  // namespace spillway::shuffle
