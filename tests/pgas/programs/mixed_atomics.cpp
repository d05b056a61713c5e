// mixed_atomics ROUNDS: all PEs do different atomic operations on the same numbers at once. What each operation has
// found there, and what is there at the end, says whether one has come between another one's reading and writing.
#include <spillway/pgas.h>

#include <cstdint>
#include <cstdlib>
#include <limits>

#include "checked_program.h"

namespace {

template <typename T>
struct Calls {
  T (*fetch)(const T*, int);
  void (*set)(T*, T, int);
  T (*swap)(T*, T, int);
  T (*compare_swap)(T*, T, T, int);
  T (*fetch_add)(T*, T, int);
  void (*add)(T*, T, int);
  T (*fetch_and)(T*, T, int);
  T (*fetch_or)(T*, T, int);
  T (*fetch_xor)(T*, T, int);
};

// Low half of a number: a sum, which all add to. Above it a bit of each PE's own, which it sets, clears and flips with
// others of its operations, and always knows. At the top a count by compare and swap.
template <typename T>
void check_parts_of_a_number(CheckedProgram& program, const Calls<T>& call, int rounds, int target) {
  constexpr int kBits = std::numeric_limits<T>::digits;
  constexpr T kCountOne = T{1} << (kBits / 4 * 3);
  const T own_bit = T{1} << (kBits / 2 + program.rank() % (kBits / 4));
  T* const number = static_cast<T*>(pgas_calloc(1, sizeof(T)));
  bool knows_own_bit = true;
  const auto has_own_bit = [&](T found, bool wanted) {
    knows_own_bit = knows_own_bit && ((found & own_bit) != 0) == wanted;
  };
  for (int round = 0; round < rounds; ++round) {
    has_own_bit(call.fetch_add(number, 1, target), false);
    has_own_bit(call.fetch_or(number, own_bit, target), false);
    has_own_bit(call.fetch(number, target), true);
    has_own_bit(call.fetch_and(number, static_cast<T>(~own_bit), target), true);
    has_own_bit(call.fetch_xor(number, own_bit, target), false);
    T seen = call.fetch(number, target);
    for (T before; (before = call.compare_swap(number, seen, static_cast<T>(seen + kCountOne), target)) != seen;)
      seen = before;
    has_own_bit(seen, true);
    has_own_bit(call.fetch_xor(number, own_bit, target), true);
  }
  program.holds(knows_own_bit);
  pgas_barrier_all();
  const T all = static_cast<T>(rounds * program.size());
  program.equal(call.fetch(number, target), static_cast<T>(all * kCountOne + all));
  pgas_barrier_all();
  pgas_free(number);
}

// Some take all that there is, by swap, while others add one by one: nothing is lost, and nothing taken twice.
template <typename T>
void check_swaps_among_sums(CheckedProgram& program, const Calls<T>& call, int rounds, int target) {
  T* const numbers = static_cast<T*>(pgas_calloc(2, sizeof(T)));  // what is there, and the sum of what was taken
  T taken = 0;
  for (int round = 0; round < rounds; ++round) {
    call.add(numbers, 3, target);
    if (round % 4 == 3) taken = static_cast<T>(taken + call.swap(numbers, 0, target));
    T seen = call.fetch(numbers, target);
    if (const T before = call.compare_swap(numbers, seen, 0, target); before == seen)
      taken = static_cast<T>(taken + seen);
  }
  call.add(numbers + 1, taken, target);
  pgas_barrier_all();
  const T left = call.fetch(numbers, target);
  program.equal(static_cast<T>(left + call.fetch(numbers + 1, target)), static_cast<T>(3 * rounds * program.size()));
  pgas_barrier_all();
  // Set, too, is one of them: the number is what one of the PEs has set, and what was added afterwards.
  call.set(numbers, static_cast<T>(100 * (program.rank() + 1)), target);
  call.add(numbers, 1, target);
  pgas_barrier_all();
  const T found = call.fetch(numbers, target);
  program.holds(found / 100 >= 1 && found / 100 <= static_cast<T>(program.size()));
  program.holds(found % 100 >= 1 && found % 100 <= static_cast<T>(program.size()));
  pgas_barrier_all();
  pgas_free(numbers);
}

// Signals are operations of the same kind: some PEs' signals add, while others take what has been signalled by swap.
void check_signals_among_swaps(CheckedProgram& program, int rounds, int target) {
  uint64_t* const signal = static_cast<uint64_t*>(pgas_calloc(2, sizeof(uint64_t)));
  int* const data = static_cast<int*>(pgas_calloc(static_cast<size_t>(program.size()), sizeof(int)));
  uint64_t taken = 0;
  for (int round = 0; round < rounds; ++round) {
    const int own = round;
    if (round % 2 == 0)
      pgas_int_put_signal_nbi(data + program.rank(), &own, 1, signal, 1, PGAS_SIGNAL_ADD, target);
    else
      pgas_int_put_signal(data + program.rank(), &own, 1, signal, 1, PGAS_SIGNAL_ADD, target);
    pgas_quiet();
    if (round % 3 == 0) taken += pgas_uint64_atomic_swap(signal, 0, target);
  }
  pgas_uint64_atomic_add(signal + 1, taken, target);
  pgas_barrier_all();
  program.equal(pgas_uint64_atomic_fetch(signal, target) + pgas_uint64_atomic_fetch(signal + 1, target),
                static_cast<uint64_t>(rounds * program.size()));
  program.equal(pgas_int_g(data + program.rank(), target), rounds - 1);
  pgas_barrier_all();
  pgas_free(data);
  pgas_free(signal);
}

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  pgas_init();
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 1;
#define CALLS(name)                                                                                   \
  {                                                                                                   \
    pgas_##name##_atomic_fetch, pgas_##name##_atomic_set, pgas_##name##_atomic_swap,                  \
        pgas_##name##_atomic_compare_swap, pgas_##name##_atomic_fetch_add, pgas_##name##_atomic_add,  \
        pgas_##name##_atomic_fetch_and, pgas_##name##_atomic_fetch_or, pgas_##name##_atomic_fetch_xor \
  }
  const Calls<uint32_t> of_32_bits CALLS(uint32);
  const Calls<uint64_t> of_64_bits CALLS(uint64);
  for (int target : {0, program.size() - 1}) {
    // A quarter of 32 bits counts to 255.
    for (int done = 0; done < rounds; done += 20) check_parts_of_a_number(program, of_32_bits, 20, target);
    check_parts_of_a_number(program, of_64_bits, rounds, target);
    check_swaps_among_sums(program, of_32_bits, rounds, target);
    check_swaps_among_sums(program, of_64_bits, rounds, target);
    check_signals_among_swaps(program, rounds, target);
  }
  pgas_finalize();
  return program.finish();
}
