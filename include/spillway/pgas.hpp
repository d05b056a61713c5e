// One-sided communication in C++: the functions of pgas.h as templates, and symmetric memory as objects. Header only,
// over the C interface, whose words, threads and errors are the same (C++20).
//
// Values that are put and got are trivially copyable; numbers that are atomic, compared or waited for are integers, or
// enumerations of such, of 4 or 8 bytes. `pe` is always the other side, and counts are elements.
#ifndef SPILLWAY_PGAS_HPP
#define SPILLWAY_PGAS_HPP

#include <spillway/pgas.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace spillway::pgas {

template <typename T>
concept Copyable = std::is_trivially_copyable_v<T>;

template <typename T>
concept Atomic = (std::is_integral_v<T> || std::is_enum_v<T>)&&(sizeof(T) == 4 || sizeof(T) == 8);

enum class Comparison {
  kEqual = PGAS_CMP_EQ,
  kNotEqual = PGAS_CMP_NE,
  kGreater = PGAS_CMP_GT,
  kGreaterOrEqual = PGAS_CMP_GE,
  kLess = PGAS_CMP_LT,
  kLessOrEqual = PGAS_CMP_LE
};

enum class SignalOperation { kSet = PGAS_SIGNAL_SET, kAdd = PGAS_SIGNAL_ADD };

// pgas_init() and pgas_finalize(). An exception that leaves its scope ends the job with status 1: the other PEs would
// wait for this one for ever.
class Program {
 public:
  Program() { pgas_init(); }
  ~Program() {
    if (std::uncaught_exceptions() > exceptions_) {
      std::fprintf(stderr,
                   "pgas: PE %d of %d leaves by an exception, and others may wait for it\n"
                   "  Remedy: catch it where it is thrown, say what it is, and end the job with pgas_global_exit()\n",
                   pe(), pe_count());
      pgas_global_exit(1);
    }
    pgas_finalize();
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] int pe() const { return pgas_my_pe(); }
  [[nodiscard]] int pe_count() const { return pgas_n_pes(); }

 private:
  int exceptions_ = std::uncaught_exceptions();
};

// `count` elements in each PE, which are zeros; this PE's are used like an array's. Constructors, destructors and
// assignments of one that has memory are collective: all PEs make and destroy the same ones in the same order. One that
// is destroyed by an exception is not freed, as only one PE may have it.
template <Copyable T>
class SymmetricArray {
  static_assert(alignof(T) <= 4096);

 public:
  SymmetricArray() = default;
  // Throws std::length_error, in all PEs, where the heaps have no room.
  explicit SymmetricArray(size_t count) : count_(count) {
    if (count == 0) return;
    const bool is_too_large = count > SIZE_MAX / sizeof(T);
    data_ = static_cast<T*>(pgas_align(alignof(T) < 16 ? 16 : alignof(T), is_too_large ? SIZE_MAX : count * sizeof(T)));
    if (data_ == nullptr)
      throw std::length_error("the symmetric heap has no room for " + std::to_string(count) + " elements of " +
                              std::to_string(sizeof(T)) + " bytes\n  Remedy: set " PGAS_SYMMETRIC_SIZE " to more");
    __builtin_memset(static_cast<void*>(data_), 0, count * sizeof(T));
    pgas_sync_all();  // before others write
  }
  ~SymmetricArray() {
    if (std::uncaught_exceptions() == exceptions_) pgas_free(data_);
  }
  SymmetricArray(SymmetricArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  SymmetricArray& operator=(SymmetricArray&& other) noexcept {
    if (this == &other) return *this;
    pgas_free(data_);
    data_ = std::exchange(other.data_, nullptr);
    count_ = std::exchange(other.count_, 0);
    return *this;
  }

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] size_t size() const { return count_; }
  [[nodiscard]] T* begin() const { return data_; }
  [[nodiscard]] T* end() const { return data_ + count_; }
  T& operator[](size_t index) const { return data_[index]; }
  [[nodiscard]] std::span<T> span() const { return {data_, count_}; }

 private:
  T* data_ = nullptr;
  size_t count_ = 0;
  int exceptions_ = std::uncaught_exceptions();
};

// Where this process may load and store another PE's; a null pointer where that is on another node.
template <Copyable T>
[[nodiscard]] T* direct(T* symmetric, int pe) {
  return static_cast<T*>(pgas_ptr(symmetric, pe));
}

template <Copyable T>
void put(T* dest, std::type_identity_t<std::span<const T>> source, int pe) {
  pgas_putmem(dest, source.data(), source.size_bytes(), pe);
}
// `source` stays untouched until quiet().
template <Copyable T>
void put_nbi(T* dest, std::type_identity_t<std::span<const T>> source, int pe) {
  pgas_putmem_nbi(dest, source.data(), source.size_bytes(), pe);
}
// One element.
template <Copyable T>
void put(T* dest, const std::type_identity_t<T>& value, int pe) {
  pgas_putmem(dest, &value, sizeof value, pe);
}

