#include "memory/small_heap.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/error.h"
#include "base/system_calls.h"
#include "memory/mutex_holder.h"

namespace spillway::memory {
namespace {

namespace kernel = base::kernel;

constexpr uint64_t kChunkUnit = 64 << 10, kMostOfAll = 8;  // a chunk is this part of all of them
constexpr uint32_t kLeastPieces = 8, kMostWaste = 8;       // of a slab; at its end, this part of it
constexpr uint32_t kLeastPagesToGiveUp = 4;                // fewer are written sooner than given up

struct SlabShape {
  uint16_t pages;
  uint16_t pieces;
};

constexpr SlabShape shape_of_class(uint32_t size_class) {
  const uint32_t bytes = bytes_of_class(size_class);
  uint32_t pages = 1;
  const auto is_good = [&] {
    const auto span = static_cast<uint32_t>(pages * kPageBytes);
    return span / bytes >= kLeastPieces && span % bytes <= span / kMostWaste;
  };
  while (!is_good()) pages *= 2;
  return SlabShape{static_cast<uint16_t>(pages), static_cast<uint16_t>(pages * kPageBytes / bytes)};
}

constexpr SlabShape largest_slab() {
  SlabShape largest{0, 0};
  for (uint32_t c = 0; c < kSizeClasses; ++c) {
    largest.pages = std::max(largest.pages, shape_of_class(c).pages);
    largest.pieces = std::max(largest.pieces, shape_of_class(c).pieces);
  }
  return largest;
}
static_assert(largest_slab().pages * kPageBytes <= kChunkUnit && largest_slab().pieces <= 256);

struct Shapes {
  constexpr Shapes() {
    for (uint32_t c = 0; c < kSizeClasses; ++c) of_class[c] = shape_of_class(c);
  }
  SlabShape of_class[kSizeClasses];
};
constexpr Shapes kShapes;

constexpr uint32_t pages_for(size_t bytes) { return static_cast<uint32_t>((bytes + kPageBytes - 1) / kPageBytes); }

[[noreturn]] void refuse(const void* address) {
  base::fatal("the program freed or resized the address %p, which is not the beginning of an allocation", address);
}

// Of the piece that begins at the address.
uint32_t index_of_piece(PageRecord& slab, const void* address) {
  const uint64_t distance = reinterpret_cast<uint64_t>(address) - slab.chunk->address_of(slab);
  const uint32_t index = number_of_piece(distance, slab.size_class);
  const bool is_beginning = uint64_t{index} * bytes_of_class(slab.size_class) == distance;
  if (!is_beginning || index >= kShapes.of_class[slab.size_class].pieces) refuse(address);
  return index;
}

bool is_free(const PageRecord& slab, uint32_t index) { return slab.free_pieces[index / 64] >> (index % 64) & 1; }

uint32_t take_free_piece(PageRecord& slab) {
  uint32_t word = 0;
  while (slab.free_pieces[word] == 0) ++word;
  const auto bit = static_cast<uint32_t>(std::countr_zero(slab.free_pieces[word]));
  slab.free_pieces[word] &= slab.free_pieces[word] - 1;
  --slab.free_count;
  return 64 * word + bit;
}

void make_slab(PageRecord& span, uint32_t size_class) {
  const uint32_t pieces = kShapes.of_class[size_class].pieces;
  span.use = PageUse::slab;
  span.size_class = static_cast<uint8_t>(size_class);
  span.free_count = static_cast<uint16_t>(pieces);
  for (uint32_t word = 0; word < 4; ++word) {
    const uint32_t rest = pieces > 64 * word ? pieces - 64 * word : 0;
    span.free_pieces[word] = rest >= 64 ? ~uint64_t{0} : (uint64_t{1} << rest) - 1;
  }
}

}  // namespace

// The span that has an allocation's first byte.
PageRecord& SmallHeap::span_of(const void* address) const {
  Chunk& chunk = *arena_.chunk_around(address);
  PageRecord& page = chunk.page_at(reinterpret_cast<uint64_t>(address));
  PageRecord& span = page.use == PageUse::inside ? chunk.pages()[page.first] : page;
  const bool is_first = reinterpret_cast<uint64_t>(address) == chunk.address_of(span);
  if (span.use != PageUse::slab && (span.use != PageUse::whole || !is_first)) refuse(address);
  return span;
}

// Another thread may take what this one has made room for, so the caller tries until it has what it wants.
bool SmallHeap::grow(uint32_t pages) {
  uint64_t bytes = 0;
  {
    MutexHolder hold(mutex_);
    bytes = spans_.page_count() * kPageBytes / kMostOfAll;
  }
  bytes = std::clamp<uint64_t>(bytes, pages * kPageBytes, Chunk::kMostBytes);
  bytes = (bytes + kChunkUnit - 1) / kChunkUnit * kChunkUnit;
  void* records =
      kernel::map(nullptr, Chunk::record_bytes(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (records == MAP_FAILED) return false;
  auto* chunk = static_cast<Chunk*>(records);
  void* memory = arena_.allocate(bytes, 1, Contents::any, chunk);  // may sleep
  if (memory == nullptr) {
    kernel::unmap(records, Chunk::record_bytes(bytes));
    return false;
  }
  chunk->begin = reinterpret_cast<uint64_t>(memory);
  chunk->page_count = static_cast<uint32_t>(bytes / kPageBytes);
  MutexHolder hold(mutex_);
  spans_.add(*chunk);
  return true;
}

// Without the mutex: the arena calls back.
void SmallHeap::release(Chunk* chunks) {
  while (chunks != nullptr) {
    Chunk* chunk = std::exchange(chunks, chunks->next);
    arena_.free(reinterpret_cast<void*>(chunk->begin));
    kernel::unmap(chunk, Chunk::record_bytes(chunk->bytes()));
  }
}

// A span of nobody's any more. A chunk that is free with it joins those to release, unless it is the only one.
void SmallHeap::give_back(PageRecord& span, Chunk*& to_release) {
  Chunk& chunk = *span.chunk;
  spans_.give_back(span);
  if (chunk.used_pages != 0 || unused_ == nullptr) {
    if (chunk.used_pages == 0) unused_ = &chunk;
    return;
  }
  if (!arena_.must_chunks_stay()) withdraw(chunk, to_release);
}

void SmallHeap::withdraw(Chunk& chunk, Chunk*& to_release) {
  spans_.remove(chunk);
  chunk.next = to_release;
  to_release = &chunk;
}

PageRecord* SmallHeap::take_span(uint32_t pages) {
  PageRecord* span = spans_.take(pages);
  if (span != nullptr && span->chunk == unused_) unused_ = nullptr;
  return span;
}

void* SmallHeap::take_whole(uint32_t pages) {
  MutexHolder hold(mutex_);
  PageRecord* span = take_span(pages);
  if (span == nullptr) return nullptr;
  span->use = PageUse::whole;
  return reinterpret_cast<void*>(span->chunk->address_of(*span));
}

// As many as one slab has, up to `wanted`.
uint32_t SmallHeap::take_pieces(uint32_t size_class, void** pieces, uint32_t wanted) {
  MutexHolder hold(mutex_);
  PageRecord* slab = slabs_[size_class].first();
  if (slab == nullptr) {
    slab = take_span(kShapes.of_class[size_class].pages);
    if (slab == nullptr) return 0;
    make_slab(*slab, size_class);
    slabs_[size_class].insert(*slab);
  }
  const uint64_t begin = slab->chunk->address_of(*slab);
  uint32_t count = 0;
  while (count < wanted && slab->free_count > 0)
    pieces[count++] = reinterpret_cast<void*>(begin + uint64_t{take_free_piece(*slab)} * bytes_of_class(size_class));
  if (slab->free_count == 0) slabs_[size_class].remove(*slab);
  return count;
}

void SmallHeap::put_piece(const void* address, Chunk*& to_release) {
  PageRecord& slab = span_of(address);
  const uint32_t index = index_of_piece(slab, address);
  if (is_free(slab, index)) refuse(address);
  LinkedList<PageRecord>& list = slabs_[slab.size_class];
  slab.free_pieces[index / 64] |= uint64_t{1} << (index % 64);
  if (slab.free_count++ == 0) list.insert(slab);
  if (slab.free_count != kShapes.of_class[slab.size_class].pieces) return;
  list.remove(slab);
  give_back(slab, to_release);
}

void SmallHeap::return_pieces(void* const* pieces, uint32_t count) {
  if (count == 0) return;
  Chunk* to_release = nullptr;
  {
    MutexHolder hold(mutex_);
    for (uint32_t i = 0; i < count; ++i) put_piece(pieces[i], to_release);
  }
  release(to_release);
}

void* SmallHeap::allocate(size_t bytes, size_t alignment, ThreadCache& cache) {
  if (void* kept = take_kept(bytes, alignment, cache); kept != nullptr) return kept;
  const size_t padded = padded_bytes(bytes, alignment);
  if (padded > kLargestPiece) {
    for (;;) {
      if (void* memory = take_whole(pages_for(padded)); memory != nullptr) return memory;
      if (!grow(pages_for(padded))) return nullptr;
    }
  }
  const uint32_t size_class = class_for(padded, alignment);
  const bool is_cached = size_class < ThreadCache::kClasses && !cache.is_closed_;
  for (;;) {
    void* pieces[ThreadCache::kMostPieces / 2];
    const uint32_t count = take_pieces(size_class, pieces, is_cached ? ThreadCache::kMostPieces / 2 : 1);
    if (count > 0) {
      if (is_cached) {
        std::copy(pieces + 1, pieces + count, cache.pieces_[size_class]);
        cache.counts_[size_class] = static_cast<uint8_t>(count - 1);
      }
      return pieces[0];
    }
    if (!grow(kShapes.of_class[size_class].pages)) return nullptr;
  }
}

bool SmallHeap::keep(void* address, ThreadCache& cache) {
  PageRecord& span = span_of(address);
  if (span.use != PageUse::slab || span.size_class >= ThreadCache::kClasses) return false;
  uint8_t& count = cache.counts_[span.size_class];
  if (count == ThreadCache::kMostPieces || cache.is_closed_) return false;
  index_of_piece(span, address);  // is one
  cache.pieces_[span.size_class][count++] = address;
  return true;
}

void SmallHeap::free(void* address, ThreadCache& cache) {
  if (keep(address, cache)) return;
  PageRecord& span = span_of(address);
  if (span.use == PageUse::slab) {
    const uint32_t size_class = span.size_class;
    if (size_class >= ThreadCache::kClasses || cache.is_closed_) return return_pieces(&address, 1);
    constexpr uint32_t kHalf = ThreadCache::kMostPieces / 2;  // the older one goes
    void** pieces = cache.pieces_[size_class];
    return_pieces(pieces, kHalf);
    std::copy(pieces + kHalf, pieces + ThreadCache::kMostPieces, pieces);
    cache.counts_[size_class] = ThreadCache::kMostPieces - kHalf;
    keep(address, cache);
    return;
  }
  Chunk* to_release = nullptr;
  {
    MutexHolder hold(mutex_);
    give_back(span, to_release);
  }
  release(to_release);
}

size_t SmallHeap::usable_bytes(const void* address) {
  PageRecord& span = span_of(address);
  if (span.use == PageUse::whole) return span.count * kPageBytes;
  index_of_piece(span, address);  // is one
  return bytes_of_class(span.size_class);
}

bool SmallHeap::resize_in_place(const void* address, size_t bytes) {
  const size_t usable = usable_bytes(address);
  return bytes <= usable && (bytes > usable / 2 || usable == bytes_of_class(0));
}

void SmallHeap::flush(ThreadCache& cache) {
  for (uint32_t size_class = 0; size_class < ThreadCache::kClasses; ++size_class) {
    return_pieces(cache.pieces_[size_class], cache.counts_[size_class]);
    cache.counts_[size_class] = 0;
  }
}

void SmallHeap::tidy() {
  Chunk* to_release = nullptr;
  {
    MutexHolder hold(mutex_);
    if (arena_.must_chunks_stay()) return;
    unused_ = nullptr;
    spans_.for_each_unused_chunk([&](Chunk& chunk) { withdraw(chunk, to_release); });
    spans_.clean_free_spans(kLeastPagesToGiveUp, [this](PageRecord& span) {
      return arena_.discard_of_chunk(Pages{span.chunk->address_of(span), span.count * kPageBytes});
    });
  }
  release(to_release);
}

}  // namespace spillway::memory
