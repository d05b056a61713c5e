// Documents and how often each has which term, like newspaper articles. Terms follow Zipf's law. Seven of ten of a
// document's words come from its main topic, which is drawn for each document; a few from any topic, the rest from the
// language that all share. Each topic and the language have an order of preference of their own over all terms.
#pragma once

#include <cstdint>
#include <vector>

#include "power_law.h"
#include "random_bits.h"
#include "random_permutation.h"
#include "row_source.h"

namespace apps::matrix {

struct DocumentOptions {
  uint64_t column_count;  // terms
  uint64_t mean_length;   // different terms of a document; lengths are log-normal, up to half of column_count
  uint64_t topic_count;
  uint64_t seed;
};

class DocumentRows : public RowSource {
 public:
  explicit DocumentRows(const DocumentOptions& options);
  [[nodiscard]] uint64_t length_of(uint64_t row) const override;
  // The values are the number of times that the document has the term.
  void make_row(uint64_t row, std::span<MatrixEntry> into) const override;

 private:
  [[nodiscard]] uint32_t draw_term(const RandomPermutation& main_topic, RandomBits& random) const;
  [[nodiscard]] const RandomPermutation& draw_topic(RandomBits& random) const {
    return topics_[random.next() % topics_.size()];
  }

  uint64_t max_length_;
  double log_length_mean_;
  uint64_t length_seed_;
  uint64_t word_seed_;
  PowerLaw frequencies_;
  // Turn a rank by frequency into a term.
  RandomPermutation language_;
  std::vector<RandomPermutation> topics_;
};

}  // namespace apps::matrix
