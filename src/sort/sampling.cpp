#include "sort/sampling.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sort/aligned_memory.h"
#include "sort/bucket_sorter.h"
#include "sort/failure.h"
#include "sort/long_line.h"
#include "storage/spill_file.h"

namespace spillway::sort {
namespace {

constexpr uint64_t kSamplesOfBucket = 256;
constexpr uint64_t kSamplesOfLongLines = 64;  // at least, where each of them has to be read for its length,
constexpr uint64_t kLongLinesOfSample = 16;   // and one of so many
constexpr uint64_t kUsualPlaces = 4096;
constexpr uint64_t kBytesOfPlace = 4096;         // those that begin there are looked at,
constexpr uint64_t kMostKeyBytes = 4096;         // and of a key so much,
constexpr uint64_t kMostOfEqualKeys = 64 << 10;  // or so much where many begin with the same
constexpr uint64_t kPlacesForSize = 512;
constexpr double kBytesOfSample = 64;                     // without its key
constexpr uint64_t kMostSampleBytes = uint64_t{1} << 28;  // of all together: they are counted as an int
constexpr uint64_t kMostReadBytes = 4 << 20;              // at a time,
constexpr uint64_t kMostReads = 64;                       // and not more than these

// A part of the input whose records are looked at, and what of the file is read for that: of records of one size it
// begins with the first one's key, and ends with the last one's.
struct Place {
  uint64_t position;  // of its first byte
  uint64_t offset;    // of that in its file
  uint64_t bytes;
  uint64_t read_offset;
  uint64_t read_bytes;
  bool is_to_end;  // of its file
  std::shared_ptr<DirectFile> file;
  AlignedMemory memory;

  const char* at(uint64_t file_offset) const { return memory.data() + (file_offset - read_offset); }
  const char* end() const { return memory.data() + read_bytes; }
};

struct Found {
  uint64_t position;
  uint64_t bytes;      // of the record
  std::string key;     // or its beginning
  uint64_t key_bytes;  // of all of it
};

// The process's of `count` places, each in the middle of an equal part of the input.
class Places {
 public:
  Places(MPI_Comm processes, const InputPlan& plan, const RecordLayout& layout, InputFiles& files, uint64_t count,
         uint64_t bytes)
      : plan_(plan), layout_(layout), files_(files), count_(count), bytes_(bytes) {
    MPI_Comm_rank(processes, &process_);
    MPI_Comm_size(processes, &process_count_);
  }

  // Calls `function` with the records of each place.
  template <typename Function>
  void for_each(AsyncIo& io, Function function) {
    std::vector<Place> places;
    for (auto number = static_cast<uint64_t>(process_); number < count_;
         number += static_cast<uint64_t>(process_count_)) {
      places.push_back(place(number));
      if (places.size() != reads_at_a_time() && number + static_cast<uint64_t>(process_count_) < count_) continue;
      read(places, io);
      for (const Place& read : places) function(records_of(read));
      places.clear();
    }
  }

 private:
  size_t reads_at_a_time() const {
    return std::clamp<uint64_t>(kMostReadBytes / (bytes_ + kMostKeyBytes), 1, kMostReads);
  }

  Place place(uint64_t number) const {
    const uint64_t unit = layout_.unit_bytes();
    const double middle = (static_cast<double>(number) + 0.5) / static_cast<double>(count_);
    const uint64_t units = plan_.total_bytes() / unit;
    Place place{};
    place.position = std::min(static_cast<uint64_t>(middle * static_cast<double>(units)), units - 1) * unit;
    InputPlan::Place begin = plan_.place(place.position);
    if (layout_.is_lines()) {  // the middle, as it may be the only one; the beginning of a file that is small
      const uint64_t back = std::min(bytes_ / 2, begin.offset);
      place.position -= back;
      begin.offset -= back;
    }
    const uint64_t left = plan_.files()[begin.file].bytes - begin.offset;
    place.offset = begin.offset;
    place.bytes = std::min(bytes_, left);
    const uint64_t read_from = begin.offset + layout_.key_offset();
    const uint64_t read_to = begin.offset + (layout_.is_lines() ? std::min(place.bytes + kMostKeyBytes, left)
                                                                : place.bytes - layout_.record_bytes() +
                                                                      layout_.key_offset() + seen_of_key());
    place.read_offset = read_from / storage::kBlockBytes * storage::kBlockBytes;
    place.read_bytes = read_to - place.read_offset;
    place.is_to_end = read_to == begin.offset + left;
    place.file = files_.open(begin.file);
    return place;
  }

