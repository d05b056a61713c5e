// The second stage (hybrid-sort.txt, final sort and write): each bucket is gathered from all sorters into symmetric
// memory of one process, its owner, sorted, and written to its place in the output. Of two buckets of a process one is
// gathered while the other is sorted and written.
//
// Whoever holds a part of a bucket puts that there when the owner has said that its memory is free. Where not all
// records come out, the place of a bucket in the output is known when all before it are sorted: owners tell each other
// how large theirs are.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "sort/async_io.h"
#include "sort/bucket_sorter.h"
#include "sort/bucket_store.h"
#include "sort/bucket_table.h"
#include "sort/output_file.h"
#include "sort/progress.h"
#include "sort/record_layout.h"
#include "sort/splitters.h"

namespace spillway::sort {

struct FinishingFigures {
  uint64_t sorted_ns = 0;  // in memory
  uint64_t moved_ns = 0;   // records to their places
  uint64_t records = 0;    // that this process has written
  uint64_t bytes = 0;
};

class Finishing {
 public:
  // Collective. `store` is nullptr where this process holds nothing, `output` this process's part where it has one.
  // `repeats` are Dealer::repeats() of all. All stay.
  Finishing(const RecordLayout& layout, BucketStore* store, const BucketTable& table, const Splitters& splitters,
            const std::vector<uint64_t>& repeats, uint64_t memory_bytes, const std::string& output, bool has_parts,
            AsyncIo& io, Progress& progress);
  // Collective.
  ~Finishing();
  Finishing(const Finishing&) = delete;
  Finishing& operator=(const Finishing&) = delete;

  FinishingFigures run();

 private:
  static constexpr uint64_t kMostBuffers = 2;

  // What this process puts into the memory of one owner.
  struct Sending {
    uint64_t round = 0;
    bool is_open = false;                   // the owner has given its memory for that round
    std::deque<BucketStore::Piece> pieces;  // that have not been begun
    uint64_t unread = 0;                    // that have been begun, and not read
  };

  size_t first_buffer() const { return 1 + static_cast<size_t>(table_.processes()); }
  size_t first_size() const { return first_buffer() + kMostBuffers; }
  bool advance_sending(int owner);
  bool send_next_pieces(int owner);
  void read(const BucketStore::Piece& piece, char* to, AsyncIo::Done done);
  void end_sending(int owner);
  bool advance_own();
  bool sort_next();
  bool find_offset(uint64_t bucket);
  void write_sorted();
  void let_others_in();
  void let_go();
  void idle(uint64_t rings);

  const RecordLayout& layout_;
  BucketStore* store_;
  const BucketTable& table_;
  const Splitters& splitters_;
  const std::vector<uint64_t>& repeats_;
  const bool has_parts_;
  AsyncIo& io_;
  Progress& progress_;
  uint64_t buffer_bytes_ = 0;  // for one bucket
  uint64_t buffers_ = 0;
  char* memory_;
  // The bell; of each owner the rounds that may be put; of each buffer what has been put there; and of each bucket the
  // bytes in the output, and one, where not all records come out.
  uint64_t* words_;
  bool is_all_direct_ = true;  // all processes reach each other's memory without help
  std::vector<Sending> sendings_;
  uint64_t bytes_to_other_nodes_ = 0;  // of memory for pieces on their way
  uint64_t round_ = 0;                 // of the bucket that is next here
  bool is_sorted_ = false;
  uint64_t sorted_bytes_ = 0;
  uint64_t offset_ = 0;  // in the output, of the first bucket of which it is not known yet
  uint64_t bucket_at_offset_ = 0;
  BucketSorter sorter_;
  OutputRange output_;
  FinishingFigures figures_;
};

}  // namespace spillway::sort
