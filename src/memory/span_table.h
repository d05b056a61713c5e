// The pages of all chunks: which spans of them are free, by their length. The shortest that is long enough is taken,
// and what is left of it stays free; neighbours that are free are one span.
//
// Allocates nothing; not thread-safe.
#pragma once

#include <cstdint>

#include "memory/chunk.h"

namespace spillway::memory {

class SpanTable {
 public:
  static constexpr uint32_t kMostPages = 64;  // that can be asked for

  // All of its pages are free and hold nothing.
  void add(Chunk& chunk);
  // REQUIRES: all of its pages are free.
  void remove(Chunk& chunk);

  // The first of `count` pages, or nullptr when no free span is as long. The caller says what use they have.
  PageRecord* take(uint32_t count);
  void give_back(PageRecord& first);

  uint64_t page_count() const { return page_count_; }

  // visit(chunk), which may remove it, for chunks of which all is free.
  template <typename Visit>
  void for_each_unused_chunk(Visit visit) {
    for (LinkedList<PageRecord>& list : free_)
      for (PageRecord *span = list.first(), *next = nullptr; span != nullptr; span = next) {
        next = span->next;
        if (span->count == span->chunk->page_count) visit(*span->chunk);
      }
  }

  // visit(span) for free spans of `least_pages` or more that may hold something; true when they hold nothing then.
  template <typename Visit>
  void clean_free_spans(uint32_t least_pages, Visit visit) {
    for (uint32_t list = least_pages; list <= kMostPages; ++list)
      for (PageRecord* span = free_[list].first(); span != nullptr; span = span->next) {
        if (span->is_dirty && visit(*span)) span->is_dirty = false;
      }
  }

 private:
  LinkedList<PageRecord>& list_of(uint32_t count) { return free_[count < kMostPages ? count : kMostPages]; }
  void make_free(Chunk& chunk, uint32_t first, uint32_t count, bool is_dirty);

  LinkedList<PageRecord> free_[kMostPages + 1];  // by pages; the last has all that are longer, too
  uint64_t page_count_ = 0;
};

}  // namespace spillway::memory