  static void read(std::vector<Place>& places, AsyncIo& io) try {
    for (Place& place : places) {
      place.memory = AlignedMemory(place.read_bytes);
      io.read(*place.file, place.memory.data(), place.memory.bytes(), place.read_bytes, place.read_offset, [] {});
    }
    io.finish();
  } catch (...) {
    static_cast<void>(
        new std::vector<Place>(std::move(places)));  // the kernel may still write there, until the job has ended
    throw;
  }

  std::vector<Found> records_of(const Place& place) const {
    std::vector<Found> found;
    if (!layout_.is_lines()) {
      for (uint64_t from = 0; from != place.bytes; from += layout_.record_bytes())
        found.push_back({place.position + from,
                         layout_.record_bytes(),
                         {place.at(place.offset + from + layout_.key_offset()), seen_of_key()},
                         layout_.key_bytes()});
      return found;
    }
    const char* const begin = place.at(place.offset);
    const char* const last = begin + place.bytes;  // lines begin behind an end of a line before it
    const char* line = place.offset == 0 ? begin : after_line(begin, last);
    while (line != nullptr && line < place.end()) {
      const char* const next = after_line(line, place.end());
      const auto seen = static_cast<size_t>((next == nullptr ? place.end() : next - 1) - line);
      const uint64_t offset = place.offset + static_cast<uint64_t>(line - begin);
      std::string whole;
      if (next == nullptr && !place.is_to_end)
        whole = std::string(line, seen) + read_line(place.file->name, offset + seen, RecordLayout::kMostRecordBytes);
      const std::string_view text = whole.empty() ? std::string_view(line, seen) : whole;
      const std::string_view key = layout_.key(text);
      found.push_back({place.position + static_cast<uint64_t>(line - begin), text.size(),
                       std::string(key.substr(0, kMostKeyBytes)), key.size()});
      line = next != nullptr && next <= last ? next : nullptr;
    }
    return found;
  }

  uint64_t seen_of_key() const { return std::min(layout_.key_bytes(), kMostKeyBytes); }

  static const char* after_line(const char* from, const char* end) {
    const void* found = std::memchr(from, '\n', static_cast<size_t>(end - from));
    return found == nullptr ? nullptr : static_cast<const char*>(found) + 1;
  }

