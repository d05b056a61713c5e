/* One-sided communication on a symmetric heap: memory that every process (PE) allocates alike and that all may read and
 * write, with put, get, put with signal, atomic operations and waiting. OpenSHMEM 1.5's words and semantics, with
 * `pgas_` for `shmem_`, over MPI: a program may use both. docs/reference/one-sided.md says what there is and where it
 * differs.
 *
 * Programs are linked with libpgas-<flavour>.so and an MPI library. PEs are the ranks of MPI_COMM_WORLD. An error (a PE
 * or an address that does not exist, no room) ends the job with a message.
 *
 * Symmetric addresses: what pgas_malloc() returned, in this process; an operation on another PE takes the same address
 * and means that PE's memory. Sizes are in bytes where a name ends in `mem`, else in elements.
 *
 * Threads: one at a time may call these, as with MPI_THREAD_SERIALIZED; while one waits in them or in MPI, no other.
 */
#ifndef SPILLWAY_PGAS_H
#define SPILLWAY_PGAS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Size of each PE's symmetric heap, in the environment, as in 512M (default: 64M). The memory is taken when it is first
 * written. */
#define PGAS_SYMMETRIC_SIZE "PGAS_SYMMETRIC_SIZE"
/* To try a program on several nodes without having them: each host's PEs are taken as nodes of so many PEs, which reach
 * each other only by MPI (in the first PE's environment, as the size is; default: a host is a node). */
#define PGAS_PES_PER_NODE "PGAS_PES_PER_NODE"

/* How a value is compared by the functions that wait or test. */
#define PGAS_CMP_EQ 1
#define PGAS_CMP_NE 2
#define PGAS_CMP_GT 3
#define PGAS_CMP_GE 4
#define PGAS_CMP_LT 5
#define PGAS_CMP_LE 6

/* What a put with signal does to the signal. */
#define PGAS_SIGNAL_SET 1
#define PGAS_SIGNAL_ADD 2

/* What pgas_init_thread() is asked for, and gives. */
#define PGAS_THREAD_SINGLE 0
#define PGAS_THREAD_FUNNELED 1
#define PGAS_THREAD_SERIALIZED 2
#define PGAS_THREAD_MULTIPLE 3

/* Collective. Calls MPI_Init_thread() unless the program has. */
void pgas_init(void);
/* The same. *provided: what of `requested` there is, PGAS_THREAD_SERIALIZED at most, and no more than MPI gives where
 * the program has begun it. Returns 0. */
int pgas_init_thread(int requested, int* provided);
void pgas_query_thread(int* provided);
/* Collective: all that has been put is there before. Calls MPI_Finalize() where pgas_init() called MPI_Init(). */
void pgas_finalize(void);
/* Ends the job, with this exit status, from any PE. */
void pgas_global_exit(int status);

int pgas_my_pe(void);
int pgas_n_pes(void);

/* Collective, with the same size in all PEs: symmetric memory, on a border of 16 bytes or of `alignment` (a power of
 * two, up to 4096). NULL for 0 bytes, and in all PEs where there is no room. All PEs have it when a call returns. */
void* pgas_malloc(size_t bytes);
void* pgas_calloc(size_t count, size_t bytes); /* zeros */
void* pgas_align(size_t alignment, size_t bytes);
/* Collective, with quiet before. NULL: nothing. */
void pgas_free(void* address);

/* The address at which this process may load and store the memory of `pe`, or NULL where that is on another node. Who
 * waits for a value that is stored so may see it some milliseconds late: only the functions here wake. */
void* pgas_ptr(const void* address, int pe);
/* 1 where operations on the address reach that PE, else 0. */
int pgas_addr_accessible(const void* address, int pe);
int pgas_pe_accessible(int pe);

/* Copies to another PE. When it returns, `source` may be written again; the data are there after pgas_quiet(). */
void pgas_putmem(void* dest, const void* source, size_t bytes, int pe);
/* The same, but `source` stays untouched until pgas_quiet(). */
void pgas_putmem_nbi(void* dest, const void* source, size_t bytes, int pe);
/* Copies from another PE. */
void pgas_getmem(void* dest, const void* source, size_t bytes, int pe);
/* The same, but `dest` has it after pgas_quiet(). */
void pgas_getmem_nbi(void* dest, const void* source, size_t bytes, int pe);

