// What each page of a file should hold: a checksum (XXH3, 64 bits) of what was last written to it.
//
// A device that returns something else than it was given says so mostly, but not always; a result that is wrong without
// a word is the worst that can happen to a job of a week. XXH3 is not made against an attacker: who can write to the
// file is the user.
//
// Allocates nothing; not thread-safe.
#pragma once

#include <cstdint>

namespace spillway::storage {

class PageChecksums {
 public:
  static constexpr uint64_t kPageBytes = 4096;

  // `table` has an entry, zero, for each page of the file; nullptr: nothing is kept and nothing is ever found.
  void initialise(uint64_t* table) { table_ = table; }
  bool are_kept() const { return table_ != nullptr; }

  // All offsets and sizes are multiples of kPageBytes.

  // The page is written next. False when the file has these contents already.
  bool replace(uint64_t offset, const void* page);
  void replace_by_zeros(uint64_t offset, uint64_t bytes);

  // What the range holds is not known any more.
  void forget(uint64_t offset, uint64_t bytes);

  // Where the range, as it was read, has the first page that was written as something else; kNowhere if it has none.
  static constexpr uint64_t kNowhere = ~uint64_t{0};
  uint64_t damaged_page(uint64_t offset, const void* contents, uint64_t bytes) const;

 private:
  uint64_t* table_ = nullptr;  // 0: not known
};

}  // namespace spillway::storage
