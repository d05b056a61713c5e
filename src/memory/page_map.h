// What the kernel knows of the pages of this process: which are resident, and which of those differ from the spill
// file.
//
// A private mapping of the spill file tells dirty from clean by itself: a page that was only read is a page of the
// file, a page that was written is an anonymous copy. /proc/self/pagemap shows which is which (bit 61), to an ordinary
// user and on every kernel since 3.5, for 0.01 s per GiB. So dirty tracking needs neither signals nor userfaultfd.
//
// Allocates nothing: used below malloc.
#pragma once

#include <cstdint>

namespace spillway::memory {

inline constexpr uint64_t kPageBytes = 4096;

// `absent`: never touched, or not since it was unloaded. `clean`: as in the file. `dirty`: only in memory (or in the
// system's swap).
enum class PageState : uint8_t { absent, clean, dirty };

struct PageRun {
  uint64_t begin;  // address
  uint64_t bytes;
  PageState state;
};

// Reads the runs of equal pages of a range of this process, in order.
class PageMap {
 public:
  PageMap(uint64_t begin, uint64_t bytes) : next_(begin), end_(begin + bytes) {}

  // False where the kernel keeps it from this process: no /proc, or a program that its user may run but not read.
  static bool is_readable();

  // Of the range, what is absent.
  static uint64_t absent_bytes(uint64_t begin, uint64_t bytes);

  // The next run, as long as the window allows (runs may be split at window borders); false at the end.
  bool next(PageRun& run);

 private:
  // Entries read at once, for 2 MiB of memory: malloc may come here, on the small stack of a fiber.
  static constexpr uint64_t kWindow = 512;

  void fill();

  uint64_t next_;
  uint64_t end_;
  uint64_t window_begin_ = 0;
  uint64_t window_pages_ = 0;
  uint64_t entries_[kWindow];
};

}  // namespace spillway::memory
