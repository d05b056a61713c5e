#include "keyvalue/kept_runs.h"

#include <spillway/mpid.h>

#include <limits>
#include <numeric>
#include <utility>

#include "keyvalue/failure.h"

namespace spillway::keyvalue {
namespace {

using Words = std::vector<uint64_t>;

void append(Words& words, const KeptRun& kept) {
  const shuffle::Run& run = kept.run;
  words.insert(words.end(), {kept.partition, kept.file, run.bytes, run.records, run.offset, run.bytes_before,
                             run.bytes_behind, run.piece_bytes, run.longest_record, run.checksums.size()});
  words.insert(words.end(), run.checksums.begin(), run.checksums.end());
}

KeptRun take(const uint64_t*& next) {
  KeptRun kept;
  kept.partition = static_cast<uint32_t>(*next++);
  kept.file = *next++;
  shuffle::Run& run = kept.run;
  run.is_spilled = true;
  for (uint64_t* number : {&run.bytes, &run.records, &run.offset, &run.bytes_before, &run.bytes_behind})
    *number = *next++;
  run.piece_bytes = *next++;
  run.longest_record = *next++;
  const uint64_t count = *next++;
  run.checksums.assign(next, next + count);
  next += count;
  return kept;
}

// Behind each other.
std::vector<int> places(const std::vector<int>& counts) {
  std::vector<int> first(counts.size(), 0);
  std::partial_sum(counts.begin(), counts.end() - 1, first.begin() + 1);
  return first;
}

size_t sum(const std::vector<int>& counts) { return std::accumulate(counts.begin(), counts.end(), size_t{0}); }

void refuse_more_than_counts_hold(size_t words) {
  if (words > static_cast<size_t>(std::numeric_limits<int>::max()))
    throw Failure(MPI_D_ERR_CHECKPOINT, "the checkpoint has too many records for so few processes",
                  "start the job with more processes");
}

}  // namespace

std::vector<KeptRun> exchange_runs(MPI_Comm communicator, const Route& route, std::vector<KeptRun> found) {
  const auto process_count = static_cast<size_t>(route.process_count);
  std::vector<Words> words(process_count);
  for (KeptRun& kept : found) {
    append(words[static_cast<size_t>(route.process_of(kept.partition))], kept);
    kept.run.checksums = {};  // there may be many
  }
  Words sent;
  std::vector<int> sent_counts;
  for (Words& of_process : words) {
    sent.insert(sent.end(), of_process.begin(), of_process.end());
    refuse_more_than_counts_hold(sent.size());
    sent_counts.push_back(static_cast<int>(of_process.size()));
    of_process = {};
  }
  std::vector<int> counts(process_count);
  MPI_Alltoall(sent_counts.data(), 1, MPI_INT, counts.data(), 1, MPI_INT, communicator);
  refuse_more_than_counts_hold(sum(counts));
  Words received(sum(counts));
  MPI_Alltoallv(sent.data(), sent_counts.data(), places(sent_counts).data(), MPI_UINT64_T, received.data(),
                counts.data(), places(counts).data(), MPI_UINT64_T, communicator);
  std::vector<KeptRun> runs;
  for (const uint64_t* next = received.data(); next != received.data() + received.size();) runs.push_back(take(next));
  return runs;
}

}  // namespace spillway::keyvalue
