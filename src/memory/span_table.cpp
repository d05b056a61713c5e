#include "memory/span_table.h"

namespace spillway::memory {

void SpanTable::make_free(Chunk& chunk, uint32_t first, uint32_t count, bool is_dirty) {
  PageRecord& span = chunk.pages()[first];
  PageRecord& last = chunk.pages()[first + count - 1];
  last.use = span.use = PageUse::free;
  last.first = span.first = static_cast<uint16_t>(first);
  span.count = static_cast<uint16_t>(count);
  span.is_dirty = is_dirty;
  list_of(count).insert(span);
}

void SpanTable::add(Chunk& chunk) {
  for (uint32_t i = 0; i < chunk.page_count; ++i) chunk.pages()[i].chunk = &chunk;
  make_free(chunk, 0, chunk.page_count, false);
  page_count_ += chunk.page_count;
}

void SpanTable::remove(Chunk& chunk) {
  list_of(chunk.page_count).remove(chunk.pages()[0]);
  page_count_ -= chunk.page_count;
}

PageRecord* SpanTable::take(uint32_t count) {
  uint32_t length = count;
  while (length < kMostPages && free_[length].first() == nullptr) ++length;
  PageRecord* span = free_[length].first();
  if (span == nullptr) return nullptr;
  Chunk& chunk = *span->chunk;
  list_of(span->count).remove(*span);
  if (span->count > count) make_free(chunk, span->first + count, span->count - count, span->is_dirty);
  span->count = static_cast<uint16_t>(count);
  for (uint32_t i = 0; i < count; ++i) {
    span[i].use = PageUse::inside;
    span[i].first = span->first;
  }
  chunk.used_pages += count;
  return span;
}

void SpanTable::give_back(PageRecord& first) {
  Chunk& chunk = *first.chunk;
  uint32_t begin = first.first, end = begin + first.count;
  chunk.used_pages -= first.count;
  for (uint32_t i = begin; i < end; ++i) chunk.pages()[i].use = PageUse::inside;
  if (begin > 0 && chunk.pages()[begin - 1].use == PageUse::free) {
    PageRecord& before = chunk.pages()[chunk.pages()[begin - 1].first];
    list_of(before.count).remove(before);
    chunk.pages()[begin - 1].use = PageUse::inside;
    begin = before.first;
  }
  if (end < chunk.page_count && chunk.pages()[end].use == PageUse::free) {
    PageRecord& after = chunk.pages()[end];
    list_of(after.count).remove(after);
    end += after.count;
    after.use = PageUse::inside;
  }
  make_free(chunk, begin, end - begin, true);
}

}  // namespace spillway::memory
