#include "picture_vectors.h"

#include <bit>
#include <cmath>
#include <limits>
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

// What both formats have in common: `Splits`, and how one of them is read, vector by vector, as long as take(place,
// features) wants more.
template <typename Format>
class FilesOf : public VectorFiles {
 public:
  FilesOf(const std::vector<std::string>& paths, size_t columns) : columns_(columns), format_(paths, columns) {}

  [[nodiscard]] size_t size() const override { return format_.splits.size(); }

  [[nodiscard]] PictureVectors of_task(int task, int tasks) const override {
    PictureVectors vectors(columns_);
    size_t expected = 0;
    format_.splits.for_each_split(task, tasks, [&](const Split& split) { expected += format_.records_of(split); });
    vectors.places.reserve(expected);
    vectors.features.reserve(expected);
    format_.splits.for_each_split(task, tasks, [&](const Split& split) {
      format_.read(split, [&](const Place& place, const auto* features) {
        vectors.places.push_back(place);
        std::copy(features, features + columns_, vectors.features.append());
        return true;
      });
    });
    vectors.places.shrink_to_fit();
    vectors.features.shrink_to_fit();
    return vectors;
  }

  [[nodiscard]] FloatRows first(size_t count) const override {
    FloatRows rows(columns_);
    for (size_t i = 0; i < format_.splits.size() && rows.size() < count; ++i)
      format_.read(format_.splits[i], [&](const Place&, const auto* features) {
        std::copy(features, features + columns_, rows.append());
        return rows.size() < count;
      });
    if (rows.size() < count)
      throw std::runtime_error("the files have " + std::to_string(rows.size()) + " vectors, fewer than the " +
                               std::to_string(count) + " that are needed");
    return rows;
  }

 private:
  size_t columns_;
  Format format_;
};

struct TextFormat {
  TextFormat(const std::vector<std::string>& paths, size_t features) : splits(paths, kSplitBytes), columns(features) {}

  // 0 where it is not known.
  static size_t records_of(const Split&) { return 0; }

  template <typename Take>
  void read(const Split& split, Take take) const {
    bool goes_on = true;
    const auto parse = [&](std::string_view line) {
      const auto numbers = spillway::mpid::numbers_of_line<double>(line);
      if (numbers.size() != 3 + columns)
        throw std::runtime_error("there are " + std::to_string(numbers.size()) +
                                 " numbers where picture, row, column and " + std::to_string(columns) +
                                 " features are expected (--columns)");
      for (size_t i = 3; i < numbers.size(); ++i) check_feature(numbers[i]);
      goes_on = take(Place{whole(numbers[0]), whole(numbers[1]), whole(numbers[2])}, numbers.data() + 3);
    };
    LineReader lines(split);
    for (std::string_view line; goes_on && lines.next(line);) lines.call(parse, line);
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

  [[nodiscard]] size_t records_of(const Split& split) const {
    return split.end == Split::kUnknownEnd ? 0 : (split.end - split.begin) / splits.unit_bytes();
  }

  template <typename Take>
  void read(const Split& split, Take take) const {
    std::vector<float> features(columns);
    RecordReader records(split, splits.unit_bytes());
    uint64_t number = split.begin / splits.unit_bytes();
    for (std::string_view record; records.next(record);) {
      ++number;
      Place place{};
      std::memcpy(&place, record.data(), sizeof place);
      std::memcpy(features.data(), record.data() + sizeof place, columns * sizeof(float));
      try {
        for (const float feature : features) check_feature(feature);
      } catch (const std::runtime_error& error) {
        throw std::runtime_error(split.name() + ", record " + std::to_string(number) + ": " + error.what());
      }
      if (!take(place, features.data())) return;
    }
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
