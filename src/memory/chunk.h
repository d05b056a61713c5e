// A chunk of the arena that small allocations are made in, and what is known of its pages. That lies beside the chunk,
// never in it: whoever frees or looks for room must not bring back pages that have been unloaded.
#pragma once

#include <cstdint>

#include "memory/pages.h"

namespace spillway::memory {

struct Chunk;

// `whole`: one allocation has the span; `slab`: several of one size share it. `inside`: not the first page of a span.
enum class PageUse : uint8_t { inside, free, whole, slab };

// A page; with the first page of a span, what is known of the span: pages that follow on each other and have one use.
struct PageRecord {
  Chunk* chunk;
  PageRecord* next;  // in a list of free spans, or of slabs that have free pieces
  PageRecord* previous;
  uint16_t first;  // number of the span's first page in the chunk; of a free span, with its first and last page only
  uint16_t count;  // pages of the span
  uint16_t free_count;  // pieces of a slab that nobody has
  PageUse use : 4;
  bool is_dirty : 1;  // of a free span: its pages may hold what somebody wrote
  uint8_t size_class;
  uint64_t free_pieces[4];  // a bit each
};
static_assert(sizeof(PageRecord) == 64, "a cache line");

// Followed by the records of its pages.
struct Chunk {
  static constexpr uint64_t kMostBytes = 16 << 20;

  uint64_t begin;
  Chunk* next;  // of those to be released
  uint32_t page_count;
  uint32_t used_pages;  // in spans that are not free

  PageRecord* pages() { return reinterpret_cast<PageRecord*>(reinterpret_cast<char*>(this) + kHeaderBytes); }
  PageRecord& page_at(uint64_t address) { return pages()[(address - begin) / kPageBytes]; }
  uint64_t bytes() const { return page_count * kPageBytes; }
  uint32_t number_of(const PageRecord& page) { return static_cast<uint32_t>(&page - pages()); }
  uint64_t address_of(const PageRecord& page) { return begin + number_of(page) * kPageBytes; }

  static constexpr uint64_t kHeaderBytes = sizeof(PageRecord);
  static constexpr uint64_t record_bytes(uint64_t chunk_bytes) {
    return kHeaderBytes + chunk_bytes / kPageBytes * sizeof(PageRecord);
  }
};
static_assert(sizeof(Chunk) <= Chunk::kHeaderBytes);

// Linked in both directions; last in, first out.
template <typename Item>
class LinkedList {
 public:
  Item* first() const { return first_; }

  void insert(Item& item) {
    item.previous = nullptr;
    item.next = first_;
    if (first_ != nullptr) first_->previous = &item;
    first_ = &item;
  }

  void remove(Item& item) {
    (item.previous != nullptr ? item.previous->next : first_) = item.next;
    if (item.next != nullptr) item.next->previous = item.previous;
  }

 private:
  Item* first_ = nullptr;
};

}  // namespace spillway::memory
