#include "sort/finishing.h"

#include <spillway/pgas.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "sort/aligned_memory.h"
#include "sort/failure.h"

namespace spillway::sort {
namespace {

constexpr uint64_t kShortWaitNs = 500'000;
constexpr uint64_t kMostToOtherNodes = 8 << 20;

}  // namespace

Finishing::Finishing(const RecordLayout& layout, BucketStore* store, const BucketTable& table,
                     const Splitters& splitters, const std::vector<uint64_t>& repeats, uint64_t memory_bytes,
                     const std::string& output, bool has_parts, AsyncIo& io, Progress& progress)
    : layout_(layout),
      store_(store),
      table_(table),
      splitters_(splitters),
      repeats_(repeats),
      has_parts_(has_parts),
      io_(io),
      progress_(progress),
      buffer_bytes_(std::max(table.most_memory_bytes(), storage::kBlockBytes)),
      sendings_(static_cast<size_t>(table.processes())),
      sorter_(layout, [this] { let_others_in(); }),
      output_(output, io) {
  const size_t words = first_size() + (layout_.is_unique() ? table_.bucket_count() : 0);
  words_ = static_cast<uint64_t*>(pgas_calloc(words, sizeof(uint64_t)));
  if (words_ == nullptr) throw Failure("no room in symmetric memory", "give each process more (--memory)");
  for (buffers_ = kMostBuffers; buffers_ != 0; --buffers_) {
    memory_ = static_cast<char*>(
        buffers_ * buffer_bytes_ > memory_bytes ? nullptr : pgas_align(storage::kBlockBytes, buffers_ * buffer_bytes_));
    if (memory_ != nullptr) break;
  }
  for (int pe = 0; pe < table_.processes(); ++pe) is_all_direct_ &= pgas_ptr(words_, pe) != nullptr;
  if (buffers_ == 0)
    throw Failure("a bucket of " + std::to_string(buffer_bytes_ >> 20) + " MiB has no room in the memory of a process",
                  "give each process more (--memory)");
}

Finishing::~Finishing() {
  pgas_free(memory_);
  pgas_free(words_);
}

FinishingFigures Finishing::run() {
  const int own = pgas_my_pe();
  for (;;) {
    const uint64_t rings = pgas_uint64_atomic_fetch(words_, own);
    bool has_moved = io_.progress();
    bool is_over = !table_.has_bucket(round_, own);
    for (int turn = 0; turn < table_.processes(); ++turn) {
      const int owner = (own + turn) % table_.processes();
      has_moved |= advance_sending(owner);
      is_over &= !table_.has_bucket(sendings_[static_cast<size_t>(owner)].round, owner);
    }
    has_moved |= advance_own();
    if (progress_.is_due()) progress_.show('f', round_, table_.rounds());
    if (has_moved) continue;
    if (is_over) break;
    idle(rings);
  }
  output_.finish();
  return figures_;
}

bool Finishing::advance_sending(int owner) {
  Sending& sending = sendings_[static_cast<size_t>(owner)];
  if (sending.is_open) {
    const bool has_moved = send_next_pieces(owner);
    if (!sending.pieces.empty() || sending.unread != 0) return has_moved;
    end_sending(owner);
    return true;
  }
  if (!table_.has_bucket(sending.round, owner)) return false;
  const uint64_t granted = buffers_ + pgas_uint64_atomic_fetch(words_ + 1 + owner, pgas_my_pe());
  if (sending.round >= granted) return false;
  sending.is_open = true;
  const uint64_t number = table_.bucket(sending.round, owner);
  if (store_ != nullptr && table_.own_bytes(number) != 0)
    store_->for_each_piece(number, [&](const BucketStore::Piece& piece) { sending.pieces.push_back(piece); });
  return true;
}

// Those for which there is memory.
bool Finishing::send_next_pieces(int owner) {
  Sending& sending = sendings_[static_cast<size_t>(owner)];
  const uint64_t place = table_.own_place(table_.bucket(sending.round, owner));
  char* const symmetric = memory_ + sending.round % buffers_ * buffer_bytes_ + place;
  char* const direct = static_cast<char*>(pgas_ptr(symmetric, owner));
  bool has_moved = false;
  for (; !sending.pieces.empty(); sending.pieces.pop_front(), has_moved = true) {
    const BucketStore::Piece& piece = sending.pieces.front();
    if (piece.memory != nullptr) {
      pgas_putmem(symmetric + piece.place, piece.memory, piece.bytes, owner);
    } else if (direct != nullptr) {
      ++sending.unread;
      read(piece, direct + piece.place, [&sending] { --sending.unread; });
    } else {
      const uint64_t whole = whole_blocks(piece.bytes);
      if (bytes_to_other_nodes_ != 0 && bytes_to_other_nodes_ + whole > kMostToOtherNodes) break;
      bytes_to_other_nodes_ += whole;
      ++sending.unread;
      const auto memory = std::make_shared<LastingMemory>(whole);
      read(piece, memory->data(), [this, &sending, owner, memory, to = symmetric + piece.place, bytes = piece.bytes] {
        pgas_putmem(to, memory->data(), bytes, owner);
        bytes_to_other_nodes_ -= memory->bytes();
        --sending.unread;
      });
    }
  }
  return has_moved;
}

void Finishing::read(const BucketStore::Piece& piece, char* to, AsyncIo::Done done) {
  io_.read(store_->file(), to, whole_blocks(piece.bytes), piece.bytes, piece.file_offset,
           [this, piece, to, done = std::move(done)] {
             store_->check(piece, to);
             done();
           });
}

void Finishing::end_sending(int owner) {
  Sending& sending = sendings_[static_cast<size_t>(owner)];
  pgas_quiet();
  pgas_uint64_atomic_inc(words_ + first_buffer() + sending.round % buffers_, owner);
  pgas_uint64_atomic_inc(words_, owner);
  sending.is_open = false;
  ++sending.round;
}

// The bucket that is next here is sorted when all have put their part of it there, and written when its place is known.
bool Finishing::advance_own() {
  const int own = pgas_my_pe();
  if (!table_.has_bucket(round_, own)) return false;
  if (!is_sorted_) return sort_next();
  if (!find_offset(table_.bucket(round_, own))) return false;
  write_sorted();
  let_go();
  return true;
}

bool Finishing::sort_next() {
  const uint64_t buffer = round_ % buffers_;
  const uint64_t put = pgas_signal_fetch(words_ + first_buffer() + buffer);
  if (put < static_cast<uint64_t>(table_.processes()) * (round_ / buffers_ + 1)) return false;
  const uint64_t number = table_.bucket(round_, pgas_my_pe());
  std::vector<BucketSorter::Piece> pieces;
  const char* from = memory_ + buffer * buffer_bytes_;
  for (int holder = 0; holder < table_.processes(); ++holder) {
    pieces.push_back({from, table_.bytes(round_, holder)});
    from += whole_blocks(pieces.back().bytes);
  }
  const uint64_t begin = base::now_ns();
  std::optional<BucketSorter::Repeated> repeated;
  if (!repeats_.empty() && repeats_[number] != 0)
    repeated = {splitters_.first_key(static_cast<uint32_t>(number)), repeats_[number]};
  sorter_.sort(pieces, table_.records(number), repeated);
  sorted_bytes_ = layout_.is_unique() ? sorter_.written_bytes() : table_.output_bytes(number);
  figures_.sorted_ns += base::now_ns() - begin;
  figures_.records += sorter_.records();
  is_sorted_ = true;
  if (!layout_.is_unique() || has_parts_) return true;
  for (int process = 0; process < table_.processes(); ++process) {
    pgas_uint64_atomic_set(words_ + first_size() + number, sorted_bytes_ + 1, process);
    pgas_uint64_atomic_inc(words_, process);
  }
  return true;
}

// Whether it is known where the bucket begins: offset_ says so then.
bool Finishing::find_offset(uint64_t bucket) {
  if (!layout_.is_unique()) {
    offset_ = table_.output_offset(bucket);
  } else if (has_parts_) {
    offset_ = figures_.bytes;
  } else {
    for (; bucket_at_offset_ != bucket; ++bucket_at_offset_) {
      const uint64_t size = pgas_signal_fetch(words_ + first_size() + bucket_at_offset_);
      if (size == 0) return false;
      offset_ += size - 1;
    }
  }
  return true;
}

void Finishing::write_sorted() {
  figures_.bytes += sorted_bytes_;
  output_.begin(offset_, sorted_bytes_);
  uint64_t most = 0;
  while (char* to = output_.next_memory(most)) {
    const uint64_t begin = base::now_ns();
    const uint64_t copied = sorter_.copy_next(to, most);
    figures_.moved_ns += base::now_ns() - begin;
    output_.put(copied);
    let_others_in();
  }
}

// To this process's memory, which those on other nodes reach only while it calls MPI.
void Finishing::let_others_in() {
  if (!is_all_direct_) pgas_uint64_test(words_, PGAS_CMP_EQ, UINT64_MAX);
}

// Of the bucket's memory: who has a part of the one that comes there next may put it.
void Finishing::let_go() {
  is_sorted_ = false;
  ++round_;
  for (int holder = 0; holder < table_.processes(); ++holder) {
    pgas_uint64_atomic_inc(words_ + 1 + pgas_my_pe(), holder);
    pgas_uint64_atomic_inc(words_, holder);
  }
}

void Finishing::idle(uint64_t rings) {
  if (io_.pending() != 0) {
    let_others_in();
    io_.wait(kShortWaitNs);
  } else {
    pgas_uint64_wait_until(words_, PGAS_CMP_NE, rings);
  }
}

}  // namespace spillway::sort
