#include "factor_model.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "blocked_sum.h"
#include "permutation.h"

namespace apps::sgd {

namespace {

// Four sums side by side: one after the other, each addition would wait for the one before.
inline float dot_product(const float* __restrict row, const float* __restrict column, uint64_t factors) {
  constexpr uint64_t kSums = 4;
  std::array<float, kSums> sums = {};
  uint64_t factor = 0;
  for (; factor + kSums <= factors; factor += kSums) {
    for (uint64_t sum = 0; sum < kSums; ++sum) {
      sums[sum] += row[factor + sum] * column[factor + sum];
    }
  }
  for (uint64_t sum = 0; factor + sum < factors; ++sum) {
    sums[sum] += row[factor + sum] * column[factor + sum];
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

class Updater {
 public:
  Updater(const Model& model, uint64_t iteration, std::span<float> row_factors, std::span<float> column_factors)
      : factors_(model.factors),
        lambda_(static_cast<float>(model.lambda)),
        row_factors_(row_factors.data()),
        column_factors_(column_factors.data()) {
    double rate = model.rate;
    for (uint64_t done = 0; done < iteration; ++done) {
      rate *= model.decay;
    }
    rate_ = static_cast<float>(rate);
  }

  void prefetch(uint32_t row_index, uint32_t column_index) const {
    prefetch_factors(row_factors_ + row_index * factors_);
    prefetch_factors(column_factors_ + column_index * factors_);
  }

  void take(uint32_t row_index, uint32_t column_index, float value) const {
    float* const __restrict row = row_factors_ + row_index * factors_;
    float* const __restrict column = column_factors_ + column_index * factors_;
    const float error = value - dot_product(row, column, factors_);
    for (uint64_t factor = 0; factor < factors_; ++factor) {
      const float before = row[factor];
      row[factor] = before + rate_ * (error * column[factor] - lambda_ * before);
      column[factor] = column[factor] + rate_ * (error * before - lambda_ * column[factor]);
    }
  }

 private:
  void prefetch_factors(const float* first) const {
    constexpr uint64_t kCacheLineFloats = 16;
    for (uint64_t factor = 0; factor < factors_; factor += kCacheLineFloats) {
      __builtin_prefetch(first + factor, 1);
    }
  }

  uint64_t factors_;
  float rate_;
  float lambda_;
  float* row_factors_;
  float* column_factors_;
};

Permutation permutation_for(const Model& model, Visit visit, uint64_t size) {
  const uint64_t key = key_of(model.seed, Purpose::permutation);
  return {size, random_number(random_number(key, visit.iteration), visit.block_number)};
}

// Each rating is a random access, and its factors are two more that depend on it: some ratings together, the processor
// has all of them on their way at once. That is several times faster than one after the other.
void update_by_elements(const Updater& updater, const Permutation& permutation, std::span<const Rating> ratings) {
  constexpr size_t kTogether = 32;
  std::array<const Rating*, kTogether> taken = {};
  for (size_t begin = 0; begin < ratings.size(); begin += kTogether) {
    const std::span<const Rating*> some = std::span(taken).first(std::min(kTogether, ratings.size() - begin));
    for (size_t index = 0; index < some.size(); ++index) {
      some[index] = &ratings[permutation(static_cast<uint32_t>(begin + index))];
      __builtin_prefetch(some[index]);
    }
    for (const Rating* rating : some) {
      updater.prefetch(rating->row, rating->column);
    }
    for (const Rating* rating : some) {
      updater.take(rating->row, rating->column, rating->value);
    }
  }
}

void update_by_rows(const Updater& updater, const Permutation& permutation, const Block& block) {
  const std::span<const uint32_t> offsets = block.offsets();
  const std::span<const MatrixEntry> entries = block.entries();
  for (size_t place = 0; place + 1 < offsets.size(); ++place) {
    const uint32_t row = permutation(static_cast<uint32_t>(place));
    for (uint32_t entry = offsets[row]; entry < offsets[row + 1]; ++entry) {
      updater.take(row, entries[entry].column, entries[entry].value);
    }
  }
}

}  // namespace

void fill_starting_values(const Model& model, Purpose purpose, uint64_t first_row, std::span<float> into) {
  constexpr unsigned kUnusedBits = 64 - 24;  // a float holds 24
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(model.factors)));
  const uint64_t key = key_of(model.seed, purpose);
  uint64_t counter = first_row * model.factors;
  for (float& value : into) {
    value = static_cast<float>(random_number(key, counter++) >> kUnusedBits) * 0x1p-24F * scale;
  }
}

void update_factors(const Model& model, Visit visit, const Block& block, std::span<float> row_factors,
                    std::span<float> column_factors) {
  if (block.shape().entry_count == 0) {
    return;
  }
  const Updater updater(model, visit.iteration, row_factors, column_factors);
  if (model.order == Order::elements) {
    update_by_elements(updater, permutation_for(model, visit, block.ratings().size()), block.ratings());
  } else {
    update_by_rows(updater, permutation_for(model, visit, block.shape().row_count), block);
  }
}

double squared_error(const Model& model, const Block& block, std::span<const float> row_factors,
                     std::span<const float> column_factors) {
  BlockedSum sum;
  const auto take = [&](uint32_t row, uint32_t column, float value) {
    const double error = value - dot_product(row_factors.data() + row * model.factors,
                                             column_factors.data() + column * model.factors, model.factors);
    sum.add(error * error);
  };
  if (block.shape().order == Order::elements) {
    for (const Rating& rating : block.ratings()) {
      take(rating.row, rating.column, rating.value);
    }
  } else {
    const std::span<const uint32_t> offsets = block.offsets();
    for (size_t row = 0; row + 1 < offsets.size(); ++row) {
      for (const MatrixEntry& entry : block.entries().subspan(offsets[row], offsets[row + 1] - offsets[row])) {
        take(static_cast<uint32_t>(row), entry.column, entry.value);
      }
    }
  }
  return sum.total();
}

double root_mean_square(std::span<const double> squared_errors, uint64_t entry_count) {
  double sum = 0;
  for (double error : squared_errors) {
    sum += error;
  }
  return entry_count == 0 ? 0 : std::sqrt(sum / static_cast<double>(entry_count));
}

}  // namespace apps::sgd