/* Put with notify (hybrid-sort.txt, 4.3): copies, and then sets or adds to a signal of the same PE. Who sees the signal
 * sees the data. */
void pgas_putmem_signal(void* dest, const void* source, size_t bytes, uint64_t* signal_address, uint64_t signal,
                        int operation, int pe);
/* The same, but `source` stays untouched until pgas_quiet(). To another node it does not wait for the data to be there:
 * a later call gives the signal, pgas_quiet() at the latest, or the thread for progress, which there is among several
 * nodes in programs that have called MPI_Init_thread() with MPI_THREAD_MULTIPLE before pgas_init(). */
void pgas_putmem_signal_nbi(void* dest, const void* source, size_t bytes, uint64_t* signal_address, uint64_t signal,
                            int operation, int pe);
/* The same with a handle, which OpenSHMEM has not and hybrid-sort.txt asks for: pgas_put_is_complete() is 1 when the
 * data are there, the signal has been given and `source` may be written again. It lets go on what has been begun, and
 * waits for the other side to call MPI once the data have left this PE; then also for what has been put there since. */
uint64_t pgas_putmem_signal_begin(void* dest, const void* source, size_t bytes, uint64_t* signal_address,
                                  uint64_t signal, int operation, int pe);
int pgas_put_is_complete(uint64_t handle);
/* The value of a signal of this PE. */
uint64_t pgas_signal_fetch(const uint64_t* signal_address);
/* Waits until it compares so, and returns it. */
uint64_t pgas_signal_wait_until(uint64_t* signal_address, int comparison, uint64_t value);

/* What this PE has put to a PE before comes before what it puts to that PE afterwards. */
void pgas_fence(void);
/* All that this PE has done to others is there and seen by all, and its nonblocking operations are over. */
void pgas_quiet(void);
/* Collective. With quiet, and without. */
void pgas_barrier_all(void);
void pgas_sync_all(void);

/* Behind the functions with types, which are below. */
enum pgas_operation {
  PGAS_OPERATION_FETCH,
  PGAS_OPERATION_SET, /* and swap */
  PGAS_OPERATION_COMPARE_SWAP,
  PGAS_OPERATION_ADD,
  PGAS_OPERATION_AND,
  PGAS_OPERATION_OR,
  PGAS_OPERATION_XOR
};
/* Of a value of 4 or 8 bytes: the one before. */
uint64_t pgas_atomic_bytes(enum pgas_operation operation, void* address, uint64_t operand, uint64_t expected,
                           size_t bytes, int pe);
/* 1 or 0; with `waits`, does not return before it is 1. `value` is extended to 64 bits as its type has it. */
int pgas_compare_bytes(const void* address, int comparison, uint64_t value, size_t bytes, int is_signed, int waits);
/* Of `count` values, those that compare so, each with `values[i]`, or with `values[0]` where `has_value_each` is 0; not
 * those whose `excluded` is not 0 (NULL: none). Puts the numbers of up to `most` into `found` and returns how many;
 * with `waits`, not before there is one, unless all are excluded. Where `found` is NULL, returns how many do not; with
 * `waits`, not before that is 0. */
size_t pgas_compare_many_bytes(const void* addresses, size_t count, const int* excluded, int comparison,
                               const void* values, int has_value_each, size_t bytes, int is_signed, size_t* found,
                               size_t most, int waits);
/* `count` elements of `bytes`, at distances of so many elements. */
void pgas_iput_bytes(void* dest, const void* source, ptrdiff_t dest_stride, ptrdiff_t source_stride, size_t count,
                     size_t bytes, int pe);
void pgas_iget_bytes(void* dest, const void* source, ptrdiff_t dest_stride, ptrdiff_t source_stride, size_t count,
                     size_t bytes, int pe);

