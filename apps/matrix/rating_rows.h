// Ratings of items by users, like the Netflix prize's: whole numbers from 1 to 5. How many ratings a user gives and how
// often an item is rated follow power laws, flattened at their heads as in that data. A rating is
//
//   mean + the user's bias + the item's bias + <the user's taste, the item's features> + noise,  rounded,
//
// taste and features being vectors of `rank` numbers, so that a factorization of that rank can find them.
#pragma once

#include <cstdint>

#include "power_law.h"
#include "random_bits.h"
#include "random_permutation.h"
#include "row_source.h"

namespace apps::matrix {

struct RatingOptions {
  uint64_t row_count;     // users
  uint64_t column_count;  // items
  uint64_t entry_count;   // ratings, at most 2^40 and row_count * column_count
  uint64_t rank;
  uint64_t seed;
};

class RatingRows : public RowSource {
 public:
  explicit RatingRows(const RatingOptions& options);
  // The lengths of all rows add up to entry_count.
  [[nodiscard]] uint64_t length_of(uint64_t row) const override;
  void make_row(uint64_t row, std::span<MatrixEntry> into) const override;

 private:
  void choose_items(RandomBits& random, std::span<MatrixEntry> into) const;
  [[nodiscard]] double share_of_others_below(uint64_t activity_rank) const;

  RatingOptions options_;
  uint64_t rating_seed_;
  uint64_t user_seed_;
  uint64_t item_seed_;
  PowerLaw activity_;
  PowerLaw popularity_;
  // Users by activity, items by popularity: users to their rank, ranks to their item.
  RandomPermutation rank_of_user_;
  RandomPermutation item_of_rank_;
  // The most active users for whom the power law gives more ratings than there are items rate all of them; the others
  // share what is left.
  uint64_t complete_users_ = 0;
  double ratings_of_others_;
};

}  // namespace apps::matrix
