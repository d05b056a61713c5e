// The records of several sorted runs, in order: a tree of losers, so that each record costs as many comparisons as the
// number of runs has binary digits. Of records with equal keys, those of earlier runs come first. With a combiner, each
// key comes once; but where the combined record would be longer than those that it is made of, these stay: so what
// comes never has more bytes than the runs. Where the program compares and keys come in another order than it says,
// constructor and next() throw ProgramError, as for what its functions throw.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shuffle/combiner.h"
#include "shuffle/key_order.h"
#include "shuffle/run_cursor.h"

namespace spillway::shuffle {

class RunMerge {
 public:
  // `order` and `combiner`, which may be empty, must stay.
  RunMerge(std::vector<std::unique_ptr<RunCursor>> cursors, const KeyOrder& order, const Combiner& combiner);

  // False at the end. The record stays until the next call.
  bool next(Record& record) { return combiner_ ? next_combined(record) : next_single(record); }

 private:
  struct Leaf {
    uint64_t prefix;  // the highest where there is no record
    Record record;
    bool has_record;
  };
  struct Player {
    uint64_t prefix;
    uint32_t leaf;
  };

  bool next_single(Record& record);
  bool next_combined(Record& record);
  void advance(uint32_t leaf);
  void replay(uint32_t leaf);
  void build();
  void match(Player& waiting, Player& climber) const;
  bool comes_first_of_same_prefix(uint32_t first, uint32_t second) const;
  bool has_next() const { return !leaves_.empty() && leaves_[winner_].has_record; }
  bool continues_group(uint64_t prefix) const;
  void check_order();

  std::vector<std::unique_ptr<RunCursor>> cursors_;
  const KeyOrder& order_;
  const Combiner& combiner_;
  std::vector<Leaf> leaves_;
  std::vector<Player> losers_;  // of the match at each inner node; node 1 is the last match
  uint32_t winner_ = 0;
  bool is_taken_ = false;  // the winner's record has been given out
  bool has_key_ = false;
  std::string key_;  // of the group that is combined; else the first of equal ones in the program's order
  std::string value_;
  Combiner::Slots slots_;
};

}  // namespace spillway::shuffle