/* Types of puts and gets, as (name, type). */
/* clang-format off */
#define PGAS_FOR_RMA_TYPES(X) \
  X(float, float) \
  X(double, double) \
  X(longdouble, long double) \
  X(char, char) \
  X(schar, signed char) \
  X(short, short) \
  X(int, int) \
  X(long, long) \
  X(longlong, long long) \
  X(uchar, unsigned char) \
  X(ushort, unsigned short) \
  X(uint, unsigned int) \
  X(ulong, unsigned long) \
  X(ulonglong, unsigned long long) \
  X(int8, int8_t) \
  X(int16, int16_t) \
  X(int32, int32_t) \
  X(int64, int64_t) \
  X(uint8, uint8_t) \
  X(uint16, uint16_t) \
  X(uint32, uint32_t) \
  X(uint64, uint64_t) \
  X(size, size_t) \
  X(ptrdiff, ptrdiff_t)
/* clang-format on */

/* Types that can be added, compared and waited for, as (name, type, 1 if signed). */
/* clang-format off */
#define PGAS_FOR_ATOMIC_TYPES(X) \
  X(int, int, 1) \
  X(long, long, 1) \
  X(longlong, long long, 1) \
  X(uint, unsigned int, 0) \
  X(ulong, unsigned long, 0) \
  X(ulonglong, unsigned long long, 0) \
  X(int32, int32_t, 1) \
  X(int64, int64_t, 1) \
  X(uint32, uint32_t, 0) \
  X(uint64, uint64_t, 0) \
  X(size, size_t, 0) \
  X(ptrdiff, ptrdiff_t, 1)
/* clang-format on */

/* pgas_<type>_put, _put_nbi, _get, _get_nbi, _put_signal, _put_signal_nbi; _iput and _iget with distances between
 * elements; _p and _g of one element. */
#define PGAS_DEFINE_RMA(name, type)                                                                                   \
  static inline void pgas_##name##_put(type* dest, const type* source, size_t count, int pe) {                        \
    pgas_putmem(dest, source, count * sizeof(type), pe);                                                              \
  }                                                                                                                   \
  static inline void pgas_##name##_put_nbi(type* dest, const type* source, size_t count, int pe) {                    \
    pgas_putmem_nbi(dest, source, count * sizeof(type), pe);                                                          \
  }                                                                                                                   \
  static inline void pgas_##name##_get(type* dest, const type* source, size_t count, int pe) {                        \
    pgas_getmem(dest, source, count * sizeof(type), pe);                                                              \
  }                                                                                                                   \
  static inline void pgas_##name##_get_nbi(type* dest, const type* source, size_t count, int pe) {                    \
    pgas_getmem_nbi(dest, source, count * sizeof(type), pe);                                                          \
  }                                                                                                                   \
  static inline void pgas_##name##_put_signal(type* dest, const type* source, size_t count, uint64_t* signal_address, \
                                              uint64_t signal, int operation, int pe) {                               \
    pgas_putmem_signal(dest, source, count * sizeof(type), signal_address, signal, operation, pe);                    \
  }                                                                                                                   \
  static inline void pgas_##name##_put_signal_nbi(type* dest, const type* source, size_t count,                       \
                                                  uint64_t* signal_address, uint64_t signal, int operation, int pe) { \
    pgas_putmem_signal_nbi(dest, source, count * sizeof(type), signal_address, signal, operation, pe);                \
  }                                                                                                                   \
  static inline void pgas_##name##_iput(type* dest, const type* source, ptrdiff_t dest_stride,                        \
                                        ptrdiff_t source_stride, size_t count, int pe) {                              \
    pgas_iput_bytes(dest, source, dest_stride, source_stride, count, sizeof(type), pe);                               \
  }                                                                                                                   \
  static inline void pgas_##name##_iget(type* dest, const type* source, ptrdiff_t dest_stride,                        \
                                        ptrdiff_t source_stride, size_t count, int pe) {                              \
    pgas_iget_bytes(dest, source, dest_stride, source_stride, count, sizeof(type), pe);                               \
  }                                                                                                                   \
  static inline void pgas_##name##_p(type* dest, type value, int pe) { pgas_putmem(dest, &value, sizeof value, pe); } \
  static inline type pgas_##name##_g(const type* source, int pe) {                                                    \
    type value;                                                                                                       \
    pgas_getmem(&value, source, sizeof value, pe);                                                                    \
    return value;                                                                                                     \
  }
PGAS_FOR_RMA_TYPES(PGAS_DEFINE_RMA)