  const InputPlan& plan_;
  const RecordLayout& layout_;
  InputFiles& files_;
  const uint64_t count_;
  const uint64_t bytes_;
  int process_ = 0;
  int process_count_ = 1;
};

// Keys one after the other.
struct Samples {
  std::vector<uint64_t> positions;
  std::vector<double> bytes;
  std::vector<double> footprints;
  std::vector<uint32_t> key_bytes;
  std::vector<char> keys;
  std::vector<uint64_t> whole_key_bytes;
};

template <typename Item>
std::vector<Item> gather(MPI_Comm processes, const std::vector<Item>& own, MPI_Datatype type) {
  int process_count = 1;
  MPI_Comm_size(processes, &process_count);
  const int own_count = static_cast<int>(own.size());
  std::vector<int> counts(static_cast<size_t>(process_count));
  MPI_Allgather(&own_count, 1, MPI_INT, counts.data(), 1, MPI_INT, processes);
  std::vector<int> offsets(counts.size(), 0);
  std::partial_sum(counts.begin(), counts.end() - 1, offsets.begin() + 1);
  std::vector<Item> all(static_cast<size_t>(offsets.back() + counts.back()));
  MPI_Allgatherv(own.data(), own_count, type, all.data(), counts.data(), offsets.data(), type, processes);
  return all;
}

struct AllSamples {
  std::vector<Sample> samples;
  std::vector<uint64_t> whole_key_bytes;
  double bytes = 0;  // in buckets that one of the bytes of samples stands for
};

// Those of which there is only the same beginning of their keys.
struct Group {
  double bytes = 0;
  std::vector<size_t> samples;
};

std::map<std::string_view, Group> groups_of(const AllSamples& all) {
  std::map<std::string_view, Group> groups;
  for (size_t i = 0; i < all.samples.size(); ++i) {
    if (all.whole_key_bytes[i] == all.samples[i].key.size()) continue;
    Group& group = groups[all.samples[i].key];
    group.bytes += all.samples[i].bytes * all.bytes;
    group.samples.push_back(i);
  }
  return groups;
}

std::string read_key(const InputPlan& plan, const RecordLayout& layout, uint64_t position) {
  const InputPlan::Place place = plan.place(position);
  const std::string& path = plan.files()[place.file].path;
  if (layout.is_lines()) {
    const std::string line = read_line(path, place.offset, RecordLayout::kMostRecordBytes);
    return std::string(layout.key(line).substr(0, kMostOfEqualKeys));
  }
  std::string key(std::min(layout.key_bytes(), kMostOfEqualKeys), '\0');
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(place.offset + layout.key_offset()));
  if (!file.read(key.data(), static_cast<std::streamsize>(key.size())))
    throw Failure("cannot read " + path + " at byte " + std::to_string(place.offset),
                  "look at the device, and at the system's log (dmesg)");
  return key;
}

// Collective. More of the keys of groups that a bucket may have no room for, so that equal keys are known as such: of
// so many samples that they take about `most_bytes`, which stand for the others, too. Gives the memory of these keys.
std::vector<char> tell_apart(MPI_Comm processes, const InputPlan& plan, const RecordLayout& layout, AllSamples& all,
                             uint64_t most_bucket_bytes, uint64_t most_bytes) {
  std::vector<std::vector<size_t>> large;
  uint64_t bytes = 0;
  for (auto& [beginning, group] : groups_of(all)) {
    if (group.bytes <= static_cast<double>(most_bucket_bytes) / 4) continue;
    for (const size_t i : group.samples) bytes += std::min(all.whole_key_bytes[i], kMostOfEqualKeys);
    large.push_back(std::move(group.samples));
  }
  const uint64_t step = bytes / most_bytes + 1;
  std::vector<size_t> kept;
  std::vector<char> is_dropped(all.samples.size(), 0);
  for (const std::vector<size_t>& group : large) {
    for (size_t i = 0; i < group.size(); ++i) {
      if (i % step == 0) {
        kept.push_back(group[i]);
        continue;
      }
      all.samples[kept.back()].bytes += all.samples[group[i]].bytes;
      all.samples[kept.back()].footprint += all.samples[group[i]].footprint;
      is_dropped[group[i]] = 1;
    }
  }
  int process = 0;
  int process_count = 1;
  MPI_Comm_rank(processes, &process);
  MPI_Comm_size(processes, &process_count);
  std::vector<uint64_t> own;
  std::vector<uint32_t> own_sizes;
  std::vector<char> own_keys;
  for (auto i = static_cast<size_t>(process); i < kept.size(); i += static_cast<size_t>(process_count)) {
    const std::string key = read_key(plan, layout, all.samples[kept[i]].position);
    own.push_back(kept[i]);
    own_sizes.push_back(static_cast<uint32_t>(key.size()));
    own_keys.insert(own_keys.end(), key.begin(), key.end());
  }
  const std::vector<uint64_t> read = gather(processes, own, MPI_UINT64_T);
  const std::vector<uint32_t> sizes = gather(processes, own_sizes, MPI_UINT32_T);
  std::vector<char> keys = gather(processes, own_keys, MPI_CHAR);
  for (size_t i = 0, at = 0; i < read.size(); at += sizes[i++]) all.samples[read[i]].key = {keys.data() + at, sizes[i]};
  size_t count = 0;
  for (size_t i = 0; i < all.samples.size(); ++i) {
    if (is_dropped[i] != 0) continue;
    all.samples[count] = all.samples[i];
    all.whole_key_bytes[count++] = all.whole_key_bytes[i];
  }
  all.samples.resize(count);
  all.whole_key_bytes.resize(count);
  return keys;
}

// All keys that begin as the beginning of a longer one that was sampled come into one bucket. Refuses them here where
// they are surely too many, and not after all has been read: also where only one of equal ones comes out, as they
// are not known to be equal.
void require_room(const AllSamples& all, uint64_t most_bucket_bytes) {
  for (const auto& [beginning, group] : groups_of(all)) {
    const double surely = group.bytes * (1 - 2 / std::sqrt(static_cast<double>(group.samples.size())));
    if (surely <= static_cast<double>(most_bucket_bytes)) continue;
    const auto mebibytes = [](auto value) { return std::to_string(static_cast<uint64_t>(value) >> 20) + " MiB"; };
    throw Failure("about " + mebibytes(group.bytes) + " have keys whose first " + std::to_string(beginning.size()) +
                      " bytes are the same, and only by these can they be divided; a process has room for " +
                      mebibytes(most_bucket_bytes),
                  "give each process more (--memory)");
  }
}

}  // namespace

RecordSize record_size(MPI_Comm processes, const InputPlan& plan, const RecordLayout& layout, InputFiles& files,
                       AsyncIo& io) {
  const auto extra = static_cast<double>(layout.extra_bytes());
  if (!layout.is_lines()) {
    const auto bytes = static_cast<double>(layout.record_bytes());
    return {bytes, bytes + extra};
  }
  double seen[2] = {0, 0};  // lines, bytes
  Places(processes, plan, layout, files, kPlacesForSize, kBytesOfPlace).for_each(io, [&](const std::vector<Found>& of) {
    seen[0] += static_cast<double>(of.size());
    for (const Found& found : of) seen[1] += static_cast<double>(found.bytes + 1);
  });
  MPI_Allreduce(MPI_IN_PLACE, seen, 2, MPI_DOUBLE, MPI_SUM, processes);
  const double bytes = seen[0] == 0 ? static_cast<double>(RecordLayout::kMostRecordBytes) : seen[1] / seen[0];
  return {bytes, bytes - 1 + extra};
}

