#include "sort/splitters.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace spillway::sort {

Splitters::Splitters(const RecordLayout& layout, std::vector<Sample> samples, uint64_t bucket_count) : layout_(layout) {
  double bytes = 0;
  double footprint = 0;
  for (const Sample& sample : samples) {
    bytes += sample.bytes;
    footprint += sample.footprint;
  }
  const auto weight = [&](const Sample& sample) {
    return std::max(sample.bytes / bytes, sample.footprint / footprint);
  };
  double of_bucket = 0;
  for (const Sample& sample : samples) of_bucket += weight(sample) / static_cast<double>(bucket_count);
  std::sort(samples.begin(), samples.end(), [&](const Sample& first, const Sample& second) {
    const int result = layout.order().compare(first.key, second.key);
    return result != 0 ? result < 0 : first.position < second.position;
  });
  double before = 0;
  for (const Sample& sample : samples) {
    while (splitters_.size() + 1 < bucket_count && before >= of_bucket * static_cast<double>(splitters_.size() + 1))
      splitters_.push_back({layout.is_unique() ? 0 : sample.position, std::string(sample.key)});
    before += weight(sample);
  }
  for (const Splitter& splitter : splitters_) prefixes_.push_back(layout.order().prefix(splitter.key));
  prefixes_.push_back(std::numeric_limits<uint64_t>::max());
}

// `first` is the first splitter with the key's prefix, or behind the last one.
uint32_t Splitters::bucket_among_equals(size_t first, std::string_view key, uint64_t position) const {
  const auto begin = splitters_.begin() + static_cast<ptrdiff_t>(first);
  const auto after = std::upper_bound(begin, splitters_.end(), key, [&](std::string_view of, const Splitter& splitter) {
    const int result = layout_.order().compare(of, splitter.key);
    return result != 0 ? result < 0 : position < splitter.position;
  });
  return static_cast<uint32_t>(after - splitters_.begin());
}

}  // namespace spillway::sort
