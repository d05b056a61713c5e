#include "document_rows.h"

#include <algorithm>
#include <cmath>

#include "column_counts.h"

namespace apps::matrix {

namespace {

constexpr double kMainTopicShare = 0.7;
constexpr double kAnyTopicShare = 0.05;
constexpr double kLogLengthDeviation = 0.6;
constexpr double kZipfOffset = 1;

// Sequences of the seed with a meaning of their own; those from kFirstTopicSeed are the topics'.
enum SeedNumber : uint64_t { kLengthSeed, kWordSeed, kLanguageSeed, kFirstTopicSeed };

}  // namespace

DocumentRows::DocumentRows(const DocumentOptions& options)
    : max_length_(std::max<uint64_t>(options.column_count / 2, 1)),
      log_length_mean_(std::log(static_cast<double>(options.mean_length)) -
                       kLogLengthDeviation * kLogLengthDeviation / 2),
      length_seed_(derived_seed(options.seed, kLengthSeed)),
      word_seed_(derived_seed(options.seed, kWordSeed)),
      frequencies_(options.column_count, kZipfOffset),
      language_(options.column_count, derived_seed(options.seed, kLanguageSeed)) {
  for (uint64_t topic = 0; topic < options.topic_count; ++topic) {
    topics_.emplace_back(options.column_count, derived_seed(options.seed, kFirstTopicSeed + topic));
  }
}

uint64_t DocumentRows::length_of(uint64_t row) const {
  RandomBits random = random_stream(length_seed_, row);
  const double length = std::exp(log_length_mean_ + kLogLengthDeviation * random.next_normal());
  return std::clamp<uint64_t>(std::llround(length), 1, max_length_);
}

void DocumentRows::make_row(uint64_t row, std::span<MatrixEntry> into) const {
  RandomBits random = random_stream(word_seed_, row);
  const RandomPermutation& main_topic = draw_topic(random);
  ColumnCounts terms(into.size());
  while (terms.size() < into.size()) {
    terms.add(draw_term(main_topic, random));
  }
  terms.sort_into(into);
}

uint32_t DocumentRows::draw_term(const RandomPermutation& main_topic, RandomBits& random) const {
  const double choice = random.next_fraction();
  const uint64_t rank = frequencies_.draw(random);
  if (choice < kMainTopicShare) {
    return main_topic(rank);
  }
  return choice < kMainTopicShare + kAnyTopicShare ? draw_topic(random)(rank) : language_(rank);
}

}  // namespace apps::matrix