Splitters sample_splitters(MPI_Comm processes, const InputPlan& plan, const RecordLayout& layout, InputFiles& files,
                           const RecordSize& size, const Buckets& buckets, uint64_t most_bytes, AsyncIo& io) {
  const double key_bytes = std::min(layout.is_lines() ? size.file_bytes : static_cast<double>(layout.key_bytes()),
                                    static_cast<double>(kMostKeyBytes));
  const auto most = static_cast<uint64_t>(static_cast<double>(std::min(most_bytes, kMostSampleBytes)) /
                                          (key_bytes + kBytesOfSample)) +
                    1;
  const auto total = static_cast<uint64_t>(static_cast<double>(plan.total_bytes()) / size.file_bytes) + 1;
  const bool has_long_lines = layout.is_lines() && size.file_bytes > static_cast<double>(kBytesOfPlace);
  const uint64_t of_buckets = has_long_lines
                                  ? std::clamp(total / kLongLinesOfSample, kSamplesOfLongLines * buckets.count,
                                               kSamplesOfBucket * buckets.count)
                                  : kSamplesOfBucket * buckets.count;
  const uint64_t wanted = std::min({of_buckets, most, total});
  // Neighbours say little new where the input is partly sorted, but cost nothing.
  const auto in_place = static_cast<uint64_t>(static_cast<double>(kBytesOfPlace) / size.file_bytes);
  const uint64_t of_place = std::clamp<uint64_t>(in_place, 1, wanted / kUsualPlaces + 1);
  const uint64_t place_count = (wanted + of_place - 1) / of_place;
  const uint64_t place_of_lines = has_long_lines ? static_cast<uint64_t>(size.file_bytes) : kBytesOfPlace;
  const uint64_t place_bytes = layout.is_lines() ? std::min(place_of_lines, plan.total_bytes() / place_count + 1)
                                                 : of_place * layout.record_bytes();
  Samples own;
  Places(processes, plan, layout, files, place_count, place_bytes).for_each(io, [&](const std::vector<Found>& of) {
    double bytes = 0;  // of the place: of equal parts of the input some have more records than others
    for (const Found& found : of) bytes += static_cast<double>(found.bytes + layout.extra_bytes());
    const double index = 2.0 * BucketSorter::kEntryBytes * static_cast<double>(of.size());  // and its copy
    const auto count = std::min<uint64_t>(of.size(), of_place);
    for (uint64_t i = 0; i < count; ++i) {
      const Found& found = of[i * of.size() / count];
      own.positions.push_back(found.position);
      own.bytes.push_back(bytes / static_cast<double>(count));
      own.footprints.push_back((bytes + index) / static_cast<double>(count));
      own.key_bytes.push_back(static_cast<uint32_t>(found.key.size()));
      own.keys.insert(own.keys.end(), found.key.begin(), found.key.end());
      own.whole_key_bytes.push_back(found.key_bytes);
    }
  });
  const std::vector<uint64_t> positions = gather(processes, own.positions, MPI_UINT64_T);
  const std::vector<double> bytes = gather(processes, own.bytes, MPI_DOUBLE);
  const std::vector<double> footprints = gather(processes, own.footprints, MPI_DOUBLE);
  const std::vector<uint32_t> sizes = gather(processes, own.key_bytes, MPI_UINT32_T);
  const std::vector<char> keys = gather(processes, own.keys, MPI_CHAR);
  AllSamples all;
  for (size_t i = 0, at = 0; i < positions.size(); at += sizes[i++])
    all.samples.push_back({positions[i], {keys.data() + at, sizes[i]}, bytes[i], footprints[i]});
  all.whole_key_bytes = gather(processes, own.whole_key_bytes, MPI_UINT64_T);
  const double stored_bytes = static_cast<double>(plan.total_bytes()) / size.file_bytes * size.bucket_bytes;
  all.bytes = stored_bytes / std::max(std::accumulate(bytes.begin(), bytes.end(), 0.0), 1.0);
  const std::vector<char> more_of_keys =
      tell_apart(processes, plan, layout, all, buckets.most_bytes, std::min(most_bytes, kMostSampleBytes));
  require_room(all, buckets.most_bytes);
  return {layout, std::move(all.samples), buckets.count};
}

}  // namespace spillway::sort
