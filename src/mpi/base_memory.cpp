#include "mpi/base_memory.h"

#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"

namespace spillway::mpi {
namespace {

constexpr uint64_t kGlanceIntervalNs = 10000000;
constexpr uint64_t kLookIntervalNs = 1000000000;
constexpr uint64_t kHeapChange = 256 << 10;
constexpr uint64_t kUnusedHeap = 1 << 20;  // worth giving back
constexpr uint64_t kMostCost = 100;        // a look takes at most this part of the time

uint64_t heap_bytes() {
  const auto info = mallinfo2();
  return info.arena + info.hblkhd;
}

bool is_segment(const char* mapping) { return strstr(mapping, "/memfd:spillway-node") != nullptr; }

}  // namespace

uint64_t BaseMemory::bytes() {
  const uint64_t now = base::now_ns();
  if (now < next_glance_ns_) return bytes_;
  next_glance_ns_ = now + kGlanceIntervalNs;
  const uint64_t heap = heap_bytes();
  const uint64_t change = heap > heap_bytes_ ? heap - heap_bytes_ : heap_bytes_ - heap;
  if (change < kHeapChange && now < next_look_ns_) return bytes_;
  if (mallinfo2().fordblks > kUnusedHeap) malloc_trim(0);
  heap_bytes_ = heap_bytes();
  look();
  const uint64_t cost = base::now_ns() - now;
  next_glance_ns_ = std::max(next_glance_ns_, now + kMostCost * cost);
  next_look_ns_ = std::max(now + kLookIntervalNs, next_glance_ns_);
  return bytes_;
}

// The node's segment is not the rank's: the ledger counts what is used of it.
void BaseMemory::look() {
  FILE* file = fopen("/proc/self/smaps", "re");
  if (file == nullptr) return;
  char line[512];
  unsigned long long kibibytes = 0, sum = 0;
  uint64_t begin = 0, end = 0;
  bool is_counted = false;
  while (fgets(line, sizeof line, file) != nullptr) {
    char* after = nullptr;
    const uint64_t number = strtoull(line, &after, 16);
    if (*after == '-') {  // the first line of a mapping: its addresses and what is mapped
      begin = number;
      end = strtoull(after + 1, nullptr, 16);
      is_counted = !arena_.contains(reinterpret_cast<void*>(begin)) && !is_segment(line);
    } else if (is_counted && sscanf(line, "Pss: %llu kB", &kibibytes) == 1) {
      const uint64_t of_arena = arena_.resident_static_bytes(begin, end) >> 10;
      sum += kibibytes - std::min<uint64_t>(kibibytes, of_arena);
    }
  }
  fclose(file);
  bytes_ = sum << 10;
}

}  // namespace spillway::mpi
