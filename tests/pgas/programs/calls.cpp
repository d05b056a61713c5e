// Each function of pgas.h, checked against what the data must be, on whichever nodes the PEs are.
#include <spillway/pgas.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "calls_on_many.h"
#include "checked_program.h"

namespace {

constexpr size_t kCount = 3000;

bool is_patterned(const int* data, int source, int tag, size_t count) {
  const std::vector<int> wanted = patterned(source, tag, count);
  return std::memcmp(data, wanted.data(), count * sizeof(int)) == 0;
}

void check_pes(CheckedProgram& program) {
  program.equal(pgas_my_pe(), program.rank());
  program.equal(pgas_n_pes(), program.size());
  program.equal(pgas_pe_accessible(program.size() - 1), 1);
  program.equal(pgas_pe_accessible(program.size()), 0);
  program.equal(pgas_pe_accessible(-1), 0);
}

void check_heap(CheckedProgram& program) {
  program.holds(pgas_malloc(0) == nullptr);
  program.holds(pgas_malloc(size_t{1} << 40) == nullptr);
  const char* const said = std::getenv(PGAS_SYMMETRIC_SIZE);  // in MiB here
  const size_t heap = (said == nullptr ? size_t{64} : static_cast<size_t>(std::atoi(said))) << 20;
  program.holds(pgas_malloc(heap) == nullptr);
  void* const nearly_all = pgas_malloc(heap - 8192);
  program.holds(nearly_all != nullptr);
  pgas_free(nearly_all);
  program.holds(pgas_calloc(size_t{1} << 40, size_t{1} << 40) == nullptr);
  char* const first = static_cast<char*>(pgas_malloc(100));
  char* const second = static_cast<char*>(pgas_malloc(100));
  program.equal(reinterpret_cast<uintptr_t>(first) % 16, 0u);
  program.holds(second >= first + 100);
  char* const aligned = static_cast<char*>(pgas_align(4096, 10));
  program.equal(reinterpret_cast<uintptr_t>(aligned) % 4096, 0u);
  pgas_free(first);
  program.holds(pgas_malloc(100) == first);
  std::memset(first, 1, 100);
  pgas_free(first);
  program.holds(pgas_calloc(10, 10) == first);
  program.holds(first[0] == 0 && std::memcmp(first, first + 1, 99) == 0);
  for (char* memory : {first, second, aligned}) pgas_free(memory);
  pgas_free(nullptr);
}

void check_direct_pointers(CheckedProgram& program) {
  int* const values = symmetric<int>(2);
  int on_stack = 0;
  program.equal(pgas_addr_accessible(values, program.right()), 1);
  program.equal(pgas_addr_accessible(&on_stack, program.right()), 0);
  program.holds(pgas_ptr(&on_stack, program.right()) == nullptr);
  program.holds(pgas_ptr(values, program.size()) == nullptr);
  program.holds(pgas_ptr(values, program.rank()) == values);
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int here = 0;
  int number = 0;
  MPI_Comm_size(node, &here);
  MPI_Comm_rank(node, &number);
  if (const char* const said = std::getenv(PGAS_PES_PER_NODE); said != nullptr) {
    const int most = std::atoi(said);
    here = std::min(most, here - number / most * most);
  }
  MPI_Comm_free(&node);
  int direct = 0;
  for (int pe = 0; pe < program.size(); ++pe) direct += pgas_ptr(values, pe) != nullptr ? 1 : 0;
  program.equal(direct, here);
  if (int* const of_right = static_cast<int*>(pgas_ptr(values + 1, program.right())); of_right != nullptr) {
    *of_right = 17 + program.rank();
  } else {
    pgas_int_p(values + 1, 17 + program.rank(), program.right());
    pgas_quiet();
  }
  program.equal(pgas_int_g(values + 1, program.right()), 17 + program.rank());
  pgas_barrier_all();
  // A plain store is seen by who waits, too.
  if (int* const of_left = static_cast<int*>(pgas_ptr(values, program.left())); of_left != nullptr)
    __atomic_store_n(of_left, 5, __ATOMIC_RELEASE);
  else
    pgas_int_atomic_set(values, 5, program.left());
  pgas_int_wait_until(values, PGAS_CMP_EQ, 5);
  pgas_barrier_all();
  pgas_free(values);
}

void check_put_and_get(CheckedProgram& program) {
  int* const data = symmetric<int>(kCount);
  const std::vector<int> own = patterned(program.rank(), 1, kCount);
  pgas_putmem(data, own.data(), kCount * sizeof(int), program.right());
  pgas_barrier_all();
  program.holds(is_patterned(data, program.left(), 1, kCount));
  std::vector<int> got(kCount);
  pgas_getmem(got.data(), data, kCount * sizeof(int), program.right());
  program.holds(is_patterned(got.data(), program.rank(), 1, kCount));
  pgas_barrier_all();

  // Nonblocking: both sides of it are over after quiet.
  const std::vector<int> others = patterned(program.rank(), 2, kCount);
  pgas_putmem_nbi(data, others.data(), kCount / 2 * sizeof(int), program.left());
  pgas_putmem_nbi(data + kCount / 2, others.data() + kCount / 2, (kCount - kCount / 2) * sizeof(int), program.left());
  pgas_quiet();
  pgas_getmem_nbi(got.data(), data, kCount * sizeof(int), program.left());
  pgas_quiet();
  program.holds(is_patterned(got.data(), program.rank(), 2, kCount));
  pgas_barrier_all();
  program.holds(is_patterned(data, program.right(), 2, kCount));

  // In the source's own PE, with parts that overlap.
  pgas_sync_all();
  pgas_int_put(data + 1, data, kCount - 1, program.rank());
  pgas_quiet();
  program.holds(is_patterned(data + 1, program.right(), 2, kCount - 1));
  pgas_putmem(nullptr, nullptr, 0, program.right());
  pgas_getmem(nullptr, nullptr, 0, program.right());
  pgas_barrier_all();
  pgas_free(data);
}

// Each second element of the source to each third one of a PE, and back to each second one.
template <typename T>
void check_strided(CheckedProgram& program, void (*iput)(T*, const T*, ptrdiff_t, ptrdiff_t, size_t, int),
                   void (*iget)(T*, const T*, ptrdiff_t, ptrdiff_t, size_t, int)) {
  constexpr size_t kElements = 5;
  T* const data = symmetric<T>(3 * kElements);
  T given[2 * kElements];
  T got[2 * kElements] = {};
  for (size_t i = 0; i < 2 * kElements; ++i) given[i] = static_cast<T>(static_cast<size_t>(program.rank()) + i + 1);
  iput(data, given, 3, 2, kElements, program.right());
  given[0] = T{};
  iput(data, given, 3, 2, 0, program.right());
  pgas_barrier_all();
  for (size_t i = 0; i < 3 * kElements; ++i)
    program.equal(data[i], i % 3 == 0 ? static_cast<T>(static_cast<size_t>(program.left()) + i / 3 * 2 + 1) : T{});
  iget(got, data, 2, 3, kElements, program.right());
  for (size_t i = 0; i < 2 * kElements; ++i)
    program.equal(got[i], i % 2 == 0 ? static_cast<T>(static_cast<size_t>(program.rank()) + i + 1) : T{});
  pgas_barrier_all();
  pgas_free(data);
}

template <typename T>
void check_elements(CheckedProgram& program, void (*put)(T*, const T*, size_t, int),
                    void (*put_nbi)(T*, const T*, size_t, int), void (*get)(T*, const T*, size_t, int),
                    void (*get_nbi)(T*, const T*, size_t, int), void (*p)(T*, T, int), T (*g)(const T*, int),
                    void (*put_signal)(T*, const T*, size_t, uint64_t*, uint64_t, int, int),
                    void (*put_signal_nbi)(T*, const T*, size_t, uint64_t*, uint64_t, int, int),
                    void (*iput)(T*, const T*, ptrdiff_t, ptrdiff_t, size_t, int),
                    void (*iget)(T*, const T*, ptrdiff_t, ptrdiff_t, size_t, int)) {
  check_strided(program, iput, iget);
  T* const data = symmetric<T>(4);
  uint64_t* const signal = symmetric<uint64_t>(1);
  T given[3], got[3];
  for (int i = 0; i < 3; ++i) given[i] = static_cast<T>(program.rank() + i + 1);
  put(data, given, 2, program.right());
  put_nbi(data + 2, given + 2, 1, program.right());
  p(data + 3, static_cast<T>(90 + program.rank()), program.right());
  pgas_barrier_all();
  for (int i = 0; i < 3; ++i) program.equal(data[i], static_cast<T>(program.left() + i + 1));
  program.equal(data[3], static_cast<T>(90 + program.left()));
  program.equal(g(data + 3, program.right()), static_cast<T>(90 + program.rank()));
  get(got, data, 2, program.right());
  get_nbi(got + 2, data + 2, 1, program.right());
  pgas_quiet();
  for (int i = 0; i < 3; ++i) program.equal(got[i], given[i]);
  pgas_barrier_all();
  for (T& value : given) value = static_cast<T>(value + 20);
  put_signal(data, given, 2, signal, 5, PGAS_SIGNAL_SET, program.right());
  program.equal(pgas_signal_wait_until(signal, PGAS_CMP_NE, 0), 5u);
  for (int i = 0; i < 2; ++i) program.equal(data[i], static_cast<T>(program.left() + i + 21));
  pgas_barrier_all();
  put_signal_nbi(data + 2, given + 2, 1, signal, 4, PGAS_SIGNAL_ADD, program.right());
  program.equal(pgas_signal_wait_until(signal, PGAS_CMP_NE, 5), 9u);
  program.equal(data[2], static_cast<T>(program.left() + 23));
  pgas_quiet();
  pgas_barrier_all();
  pgas_free(signal);
  pgas_free(data);
}

void check_types(CheckedProgram& program) {
#define CHECK_ELEMENTS(name, type)                                                                                  \
  check_elements<type>(program, pgas_##name##_put, pgas_##name##_put_nbi, pgas_##name##_get, pgas_##name##_get_nbi, \
                       pgas_##name##_p, pgas_##name##_g, pgas_##name##_put_signal, pgas_##name##_put_signal_nbi,    \
                       pgas_##name##_iput, pgas_##name##_iget);
  PGAS_FOR_RMA_TYPES(CHECK_ELEMENTS)
}

// As many bytes as the name says in bits.
void check_sizes(CheckedProgram& program) {
  uint64_t* const signal = symmetric<uint64_t>(1);
  uint64_t signals = 0;
#define CHECK_SIZE(bits)                                                                                            \
  {                                                                                                                 \
    constexpr size_t kBytes = bits / 8;                                                                             \
    char* const data = symmetric<char>(12 * kBytes);                                                                \
    const std::vector<int> own = patterned(program.rank(), bits, 12 * kBytes);                                      \
    const std::vector<int> others = patterned(program.left(), bits, 12 * kBytes);                                   \
    const char* const from = reinterpret_cast<const char*>(own.data());                                             \
    const char* const wanted = reinterpret_cast<const char*>(others.data());                                        \
    pgas_put##bits(data, from, 2, program.right());                                                                 \
    pgas_put##bits##_nbi(data + 2 * kBytes, from + 2 * kBytes, 2, program.right());                                 \
    pgas_iput##bits(data + 4 * kBytes, from + 4 * kBytes, 2, 2, 2, program.right());                                \
    pgas_put##bits##_signal(data + 8 * kBytes, from + 8 * kBytes, 2, signal, 1, PGAS_SIGNAL_ADD, program.right());  \
    pgas_put##bits##_signal_nbi(data + 10 * kBytes, from + 10 * kBytes, 1, signal, 1, PGAS_SIGNAL_ADD,              \
                                program.right());                                                                   \
    signals += 2;                                                                                                   \
    program.equal(pgas_signal_wait_until(signal, PGAS_CMP_GE, signals), signals);                                   \
    pgas_barrier_all();                                                                                             \
    for (size_t i : {0, 1, 2, 3, 4, 6, 8, 9, 10})                                                                   \
      program.equal(std::memcmp(data + i * kBytes, wanted + i * kBytes, kBytes), 0);                                \
    for (size_t i : {5, 7, 11}) program.holds(std::count(data + i * kBytes, data + (i + 1) * kBytes, 0) == kBytes); \
    char got[6 * kBytes] = {};                                                                                      \
    pgas_get##bits(got, data, 2, program.right());                                                                  \
    pgas_get##bits##_nbi(got + 2 * kBytes, data + 2 * kBytes, 1, program.right());                                  \
    pgas_iget##bits(got + 3 * kBytes, data + 4 * kBytes, 1, 2, 2, program.right());                                 \
    pgas_quiet();                                                                                                   \
    program.equal(std::memcmp(got, from, 3 * kBytes), 0);                                                           \
    program.equal(std::memcmp(got + 3 * kBytes, from + 4 * kBytes, kBytes), 0);                                     \
    program.equal(std::memcmp(got + 4 * kBytes, from + 6 * kBytes, kBytes), 0);                                     \
    program.equal(std::count(got + 5 * kBytes, got + 6 * kBytes, 0), kBytes);                                       \
    pgas_barrier_all();                                                                                             \
    pgas_free(data);                                                                                                \
  }
  PGAS_FOR_SIZES(CHECK_SIZE)
  pgas_free(signal);
}

// Parts of many sizes go round the ring; who sees the signal has the data.
void check_signals(CheckedProgram& program) {
  int* const data = symmetric<int>(kCount);
  uint64_t* const signals = symmetric<uint64_t>(2);
  for (int round = 1; round <= 40; ++round) {
    const size_t count = static_cast<size_t>(round * round) % kCount + 1;
    const std::vector<int> own = patterned(program.rank(), round, count);
    if (round % 2 == 0)
      pgas_int_put_signal(data, own.data(), count, &signals[0], static_cast<uint64_t>(round), PGAS_SIGNAL_SET,
                          program.right());
    else
      pgas_putmem_signal_nbi(data, own.data(), count * sizeof(int), &signals[0], 1, PGAS_SIGNAL_ADD, program.right());
    program.equal(pgas_signal_wait_until(&signals[0], PGAS_CMP_EQ, static_cast<uint64_t>(round)), round);
    program.holds(is_patterned(data, program.left(), round, count));
    pgas_quiet();
    pgas_putmem_signal(data, own.data(), 0, &signals[1], static_cast<uint64_t>(round), PGAS_SIGNAL_SET, program.left());
    program.holds(pgas_signal_wait_until(&signals[1], PGAS_CMP_GE, static_cast<uint64_t>(round)) >=
                  static_cast<uint64_t>(round));
  }
  program.equal(pgas_signal_fetch(&signals[0]), 40u);
  pgas_barrier_all();
  pgas_free(signals);
  pgas_free(data);
}

template <typename T>
struct AtomicCalls {
  T (*fetch)(const T*, int);
  void (*set)(T*, T, int);
  T (*swap)(T*, T, int);
  T (*compare_swap)(T*, T, T, int);
  T (*fetch_add)(T*, T, int);
  void (*add)(T*, T, int);
  T (*fetch_inc)(T*, int);
  void (*inc)(T*, int);
  T (*fetch_and)(T*, T, int);
  void (*and_)(T*, T, int);
  T (*fetch_or)(T*, T, int);
  void (*or_)(T*, T, int);
  T (*fetch_xor)(T*, T, int);
  void (*xor_)(T*, T, int);
  void (*fetch_nbi)(T*, const T*, int);
  void (*swap_nbi)(T*, T*, T, int);
  void (*compare_swap_nbi)(T*, T*, T, T, int);
  void (*fetch_add_nbi)(T*, T*, T, int);
  void (*fetch_inc_nbi)(T*, T*, int);
  void (*fetch_and_nbi)(T*, T*, T, int);
  void (*fetch_or_nbi)(T*, T*, T, int);
  void (*fetch_xor_nbi)(T*, T*, T, int);
  void (*wait_until)(T*, int, T);
  int (*test)(T*, int, T);
};

// The values before, one operation after the other, on a neighbour's variable.
template <typename T>
void check_each_operation(CheckedProgram& program, const AtomicCalls<T>& call) {
  T* const value = symmetric<T>(3) + 1;  // on a border of its own size only
  const int pe = program.right();
  call.set(value, static_cast<T>(-3), pe);
  program.equal(call.fetch(value, pe), static_cast<T>(-3));
  program.equal(call.swap(value, 5, pe), static_cast<T>(-3));
  program.equal(call.compare_swap(value, 4, 9, pe), T{5});
  program.equal(call.compare_swap(value, 5, 9, pe), T{5});
  program.equal(call.fetch_add(value, 3, pe), T{9});
  call.add(value, static_cast<T>(-2), pe);
  program.equal(call.fetch_inc(value, pe), T{10});
  call.inc(value, pe);
  program.equal(call.fetch_and(value, 6, pe), T{12});
  call.or_(value, 3, pe);
  program.equal(call.fetch_or(value, 8, pe), T{7});
  call.xor_(value, 1, pe);
  program.equal(call.fetch_xor(value, 6, pe), T{14});
  call.and_(value, 9, pe);
  T before[8] = {};
  call.fetch_nbi(&before[0], value, pe);
  call.swap_nbi(&before[1], value, 6, pe);
  call.compare_swap_nbi(&before[2], value, 6, 12, pe);
  call.fetch_add_nbi(&before[3], value, 3, pe);
  call.fetch_inc_nbi(&before[4], value, pe);
  call.fetch_and_nbi(&before[5], value, 24, pe);
  call.fetch_or_nbi(&before[6], value, 12, pe);
  call.fetch_xor_nbi(&before[7], value, 20, pe);
  pgas_quiet();
  const T wanted[] = {8, 8, 6, 12, 15, 16, 16, 28};
  for (int i = 0; i < 8; ++i) program.equal(before[i], wanted[i]);
  pgas_barrier_all();
  program.equal(*value, T{8});
  program.equal(value[-1], T{0});
  program.equal(value[1], T{0});
  pgas_free(value - 1);
}

// All PEs count in PE 0's variable, and take numbers from it that no other gets.
template <typename T>
void check_together(CheckedProgram& program, const AtomicCalls<T>& call) {
  constexpr int kEach = 50;
  T* const counter = symmetric<T>(2);
  const T all = static_cast<T>(kEach * program.size());
  T last = -1;
  bool ascends = true;
  for (int i = 0; i < kEach; ++i) {
    const T number = call.fetch_inc(counter, 0);
    ascends = ascends && (i == 0 || number > last) && number < all;
    last = number;
    T seen = call.fetch(counter + 1, 0);  // the sum of all numbers, by compare and swap
    for (T before; (before = call.compare_swap(counter + 1, seen, static_cast<T>(seen + number), 0)) != seen;)
      seen = before;
  }
  program.holds(ascends);
  pgas_barrier_all();
  program.equal(call.fetch(counter, 0), all);
  program.equal(call.fetch(counter + 1, 0), static_cast<T>(all * (all - 1) / 2));
  pgas_barrier_all();
  pgas_free(counter);
}

template <typename T>
void check_waiting(CheckedProgram& program, const AtomicCalls<T>& call) {
  T* const value = symmetric<T>(1);
  *value = 7;
  program.equal(call.test(value, PGAS_CMP_EQ, 7), 1);
  program.equal(call.test(value, PGAS_CMP_NE, 7), 0);
  program.equal(call.test(value, PGAS_CMP_GT, 6), 1);
  program.equal(call.test(value, PGAS_CMP_GT, 7), 0);
  program.equal(call.test(value, PGAS_CMP_GE, 7), 1);
  program.equal(call.test(value, PGAS_CMP_LT, 7), 0);
  program.equal(call.test(value, PGAS_CMP_LE, 7), 1);
  *value = static_cast<T>(-1);  // the largest number where there is no sign
  program.equal(call.test(value, PGAS_CMP_LT, 1), std::is_signed_v<T> ? 1 : 0);
  *value = 0;
  pgas_barrier_all();
  call.add(value, 2, program.right());
  call.wait_until(value, PGAS_CMP_GT, 1);
  program.equal(*value, T{2});
  pgas_barrier_all();
  pgas_free(value);
}

// Numbers with a fraction, which are swapped whole.
void check_real_numbers(CheckedProgram& program) {
#define CHECK_REAL(name, type, word)                                                          \
  {                                                                                           \
    type* const value = symmetric<type>(3) + 1;                                               \
    type before[2] = {};                                                                      \
    pgas_##name##_atomic_set(value, type{-2.5}, program.right());                             \
    program.equal(pgas_##name##_atomic_fetch(value, program.right()), type{-2.5});            \
    program.equal(pgas_##name##_atomic_swap(value, type{0.75}, program.right()), type{-2.5}); \
    pgas_##name##_atomic_fetch_nbi(&before[0], value, program.right());                       \
    pgas_##name##_atomic_swap_nbi(&before[1], value, type{1e30}, program.right());            \
    pgas_quiet();                                                                             \
    program.holds(before[0] == type{0.75} && before[1] == type{0.75});                        \
    pgas_barrier_all();                                                                       \
    program.holds(value[-1] == 0 && value[0] == type{1e30} && value[1] == 0);                 \
    pgas_free(value - 1);                                                                     \
  }
  PGAS_FOR_REAL_TYPES(CHECK_REAL)
}

void check_atomics(CheckedProgram& program) {
#define CHECK_ATOMICS(name, type, is_signed)                                                                       \
  {                                                                                                                \
    const AtomicCalls<type> calls{pgas_##name##_atomic_fetch,                                                      \
                                  pgas_##name##_atomic_set,                                                        \
                                  pgas_##name##_atomic_swap,                                                       \
                                  pgas_##name##_atomic_compare_swap,                                               \
                                  pgas_##name##_atomic_fetch_add,                                                  \
                                  pgas_##name##_atomic_add,                                                        \
                                  pgas_##name##_atomic_fetch_inc,                                                  \
                                  pgas_##name##_atomic_inc,                                                        \
                                  pgas_##name##_atomic_fetch_and,                                                  \
                                  pgas_##name##_atomic_and,                                                        \
                                  pgas_##name##_atomic_fetch_or,                                                   \
                                  pgas_##name##_atomic_or,                                                         \
                                  pgas_##name##_atomic_fetch_xor,                                                  \
                                  pgas_##name##_atomic_xor,                                                        \
                                  pgas_##name##_atomic_fetch_nbi,                                                  \
                                  pgas_##name##_atomic_swap_nbi,                                                   \
                                  pgas_##name##_atomic_compare_swap_nbi,                                           \
                                  pgas_##name##_atomic_fetch_add_nbi,                                              \
                                  pgas_##name##_atomic_fetch_inc_nbi,                                              \
                                  pgas_##name##_atomic_fetch_and_nbi,                                              \
                                  pgas_##name##_atomic_fetch_or_nbi,                                               \
                                  pgas_##name##_atomic_fetch_xor_nbi,                                              \
                                  pgas_##name##_wait_until,                                                        \
                                  pgas_##name##_test};                                                             \
    const ManyCalls<type> many{pgas_##name##_wait_until_all,  pgas_##name##_wait_until_any,                        \
                               pgas_##name##_wait_until_some, pgas_##name##_test_all,                              \
                               pgas_##name##_test_any,        pgas_##name##_test_some};                            \
    const ManyVectorCalls<type> vectors{pgas_##name##_wait_until_all_vector,  pgas_##name##_wait_until_any_vector, \
                                        pgas_##name##_wait_until_some_vector, pgas_##name##_test_all_vector,       \
                                        pgas_##name##_test_any_vector,        pgas_##name##_test_some_vector};     \
    check_many<type>(program, many, vectors);                                                                      \
    program.equal(std::is_signed_v<type>, is_signed == 1);                                                         \
    check_each_operation(program, calls);                                                                          \
    check_together(program, calls);                                                                                \
    check_waiting(program, calls);                                                                                 \
  }
  PGAS_FOR_ATOMIC_TYPES(CHECK_ATOMICS)
}

// What a PE puts before a fence comes before what it puts behind it.
void check_fence(CheckedProgram& program) {
  int* const data = symmetric<int>(kCount * 40);
  long* const mark = symmetric<long>(1);
  for (int round = 1; round <= 10; ++round) {
    const std::vector<int> own = patterned(program.rank(), round, kCount * 40);
    pgas_int_put_nbi(data, own.data(), own.size(), program.right());
    pgas_fence();
    pgas_long_p(mark, round, program.right());
    pgas_long_wait_until(mark, PGAS_CMP_GE, round);
    program.holds(is_patterned(data, program.left(), round, own.size()));
    pgas_barrier_all();
  }
  pgas_free(mark);
  pgas_free(data);
}

// Different operations on one number: each PE adds to its low bits, flips a bit of its own, and counts in its high bits
// by compare and swap.
void check_mixed_operations(CheckedProgram& program) {
  constexpr int kEach = 60;
  uint64_t* const number = symmetric<uint64_t>(1);
  const uint64_t own_bit = uint64_t{1} << (24 + program.rank() % 8);
  for (int i = 0; i < kEach; ++i) {
    pgas_uint64_atomic_add(number, 1, 0);
    pgas_uint64_atomic_fetch_xor(number, own_bit, 0);
    uint64_t seen = pgas_uint64_atomic_fetch(number, 0);
    for (uint64_t before;
         (before = pgas_uint64_atomic_compare_swap(number, seen, seen + (uint64_t{1} << 32), 0)) != seen;)
      seen = before;
  }
  pgas_barrier_all();
  const auto all = static_cast<uint64_t>(kEach * program.size());
  program.equal(pgas_uint64_atomic_fetch(number, 0), all << 32 | all);
  pgas_barrier_all();
  pgas_free(number);
}

// PEs that look again and again, without another call, let each other go on, however few slots there are.
void check_spinning(CheckedProgram& program) {
  int* const lock = symmetric<int>(2);
  for (int i = 0; i < 5; ++i) {
    while (pgas_int_atomic_compare_swap(lock, 0, 1, 0) != 0) continue;
    const int counted = pgas_int_g(lock + 1, 0);
    int flag = 0;  // a message to itself is a call in which others may go on meanwhile
    MPI_Sendrecv(&counted, 1, MPI_INT, program.rank(), 3, &flag, 1, MPI_INT, program.rank(), 3, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    pgas_int_p(lock + 1, flag + 1, 0);
    pgas_quiet();
    pgas_int_atomic_set(lock, 0, 0);
  }
  while (pgas_int_g(lock + 1, 0) != 5 * program.size()) continue;
  pgas_barrier_all();
  pgas_free(lock);
}

// The source is written again as soon as a put is complete, while others are on their way.
void check_handles(CheckedProgram& program) {
  constexpr size_t kPuts = 20;
  constexpr size_t kAtATime = 3;
  int* const data = symmetric<int>(kPuts * kCount);
  uint64_t* const signal = symmetric<uint64_t>(1);
  std::vector<int> sources[kAtATime];
  uint64_t handles[kAtATime] = {};
  for (size_t put = 0; put < kPuts; ++put) {
    const size_t place = put % kAtATime;
    while (put >= kAtATime && pgas_put_is_complete(handles[place]) == 0) {
    }
    std::vector<int>& source = sources[place];
    source.resize(kCount);
    const std::vector<int> own = patterned(program.rank(), static_cast<int>(put), kCount);
    std::copy(own.begin(), own.end(), source.begin());
    handles[place] = pgas_putmem_signal_begin(data + put * kCount, source.data(), kCount * sizeof(int), signal, 1,
                                              PGAS_SIGNAL_ADD, program.right());
  }
  for (uint64_t handle : handles)
    while (pgas_put_is_complete(handle) == 0) {
    }
  program.equal(pgas_signal_wait_until(signal, PGAS_CMP_GE, kPuts), kPuts);
  for (size_t put = 0; put < kPuts; ++put)
    program.holds(is_patterned(data + put * kCount, program.left(), static_cast<int>(put), kCount));
  pgas_barrier_all();
  pgas_free(signal);
  pgas_free(data);
}

// MPI's own messages go on meanwhile: a large one waits for its receiver, who waits for a signal.
void check_beside_messages(CheckedProgram& program) {
  constexpr size_t kLarge = 300000;
  uint64_t* const signal = symmetric<uint64_t>(1);
  const std::vector<int> own = patterned(program.rank(), 9, kLarge);
  std::vector<int> got(kLarge);
  MPI_Request request;
  MPI_Irecv(got.data(), static_cast<int>(kLarge), MPI_INT, program.left(), 9, MPI_COMM_WORLD, &request);
  MPI_Send(own.data(), static_cast<int>(kLarge), MPI_INT, program.right(), 9, MPI_COMM_WORLD);
  pgas_putmem_signal(signal, signal, 0, signal, 1, PGAS_SIGNAL_SET, program.right());
  pgas_signal_wait_until(signal, PGAS_CMP_EQ, 1);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  program.holds(is_patterned(got.data(), program.left(), 9, kLarge));
  pgas_barrier_all();
  pgas_free(signal);
}

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  int level = -1;
  int asked_again = -1;
  program.equal(pgas_init_thread(PGAS_THREAD_MULTIPLE, &level), 0);
  pgas_query_thread(&asked_again);
  int of_mpi = MPI_THREAD_SINGLE;
  MPI_Query_thread(&of_mpi);
  const int expected = of_mpi >= MPI_THREAD_SERIALIZED ? PGAS_THREAD_SERIALIZED
                       : of_mpi == MPI_THREAD_FUNNELED ? PGAS_THREAD_FUNNELED
                                                       : PGAS_THREAD_SINGLE;
  program.holds(level == expected && asked_again == level);
  check_pes(program);
  check_heap(program);
  check_direct_pointers(program);
  check_put_and_get(program);
  check_types(program);
  check_sizes(program);
  check_signals(program);
  check_handles(program);
  check_atomics(program);
  check_real_numbers(program);
  check_mixed_operations(program);
  check_spinning(program);
  check_fence(program);
  check_beside_messages(program);
  pgas_finalize();
  return program.finish();
}