// As many as `dest` has.
template <Copyable T>
void get(std::type_identity_t<std::span<T>> dest, const T* source, int pe) {
  pgas_getmem(dest.data(), source, dest.size_bytes(), pe);
}
// `dest` has them after quiet().
template <Copyable T>
void get_nbi(std::type_identity_t<std::span<T>> dest, const T* source, int pe) {
  pgas_getmem_nbi(dest.data(), source, dest.size_bytes(), pe);
}
// One element.
template <Copyable T>
[[nodiscard]] T get(const T* source, int pe) {
  std::remove_const_t<T> value;
  pgas_getmem(&value, source, sizeof value, pe);
  return value;
}

// Who sees the signal sees the data.
template <Copyable T>
void put_signal(T* dest, std::type_identity_t<std::span<const T>> source, uint64_t* signal, uint64_t value,
                SignalOperation operation, int pe) {
  pgas_putmem_signal(dest, source.data(), source.size_bytes(), signal, value, static_cast<int>(operation), pe);
}
template <Copyable T>
void put_signal_nbi(T* dest, std::type_identity_t<std::span<const T>> source, uint64_t* signal, uint64_t value,
                    SignalOperation operation, int pe) {
  pgas_putmem_signal_nbi(dest, source.data(), source.size_bytes(), signal, value, static_cast<int>(operation), pe);
}
// As put_signal_nbi; `source` stays untouched until put_is_complete() of what it returns.
template <Copyable T>
[[nodiscard]] uint64_t put_signal_begin(T* dest, std::type_identity_t<std::span<const T>> source, uint64_t* signal,
                                        uint64_t value, SignalOperation operation, int pe) {
  return pgas_putmem_signal_begin(dest, source.data(), source.size_bytes(), signal, value, static_cast<int>(operation),
                                  pe);
}
[[nodiscard]] inline bool put_is_complete(uint64_t put) { return pgas_put_is_complete(put) != 0; }
[[nodiscard]] inline uint64_t signal_fetch(const uint64_t* signal) { return pgas_signal_fetch(signal); }
// Returns the value that compares so.
inline uint64_t signal_wait_until(uint64_t* signal, Comparison comparison, uint64_t value) {
  return pgas_signal_wait_until(signal, static_cast<int>(comparison), value);
}

namespace detail {

// Extended to 64 bits as the type has it.
template <Atomic T>
uint64_t widened(T value) {
  return static_cast<uint64_t>(value);
}

template <Atomic T>
T atomic(pgas_operation operation, T* address, T operand, T expected, int pe) {
  return static_cast<T>(pgas_atomic_bytes(operation, address, widened(operand), widened(expected), sizeof(T), pe));
}

template <typename T>
constexpr bool is_signed() {
  if constexpr (std::is_enum_v<T>)
    return std::is_signed_v<std::underlying_type_t<T>>;
  else
    return std::is_signed_v<T>;
}

template <Atomic T>
bool compare(const T* address, Comparison comparison, T value, bool waits) {
  return pgas_compare_bytes(address, static_cast<int>(comparison), widened(value), sizeof(T), is_signed<T>(), waits) !=
         0;
}

}  // namespace detail

// Atomic with each other and with signals, whichever PE does them. Those that change a number return the one before.
template <Atomic T>
[[nodiscard]] T atomic_fetch(const T* source, int pe) {
  return detail::atomic(PGAS_OPERATION_FETCH, const_cast<T*>(source), T{}, T{}, pe);
}
template <Atomic T>
void atomic_set(T* dest, std::type_identity_t<T> value, int pe) {
  detail::atomic(PGAS_OPERATION_SET, dest, value, T{}, pe);
}
template <Atomic T>
T atomic_swap(T* dest, std::type_identity_t<T> value, int pe) {
  return detail::atomic(PGAS_OPERATION_SET, dest, value, T{}, pe);
}
template <Atomic T>
T atomic_compare_swap(T* dest, std::type_identity_t<T> expected, std::type_identity_t<T> value, int pe) {
  return detail::atomic(PGAS_OPERATION_COMPARE_SWAP, dest, value, expected, pe);
}
template <Atomic T>
T atomic_fetch_add(T* dest, std::type_identity_t<T> value, int pe) {
  static_assert(std::is_integral_v<T>);
  return detail::atomic(PGAS_OPERATION_ADD, dest, value, T{}, pe);
}
template <Atomic T>
T atomic_fetch_and(T* dest, std::type_identity_t<T> value, int pe) {
  return detail::atomic(PGAS_OPERATION_AND, dest, value, T{}, pe);
}
template <Atomic T>
T atomic_fetch_or(T* dest, std::type_identity_t<T> value, int pe) {
  return detail::atomic(PGAS_OPERATION_OR, dest, value, T{}, pe);
}
template <Atomic T>
T atomic_fetch_xor(T* dest, std::type_identity_t<T> value, int pe) {
  return detail::atomic(PGAS_OPERATION_XOR, dest, value, T{}, pe);
}

// Of this PE's memory.
template <Atomic T>
void wait_until(const T* address, Comparison comparison, std::type_identity_t<T> value) {
  detail::compare(address, comparison, value, true);
}
template <Atomic T>
[[nodiscard]] bool test(const T* address, Comparison comparison, std::type_identity_t<T> value) {
  return detail::compare(address, comparison, value, false);
}

inline void fence() { pgas_fence(); }
inline void quiet() { pgas_quiet(); }
inline void barrier_all() { pgas_barrier_all(); }
inline void sync_all() { pgas_sync_all(); }

}  // namespace spillway::pgas

#endif