/* pgas_put<bits>, _nbi, get<bits>, _nbi, put<bits>_signal, _nbi, iput<bits> and iget<bits>: elements of so many bits.
 */
#define PGAS_FOR_SIZES(X) X(8) X(16) X(32) X(64) X(128)
#define PGAS_DEFINE_SIZE(bits)                                                                                       \
  static inline void pgas_put##bits(void* dest, const void* source, size_t count, int pe) {                          \
    pgas_putmem(dest, source, count*(bits / 8), pe);                                                                 \
  }                                                                                                                  \
  static inline void pgas_put##bits##_nbi(void* dest, const void* source, size_t count, int pe) {                    \
    pgas_putmem_nbi(dest, source, count*(bits / 8), pe);                                                             \
  }                                                                                                                  \
  static inline void pgas_get##bits(void* dest, const void* source, size_t count, int pe) {                          \
    pgas_getmem(dest, source, count*(bits / 8), pe);                                                                 \
  }                                                                                                                  \
  static inline void pgas_get##bits##_nbi(void* dest, const void* source, size_t count, int pe) {                    \
    pgas_getmem_nbi(dest, source, count*(bits / 8), pe);                                                             \
  }                                                                                                                  \
  static inline void pgas_put##bits##_signal(void* dest, const void* source, size_t count, uint64_t* signal_address, \
                                             uint64_t signal, int operation, int pe) {                               \
    pgas_putmem_signal(dest, source, count*(bits / 8), signal_address, signal, operation, pe);                       \
  }                                                                                                                  \
  static inline void pgas_put##bits##_signal_nbi(void* dest, const void* source, size_t count,                       \
                                                 uint64_t* signal_address, uint64_t signal, int operation, int pe) { \
    pgas_putmem_signal_nbi(dest, source, count*(bits / 8), signal_address, signal, operation, pe);                   \
  }                                                                                                                  \
  static inline void pgas_iput##bits(void* dest, const void* source, ptrdiff_t dest_stride, ptrdiff_t source_stride, \
                                     size_t count, int pe) {                                                         \
    pgas_iput_bytes(dest, source, dest_stride, source_stride, count, bits / 8, pe);                                  \
  }                                                                                                                  \
  static inline void pgas_iget##bits(void* dest, const void* source, ptrdiff_t dest_stride, ptrdiff_t source_stride, \
                                     size_t count, int pe) {                                                         \
    pgas_iget_bytes(dest, source, dest_stride, source_stride, count, bits / 8, pe);                                  \
  }
PGAS_FOR_SIZES(PGAS_DEFINE_SIZE)

/* pgas_<type>_atomic_fetch, _set, _swap, _compare_swap, _fetch_add, _add, _fetch_inc, _inc, and of bits _fetch_and,
 * _and, _fetch_or, _or, _fetch_xor, _xor. Atomic with each other, whichever PE does them. Those that fetch also as
 * _nbi, which puts what it fetches where its first argument says.
 *
 * pgas_<type>_wait_until and _test; of several values _wait_until_all, _any and _some, _test_all, _any and _some, and
 * the same with _vector, which have a value for each. Those of _any return the number of one, or SIZE_MAX; those of
 * _some put numbers into `indices` and return how many. */
#define PGAS_DEFINE_FETCHING(name, type, words, operation)                                                   \
  static inline type pgas_##name##_atomic_fetch_##words(type* dest, type value, int pe) {                    \
    return (type)pgas_atomic_bytes(operation, dest, (uint64_t)value, 0, sizeof(type), pe);                   \
  }                                                                                                          \
  static inline void pgas_##name##_atomic_fetch_##words##_nbi(type* fetch, type* dest, type value, int pe) { \
    *fetch = pgas_##name##_atomic_fetch_##words(dest, value, pe);                                            \
  }                                                                                                          \
  static inline void pgas_##name##_atomic_##words(type* dest, type value, int pe) {                          \
    (void)pgas_atomic_bytes(operation, dest, (uint64_t)value, 0, sizeof(type), pe);                          \
  }
