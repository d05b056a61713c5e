// large BYTES...: the first PE puts so many bytes to the last one with a signal, which gets them again, one number of
// bytes after the other. All are multiples of 8.
#include <spillway/pgas.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "checked_program.h"

namespace {

constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;

void fill(uint64_t* words, size_t count, uint64_t tag) {
  for (size_t i = 0; i < count; ++i) words[i] = (i ^ tag) * kOdd;
}

bool is_filled(const uint64_t* words, size_t count, uint64_t tag) {
  for (size_t i = 0; i < count; ++i)
    if (words[i] != (i ^ tag) * kOdd) return false;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  pgas_init();
  std::vector<size_t> counts;
  for (int i = 1; i < argc; ++i) counts.push_back(std::strtoull(argv[i], nullptr, 10) / sizeof(uint64_t));
  const size_t most = *std::max_element(counts.begin(), counts.end());
  const int target = program.size() - 1;
  // A word behind them, which stays.
  uint64_t* const words = static_cast<uint64_t*>(pgas_malloc((most + 1) * sizeof(uint64_t)));
  uint64_t* const signal = static_cast<uint64_t*>(pgas_calloc(1, sizeof(uint64_t)));
  uint64_t tag = 0;
  for (const size_t count : counts) {
    const size_t bytes = count * sizeof(uint64_t);
    ++tag;
    if (program.rank() == 0) {
      fill(words, count, tag);
      pgas_putmem_signal_nbi(words, words, bytes, signal, tag, PGAS_SIGNAL_SET, target);
      pgas_quiet();
    }
    if (program.rank() == target) {
      words[count] = tag;
      pgas_signal_wait_until(signal, PGAS_CMP_EQ, tag);
      program.holds(is_filled(words, count, tag));
      program.equal(words[count], tag);
      std::fill(words, words + count, 0);
      pgas_getmem(words, words, bytes, 0);
      program.holds(is_filled(words, count, tag));
      program.equal(words[count], tag);
    }
    pgas_barrier_all();
  }
  pgas_finalize();
  return program.finish();
}
