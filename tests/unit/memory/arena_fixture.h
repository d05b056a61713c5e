// An arena with an account and a spill file of its own, and a node that does what it is asked.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "memory/arena.h"
#include "memory/page_map.h"
#include "storage/scratch_directory.h"

namespace spillway::memory {

inline constexpr uint64_t kKiB = 1 << 10;
inline constexpr uint64_t kMiB = 1 << 20;
inline constexpr uint64_t kAddressBytes =
    64ull << 30;  // arenas keep their addresses for good, and there is one for each test
inline constexpr uint64_t kEverything = ~uint64_t{0};

// What a ledger would have charged the arena for. Hooks have no argument, hence one for the process.
struct Account {
  static inline uint64_t managed = 0;
  static inline uint64_t resident = 0;

  static MemoryAccount hooks() {
    managed = resident = 0;
    return MemoryAccount{[](uint64_t bytes) {
                           managed += bytes;
                           resident += bytes;
                         },
                         [](uint64_t resident_bytes, uint64_t managed_bytes) {
                           managed -= managed_bytes;
                           resident -= resident_bytes;
                         }};
  }
};

class ArenaTest : public testing::Test {
 protected:
  explicit ArenaTest(const std::filesystem::path& spill_parent = std::filesystem::temp_directory_path())
      : directory_(spill_parent) {}

  void SetUp() override {
    arena_.keep_checksums();
    arena_.attach(Account::hooks(), base::SpillDirectories(directory_.path()));
  }

  unsigned char* allocate(uint64_t bytes, uint64_t alignment = 1) {
    return static_cast<unsigned char*>(arena_.allocate(bytes, alignment));
  }

  // As the rank does in its sleep.
  UnloadResult unload(uint64_t wanted = kEverything) {
    const UnloadResult result = arena_.unload(wanted);
    Account::resident -= result.released_bytes;
    return result;
  }

  // As the ledger does before the rank runs.
  void charge_all() {
    arena_.mark_all_charged();
    Account::resident = Account::managed;
  }

  UnloadResult unload_and_charge_again() {
    const UnloadResult result = unload();
    charge_all();
    return result;
  }

  storage::ScratchDirectory directory_;
  Arena arena_{kAddressBytes};
};

// Bytes that depend on their place and on `seed`, never zero.
inline void fill(unsigned char* memory, uint64_t bytes, uint64_t seed) {
  for (uint64_t i = 0; i < bytes; ++i)
    memory[i] = static_cast<unsigned char>(1 + (seed * 31 + i + i / 4096 * 17) % 255);
}

inline testing::AssertionResult is_filled(const unsigned char* memory, uint64_t bytes, uint64_t seed) {
  std::vector<unsigned char> expected(bytes);
  fill(expected.data(), bytes, seed);
  if (memcmp(memory, expected.data(), bytes) == 0) return testing::AssertionSuccess();
  uint64_t at = 0;
  while (memory[at] == expected[at]) ++at;
  return testing::AssertionFailure() << "byte " << at << " is " << int{memory[at]} << " instead of "
                                     << int{expected[at]};
}

inline bool is_zero(const unsigned char* memory, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes; ++i)
    if (memory[i] != 0) return false;
  return true;
}

inline uint64_t bytes_in_state(const void* memory, uint64_t bytes, PageState state) {
  uint64_t sum = 0;
  PageMap pages(reinterpret_cast<uint64_t>(memory), bytes);
  for (PageRun run; pages.next(run);)
    if (run.state == state) sum += run.bytes;
  return sum;
}

}  // namespace spillway::memory
