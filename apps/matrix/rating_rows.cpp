#include "rating_rows.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "column_counts.h"

namespace apps::matrix {

namespace {

// Netflix: mean 3.6, standard deviation 1.1; the most active user rates nearly all items, half of the users fewer than
// 100 of 18 thousand; the most popular item is rated by half of the users.
constexpr double kFlatHead = 1.0 / 200;  // of the users and of the items
constexpr double kMeanRating = 3.6;
constexpr double kUserBiasDeviation = 0.4;
constexpr double kItemBiasDeviation = 0.5;
constexpr double kTasteDeviation = 0.8;
constexpr double kNoiseDeviation = 0.4;

enum SeedNumber : uint64_t { kRatingSeed, kUserSeed, kItemSeed, kUserOrderSeed, kItemOrderSeed };

PowerLaw flattened_power_law(uint64_t size) { return {size, std::max(1.0, static_cast<double>(size) * kFlatHead)}; }

// Of mean 0 and variance 1.
double next_uniform(RandomBits& random) { return (2 * random.next_fraction() - 1) * std::numbers::sqrt3; }

}  // namespace

RatingRows::RatingRows(const RatingOptions& options)
    : options_(options),
      rating_seed_(derived_seed(options.seed, kRatingSeed)),
      user_seed_(derived_seed(options.seed, kUserSeed)),
      item_seed_(derived_seed(options.seed, kItemSeed)),
      activity_(flattened_power_law(options.row_count)),
      popularity_(flattened_power_law(options.column_count)),
      rank_of_user_(options.row_count, derived_seed(options.seed, kUserOrderSeed)),
      item_of_rank_(options.column_count, derived_seed(options.seed, kItemOrderSeed)),
      ratings_of_others_(static_cast<double>(options.entry_count)) {
  const auto item_count = static_cast<double>(options.column_count);
  // One less, since rounding may add one. The last user gets the rest, which fits.
  while (complete_users_ + 1 < options.row_count &&
         ratings_of_others_ * share_of_others_below(complete_users_ + 1) > item_count - 1) {
    ++complete_users_;
    ratings_of_others_ -= item_count;
  }
}

// Of what the users that are not complete rate, the share of those before this rank; 1 for all.
double RatingRows::share_of_others_below(uint64_t activity_rank) const {
  const double complete = activity_.share_below(complete_users_);
  return (activity_.share_below(activity_rank) - complete) / (1 - complete);
}

uint64_t RatingRows::length_of(uint64_t row) const {
  const uint64_t rank = rank_of_user_(row);
  if (rank < complete_users_) {
    return options_.column_count;
  }
  return static_cast<uint64_t>(ratings_of_others_ * share_of_others_below(rank + 1)) -
         static_cast<uint64_t>(ratings_of_others_ * share_of_others_below(rank));
}

void RatingRows::choose_items(RandomBits& random, std::span<MatrixEntry> into) const {
  if (into.size() == options_.column_count) {  // to draw the last of all items would take many attempts
    for (MatrixEntry& entry : into) {
      entry.column = &entry - into.data();
    }
    return;
  }
  ColumnCounts items(into.size());
  while (items.size() < into.size()) {
    items.add(item_of_rank_(popularity_.draw(random)));
  }
  items.sort_into(into);
}

void RatingRows::make_row(uint64_t row, std::span<MatrixEntry> into) const {
  RandomBits random = random_stream(rating_seed_, row);
  choose_items(random, into);
  RandomBits user = random_stream(user_seed_, row);
  const double user_mean = kMeanRating + kUserBiasDeviation * next_uniform(user);
  std::vector<double> taste(options_.rank);
  for (double& element : taste) {
    element = next_uniform(user) * kTasteDeviation / std::sqrt(static_cast<double>(options_.rank));
  }
  for (MatrixEntry& entry : into) {
    RandomBits item = random_stream(item_seed_, entry.column);
    double rating = user_mean + kItemBiasDeviation * next_uniform(item) + kNoiseDeviation * random.next_normal();
    for (const double element : taste) {
      rating += element * next_uniform(item);
    }
    entry.value = static_cast<float>(std::clamp(std::round(rating), 1.0, 5.0));
  }
}

}  // namespace apps::matrix
