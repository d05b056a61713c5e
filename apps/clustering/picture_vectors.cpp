#include "picture_vectors.h"

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <spillway/number_lines.hpp>
#include <spillway/record_files.hpp>
#include <stdexcept>

#include "distances.h"

namespace apps::clustering {
namespace {

using spillway::mpid::LineReader;
using spillway::mpid::LineSplits;
using spillway::mpid::RecordReader;
using spillway::mpid::RecordSplits;
using spillway::mpid::Split;

constexpr uint64_t kSplitBytes = 32 << 20;

static_assert(std::endian::native == std::endian::little, "binary files are read as they are");

// As it will be a float: 1e15 is a little less then.
void check_feature(double number) {
  if (!(std::abs(static_cast<float>(number)) <= kMostMagnitude))
    throw std::runtime_error("the feature " + std::to_string(number) + " is no number from -1e15 to 1e15");
}

// What both formats have in common: `splits`, a reader of one, how many vectors it has and where each of them is, if
// that is known without reading it, and how a vector is parsed.
template <typename Format>
class FilesOf : public VectorFiles {
 public:
  FilesOf(const std::vector<std::string>& paths, size_t columns) : columns_(columns), format_(paths, columns) {}

  [[nodiscard]] size_t size() const override { return format_.splits.size(); }

  [[nodiscard]] PictureVectors of_task(int task, int tasks) const override {
    PictureVectors vectors(columns_);
    size_t expected = 0;
    format_.splits.for_each_split(task, tasks,
                                  [&](const Split& split) { expected += format_.known_vectors(split).value_or(0); });
    vectors.places.reserve(expected);
    vectors.features.reserve(expected);
    format_.splits.for_each_split(task, tasks, [&](const Split& split) {
      auto reader = format_.reader(split);
      uint64_t number = 0;
      for (std::string_view item; reader.next(item); ++number)
        format_.parse(reader, split, number, item, [&](const Place& place, const auto* features) {
          vectors.places.push_back(place);
          std::copy(features, features + columns_, vectors.features.append());
        });
    });
    vectors.places.shrink_to_fit();
    vectors.features.shrink_to_fit();
    return vectors;
  }

  [[nodiscard]] FloatRows spread(size_t count) const override {
    std::vector<uint64_t> sizes;
    for (size_t i = 0; i < format_.splits.size(); ++i) sizes.push_back(vectors_of(format_.splits[i]));
    const uint64_t all = std::accumulate(sizes.begin(), sizes.end(), uint64_t{0});
    if (all < count)
      throw std::runtime_error("the files have " + std::to_string(all) + " vectors, fewer than the " +
                               std::to_string(count) + " that are needed");
    FloatRows rows(columns_);
    rows.reserve(count);
    uint64_t begin = 0;
    for (size_t i = 0; i < sizes.size(); begin += sizes[i++]) {
      std::vector<uint64_t> numbers;
      for (uint64_t row = rows.size(); row < count && row * all / count < begin + sizes[i]; ++row)
        numbers.push_back(row * all / count - begin);
      if (!numbers.empty()) append_some(format_.splits[i], numbers, rows);
    }
    return rows;
  }

 private:
  [[nodiscard]] uint64_t vectors_of(const Split& split) const {
    if (const auto known = format_.known_vectors(split)) return *known;
    uint64_t count = 0;
    auto reader = format_.reader(split);
    for (std::string_view item; reader.next(item);) ++count;
    return count;
  }

  // Vectors of a split with certain numbers, which ascend.
  void append_some(const Split& split, const std::vector<uint64_t>& numbers, FloatRows& rows) const {
    const auto append = [&](const Place&, const auto* features) {
      std::copy(features, features + columns_, rows.append());
    };
    std::string_view item;
    if constexpr (requires { format_.place_of(split, 0); }) {
      if (format_.known_vectors(split)) {
        for (const uint64_t number : numbers) {
          const Split one = format_.place_of(split, number);
          auto reader = format_.reader(one);
          reader.next(item);
          format_.parse(reader, one, 0, item, append);
        }
        return;
      }
    }
    auto reader = format_.reader(split);
    uint64_t passed = 0;
    for (const uint64_t number : numbers) {
      for (; passed <= number; ++passed) reader.next(item);
      format_.parse(reader, split, number, item, append);
    }
  }

  size_t columns_;
  Format format_;
};

struct TextFormat {
  TextFormat(const std::vector<std::string>& paths, size_t features) : splits(paths, kSplitBytes), columns(features) {}

  static std::optional<uint64_t> known_vectors(const Split&) { return std::nullopt; }
  static LineReader reader(const Split& split) { return LineReader(split); }

  template <typename Take>
  void parse(const LineReader& reader, const Split&, uint64_t, std::string_view line, Take take) const {
    const auto parse_line = [&](std::string_view) {
      const auto numbers = spillway::mpid::numbers_of_line<double>(line);
      if (numbers.size() != 3 + columns)
        throw std::runtime_error("there are " + std::to_string(numbers.size()) +
                                 " numbers where picture, row, column and " + std::to_string(columns) +
                                 " features are expected (--columns)");
      for (size_t i = 3; i < numbers.size(); ++i) check_feature(numbers[i]);
      take(Place{whole(numbers[0]), whole(numbers[1]), whole(numbers[2])}, numbers.data() + 3);
    };
    reader.call(parse_line, line);
  }

  static int32_t whole(double number) {
    using Limits = std::numeric_limits<int32_t>;
    if (number != std::floor(number) || number < Limits::min() || number > Limits::max())
      throw std::runtime_error("picture, row and column must be whole numbers of 32 bits");
    return static_cast<int32_t>(number);
  }

  LineSplits splits;
  size_t columns;
};

struct BinaryFormat {
  BinaryFormat(const std::vector<std::string>& paths, size_t features)
      : splits(paths, sizeof(Place) + features * sizeof(float), kSplitBytes), columns(features) {}

  [[nodiscard]] std::optional<uint64_t> known_vectors(const Split& split) const {
    if (split.end == Split::kUnknownEnd) return std::nullopt;
    return (split.end - split.begin) / splits.unit_bytes();
  }
  // Where their number is known.
  [[nodiscard]] Split place_of(Split split, uint64_t number) const {
    split.begin += number * splits.unit_bytes();
    split.end = split.begin + splits.unit_bytes();
    return split;
  }
  [[nodiscard]] RecordReader reader(const Split& split) const { return RecordReader(split, splits.unit_bytes()); }

  template <typename Take>
  void parse(const RecordReader&, const Split& split, uint64_t number, std::string_view record, Take take) const {
    Place place{};
    std::vector<float> features(columns);
    std::memcpy(&place, record.data(), sizeof place);
    std::memcpy(features.data(), record.data() + sizeof place, columns * sizeof(float));
    try {
      for (const float feature : features) check_feature(feature);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(split.name() + ", record " +
                               std::to_string(split.begin / splits.unit_bytes() + number + 1) + ": " + error.what());
    }
    take(place, features.data());
  }

  RecordSplits splits;
  size_t columns;
};

}  // namespace

std::unique_ptr<VectorFiles> text_vector_files(const std::vector<std::string>& paths, size_t columns) {
  return std::make_unique<FilesOf<TextFormat>>(paths, columns);
}

std::unique_ptr<VectorFiles> binary_vector_files(const std::vector<std::string>& paths, size_t columns) {
  return std::make_unique<FilesOf<BinaryFormat>>(paths, columns);
}

}  // namespace apps::clustering