#define PGAS_DEFINE_ATOMIC(name, type, is_signed)                                                              \
  static inline type pgas_##name##_atomic_fetch(const type* source, int pe) {                                  \
    return (type)pgas_atomic_bytes(PGAS_OPERATION_FETCH, (void*)source, 0, 0, sizeof(type), pe);               \
  }                                                                                                            \
  static inline void pgas_##name##_atomic_set(type* dest, type value, int pe) {                                \
    (void)pgas_atomic_bytes(PGAS_OPERATION_SET, dest, (uint64_t)value, 0, sizeof(type), pe);                   \
  }                                                                                                            \
  static inline type pgas_##name##_atomic_swap(type* dest, type value, int pe) {                               \
    return (type)pgas_atomic_bytes(PGAS_OPERATION_SET, dest, (uint64_t)value, 0, sizeof(type), pe);            \
  }                                                                                                            \
  static inline type pgas_##name##_atomic_compare_swap(type* dest, type expected, type value, int pe) {        \
    return (type)pgas_atomic_bytes(PGAS_OPERATION_COMPARE_SWAP, dest, (uint64_t)value, (uint64_t)expected,     \
                                   sizeof(type), pe);                                                          \
  }                                                                                                            \
  static inline void pgas_##name##_atomic_fetch_nbi(type* fetch, const type* source, int pe) {                 \
    *fetch = pgas_##name##_atomic_fetch(source, pe);                                                           \
  }                                                                                                            \
  static inline void pgas_##name##_atomic_swap_nbi(type* fetch, type* dest, type value, int pe) {              \
    *fetch = pgas_##name##_atomic_swap(dest, value, pe);                                                       \
  }                                                                                                            \
  static inline void pgas_##name##_atomic_compare_swap_nbi(type* fetch, type* dest, type expected, type value, \
                                                           int pe) {                                           \
    *fetch = pgas_##name##_atomic_compare_swap(dest, expected, value, pe);                                     \
  }                                                                                                            \
  PGAS_DEFINE_FETCHING(name, type, add, PGAS_OPERATION_ADD)                                                    \
  PGAS_DEFINE_FETCHING(name, type, and, PGAS_OPERATION_AND)                                                    \
  PGAS_DEFINE_FETCHING(name, type, or, PGAS_OPERATION_OR)                                                      \
  PGAS_DEFINE_FETCHING(name, type, xor, PGAS_OPERATION_XOR)                                                    \
  static inline type pgas_##name##_atomic_fetch_inc(type* dest, int pe) {                                      \
    return pgas_##name##_atomic_fetch_add(dest, 1, pe);                                                        \
  }                                                                                                            \
  static inline void pgas_##name##_atomic_fetch_inc_nbi(type* fetch, type* dest, int pe) {                     \
    *fetch = pgas_##name##_atomic_fetch_inc(dest, pe);                                                         \
  }                                                                                                            \
  static inline void pgas_##name##_atomic_inc(type* dest, int pe) { pgas_##name##_atomic_add(dest, 1, pe); }   \
  static inline void pgas_##name##_wait_until(type* address, int comparison, type value) {                     \
    (void)pgas_compare_bytes(address, comparison, (uint64_t)value, sizeof(type), is_signed, 1);                \
  }                                                                                                            \
  static inline int pgas_##name##_test(type* address, int comparison, type value) {                            \
    return pgas_compare_bytes(address, comparison, (uint64_t)value, sizeof(type), is_signed, 0);               \
  }                                                                                                            \
  PGAS_DEFINE_COMPARING_MANY(name, type, is_signed, , type value, &value, 0)                                   \
  PGAS_DEFINE_COMPARING_MANY(name, type, is_signed, _vector, const type* values, values, 1)
