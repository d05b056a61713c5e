// nonblocking FILE: PE 0 puts data with a signal to the last PE, which meanwhile makes no call of MPI or of this
// library until PE 0, back from its call, has made FILE. So who waits in the call for the other side waits too long.
// Then, that signals are given without a call of pgas_quiet(): at once where memory is direct, else in calls that bring
// data, too.
#include <spillway/pgas.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <vector>

#include "checked_program.h"

namespace {

constexpr size_t kCount = size_t{2} << 20;
constexpr int kPuts = 3;
constexpr std::chrono::seconds kPatience{20};

// Only system calls. False where it took too long.
bool waits_for(const char* file) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (access(file, F_OK) != 0) {
    if (std::chrono::steady_clock::now() > end) return false;
    usleep(1000);
  }
  return true;
}

bool is_patterned(const int* data, int tag) {
  for (size_t i = 0; i < kCount; ++i)
    if (data[i] != pattern(0, tag, i)) return false;
  return true;
}

// A loop of gets is all that PE 0 does until the answer is there.
void get_until_answered(CheckedProgram& program, uint64_t* words) {
  uint64_t* const signal = words;
  uint64_t* const answer = words + 1;
  const int target = program.size() - 1;
  if (program.rank() == 0 && target != 0) {
    const int value = 7;
    int* const place = reinterpret_cast<int*>(words + 2);
    pgas_int_put_signal_nbi(place, &value, 1, signal, 5, PGAS_SIGNAL_SET, target);
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (pgas_uint64_g(answer, target) != 6 && std::chrono::steady_clock::now() < end) {
    }
    program.equal(pgas_uint64_g(answer, target), 6U);
  }
  if (program.rank() == target && target != 0) {
    program.equal(pgas_signal_wait_until(signal, PGAS_CMP_NE, 0), 5U);
    program.equal(*reinterpret_cast<int*>(words + 2), 7);
    pgas_uint64_atomic_set(answer, 6, target);
  }
  pgas_barrier_all();
}

void signal_at_once_within_a_node(CheckedProgram& program, uint64_t* words) {
  if (program.rank() == 0)
    for (int pe = 0; pe < program.size(); ++pe) {
      const auto* const seen = static_cast<const uint64_t*>(pgas_ptr(words, pe));
      if (seen == nullptr) continue;
      const uint64_t value = 3;
      pgas_uint64_put_signal_nbi(words + 1, &value, 1, words, 4, PGAS_SIGNAL_SET, pe);
      program.equal(__atomic_load_n(seen, __ATOMIC_ACQUIRE), 4U);
      program.equal(seen[1], 3U);
    }
  pgas_barrier_all();
}

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  const char* const file = argv[1];
  pgas_init();
  const int target = program.size() - 1;
  int* const data = static_cast<int*>(pgas_calloc(kPuts * kCount, sizeof(int)));
  uint64_t* const signal = static_cast<uint64_t*>(pgas_calloc(1, sizeof(uint64_t)));
  pgas_barrier_all();
  if (program.rank() == target) {
    program.holds(waits_for(file));
    // Loads of its own memory: where the network needs no help, a signal may be there by now, but then also its data.
    const uint64_t given = __atomic_load_n(signal, __ATOMIC_ACQUIRE);
    for (uint64_t put = 0; put < given; ++put) program.holds(is_patterned(data + put * kCount, static_cast<int>(put)));
    for (int put = 0; put < kPuts; ++put) {
      program.holds(pgas_signal_wait_until(signal, PGAS_CMP_GT, static_cast<uint64_t>(put)) > 0);
      program.holds(is_patterned(data + static_cast<size_t>(put) * kCount, put));
    }
    pgas_uint64_atomic_set(signal, 100, 0);
  }
  if (program.rank() == 0 && target != 0) {
    std::vector<int> own;
    for (int put = 0; put < kPuts; ++put) {
      const std::vector<int> part = patterned(0, put, kCount);
      own.insert(own.end(), part.begin(), part.end());
    }
    uint64_t handles[kPuts] = {};
    for (size_t put = 0; put < kPuts; ++put)
      handles[put] = pgas_putmem_signal_begin(data + put * kCount, own.data() + put * kCount, kCount * sizeof(int),
                                              signal, 1, PGAS_SIGNAL_ADD, target);
    std::FILE* const made = std::fopen(file, "w");
    program.holds(made != nullptr);
    if (made != nullptr) std::fclose(made);
    // No quiet: a call that waits gives the signals, too, or neither PE would go on.
    program.equal(pgas_signal_wait_until(signal, PGAS_CMP_EQ, 100), 100u);
    pgas_quiet();
    for (uint64_t handle : handles) program.equal(pgas_put_is_complete(handle), 1);
  }
  pgas_barrier_all();
  uint64_t* const words = static_cast<uint64_t*>(pgas_calloc(8, sizeof(uint64_t)));
  get_until_answered(program, words);
  signal_at_once_within_a_node(program, words + 4);
  pgas_free(words);
  pgas_free(signal);
  pgas_free(data);
  pgas_finalize();
  return program.finish();
}
