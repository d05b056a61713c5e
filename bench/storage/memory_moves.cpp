// Memory of the arena beside ordinary memory, without MPI: what it costs while it is resident, how long it takes to
// storage and back, and what the first pass over it costs then.
//
//   memory-moves DIRECTORY MIB ROUNDS checksums|no-checksums
//
// Prints `name seconds` for each step of each round, and `left BYTES` for what is resident right after an unload. Each
// round rewrites all, so that from the third on memory is loaded at once. In the end come rounds that only read, and
// then one that writes what was expected to be read.
#include <sys/mman.h>

#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/spill_directories.h"
#include "memory/arena.h"

namespace {

using spillway::memory::Arena;
using spillway::memory::Expected;
using spillway::memory::PageMap;

constexpr uint64_t kRoundsToLearn = 2;

class Block {
 public:
  Block(void* memory, size_t bytes) : words_(static_cast<uint64_t*>(memory)), count_(bytes / sizeof(uint64_t)) {}

  void write(uint64_t seed) {
    for (size_t i = 0; i < count_; ++i) words_[i] = i ^ seed;
    seed_ = seed;
  }

  // False when it is not what was written.
  bool read() const {
    uint64_t differences = 0;
    for (size_t i = 0; i < count_; ++i) differences |= words_[i] ^ i ^ seed_;
    return differences == 0;
  }

  uint64_t resident_bytes() const {
    const uint64_t bytes = count_ * sizeof(uint64_t);
    return bytes - PageMap::absent_bytes(reinterpret_cast<uint64_t>(words_), bytes);
  }

 private:
  uint64_t* words_;
  size_t count_;
  uint64_t seed_ = 0;
};

[[noreturn]] void fail(const char* why) {
  std::fprintf(stderr, "memory-moves: %s\n", why);
  std::exit(1);
}

template <typename Step>
void timed(bool is_shown, const char* name, Step step) {
  const auto begin = std::chrono::steady_clock::now();
  step();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  if (is_shown) std::printf("%s %.6f\n", name, taken.count());
}

void check(bool is_right) {
  if (!is_right) fail("memory does not hold what was written to it");
}

void move_out(Arena& arena, const Block& block, bool is_shown) {
  timed(is_shown, "unload", [&] { arena.unload(~uint64_t{0}); });
  if (is_shown) std::printf("left %" PRIu64 "\n", block.resident_bytes());
  arena.mark_all_charged();
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t bytes = argc == 5 ? std::strtoull(argv[2], nullptr, 10) << 20 : 0;
  const uint64_t rounds = argc == 5 ? std::strtoull(argv[3], nullptr, 10) : 0;
  const std::string checksums = argc == 5 ? argv[4] : "";
  if (bytes == 0 || rounds == 0 || (checksums != "checksums" && checksums != "no-checksums")) {
    std::fprintf(stderr, "usage: memory-moves DIRECTORY MIB ROUNDS checksums|no-checksums\n");
    return 2;
  }
  static Arena arena;
  if (checksums == "checksums") arena.keep_checksums();
  arena.attach({}, spillway::base::SpillDirectories(argv[1]));
  void* ordinary = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void* managed = arena.allocate(bytes, 1);
  if (ordinary == MAP_FAILED || managed == nullptr) fail("there is not so much memory");
  madvise(ordinary, bytes, MADV_HUGEPAGE);
  Block untracked(ordinary, bytes), block(managed, bytes);
  untracked.write(0);
  block.write(0);

  for (uint64_t round = 0; round < kRoundsToLearn + rounds; ++round) {
    const bool is_shown = round >= kRoundsToLearn;
    move_out(arena, block, is_shown);
    timed(is_shown, "load", [&] { arena.load_expected(Expected::used); });
    if (is_shown && block.resident_bytes() != bytes)
      fail("what was expected to be rewritten has not been loaded whole");
    check(block.read());
    timed(is_shown, "untracked_write", [&] { untracked.write(round); });
    timed(is_shown, "first_write", [&] { block.write(round + 1); });
    // Twice in turns: whoever comes first has caches and clocks of its own.
    for (const bool is_first : {true, false}) {
      Block& one = is_first ? untracked : block;
      Block& other = is_first ? block : untracked;
      timed(is_shown, is_first ? "untracked_write" : "resident_write", [&] { one.write(round + 2); });
      timed(is_shown, is_first ? "resident_write" : "untracked_write", [&] { other.write(round + 2); });
      timed(is_shown, is_first ? "untracked_read" : "resident_read", [&] { check(one.read()); });
      timed(is_shown, is_first ? "resident_read" : "untracked_read", [&] { check(other.read()); });
    }
  }

  for (uint64_t round = 0; round < kRoundsToLearn; ++round) {
    move_out(arena, block, false);
    arena.load_expected(Expected::rewritten);
    check(block.read());
  }
  move_out(arena, block, false);
  arena.load_expected(Expected::rewritten);
  timed(true, "lazy_read", [&] { check(block.read()); });
  timed(true, "unexpected_write", [&] { block.write(rounds); });
  check(block.read());
  return 0;
}