#define PGAS_DEFINE_COMPARING_MANY(name, type, is_signed, suffix, parameter, values_at, has_each)                      \
  static inline void pgas_##name##_wait_until_all##suffix(type* addresses, size_t count, const int* status,            \
                                                          int comparison, parameter) {                                 \
    (void)pgas_compare_many_bytes(addresses, count, status, comparison, values_at, has_each, sizeof(type), is_signed,  \
                                  NULL, 0, 1);                                                                         \
  }                                                                                                                    \
  static inline size_t pgas_##name##_wait_until_any##suffix(type* addresses, size_t count, const int* status,          \
                                                            int comparison, parameter) {                               \
    size_t found;                                                                                                      \
    return pgas_compare_many_bytes(addresses, count, status, comparison, values_at, has_each, sizeof(type), is_signed, \
                                   &found, 1, 1)                                                                       \
               ? found                                                                                                 \
               : SIZE_MAX;                                                                                             \
  }                                                                                                                    \
  static inline size_t pgas_##name##_wait_until_some##suffix(type* addresses, size_t count, size_t* indices,           \
                                                             const int* status, int comparison, parameter) {           \
    return pgas_compare_many_bytes(addresses, count, status, comparison, values_at, has_each, sizeof(type), is_signed, \
                                   indices, count, 1);                                                                 \
  }                                                                                                                    \
  static inline int pgas_##name##_test_all##suffix(type* addresses, size_t count, const int* status, int comparison,   \
                                                   parameter) {                                                        \
    return pgas_compare_many_bytes(addresses, count, status, comparison, values_at, has_each, sizeof(type), is_signed, \
                                   NULL, 0, 0) == 0;                                                                   \
  }                                                                                                                    \
  static inline size_t pgas_##name##_test_any##suffix(type* addresses, size_t count, const int* status,                \
                                                      int comparison, parameter) {                                     \
    size_t found;                                                                                                      \
    return pgas_compare_many_bytes(addresses, count, status, comparison, values_at, has_each, sizeof(type), is_signed, \
                                   &found, 1, 0)                                                                       \
               ? found                                                                                                 \
               : SIZE_MAX;                                                                                             \
  }                                                                                                                    \
  static inline size_t pgas_##name##_test_some##suffix(type* addresses, size_t count, size_t* indices,                 \
                                                       const int* status, int comparison, parameter) {                 \
    return pgas_compare_many_bytes(addresses, count, status, comparison, values_at, has_each, sizeof(type), is_signed, \
                                   indices, count, 0);                                                                 \
  }
PGAS_FOR_ATOMIC_TYPES(PGAS_DEFINE_ATOMIC)

/* Of float and double: pgas_<type>_atomic_fetch, _set, _swap, _fetch_nbi and _swap_nbi. */
#define PGAS_FOR_REAL_TYPES(X) X(float, float, uint32_t) X(double, double, uint64_t)
#define PGAS_DEFINE_REAL(name, type, word)                                                                        \
  static inline uint64_t pgas_##name##_as_word(type value) {                                                      \
    word bits;                                                                                                    \
    memcpy(&bits, &value, sizeof bits);                                                                           \
    return bits;                                                                                                  \
  }                                                                                                               \
  static inline type pgas_##name##_of_word(uint64_t given) {                                                      \
    const word bits = (word)given;                                                                                \
    type value;                                                                                                   \
    memcpy(&value, &bits, sizeof value);                                                                          \
    return value;                                                                                                 \
  }                                                                                                               \
  static inline type pgas_##name##_atomic_fetch(const type* source, int pe) {                                     \
    return pgas_##name##_of_word(pgas_atomic_bytes(PGAS_OPERATION_FETCH, (void*)source, 0, 0, sizeof(type), pe)); \
  }                                                                                                               \
  static inline type pgas_##name##_atomic_swap(type* dest, type value, int pe) {                                  \
    return pgas_##name##_of_word(                                                                                 \
        pgas_atomic_bytes(PGAS_OPERATION_SET, dest, pgas_##name##_as_word(value), 0, sizeof(type), pe));          \
  }                                                                                                               \
  static inline void pgas_##name##_atomic_set(type* dest, type value, int pe) {                                   \
    (void)pgas_##name##_atomic_swap(dest, value, pe);                                                             \
  }                                                                                                               \
  static inline void pgas_##name##_atomic_fetch_nbi(type* fetch, const type* source, int pe) {                    \
    *fetch = pgas_##name##_atomic_fetch(source, pe);                                                              \
  }                                                                                                               \
  static inline void pgas_##name##_atomic_swap_nbi(type* fetch, type* dest, type value, int pe) {                 \
    *fetch = pgas_##name##_atomic_swap(dest, value, pe);                                                          \
  }
PGAS_FOR_REAL_TYPES(PGAS_DEFINE_REAL)

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
