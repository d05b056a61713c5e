// Waiting for and testing several values, checked for one type.
#pragma once

#include <spillway/pgas.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "checked_program.h"

// Symmetric memory for `count` elements.
template <typename T>
T* symmetric(size_t count) {
  return static_cast<T*>(pgas_calloc(count, sizeof(T)));
}

template <typename T, typename Value>
struct CallsOnMany {
  void (*wait_until_all)(T*, size_t, const int*, int, Value);
  size_t (*wait_until_any)(T*, size_t, const int*, int, Value);
  size_t (*wait_until_some)(T*, size_t, size_t*, const int*, int, Value);
  int (*test_all)(T*, size_t, const int*, int, Value);
  size_t (*test_any)(T*, size_t, const int*, int, Value);
  size_t (*test_some)(T*, size_t, size_t*, const int*, int, Value);
};
template <typename T>
using ManyCalls = CallsOnMany<T, T>;
template <typename T>
using ManyVectorCalls = CallsOnMany<T, const T*>;

template <typename T>
void check_many(CheckedProgram& program, const ManyCalls<T>& call, const ManyVectorCalls<T>& vector_call) {
  constexpr size_t kValues = 4;
  T* const values = symmetric<T>(kValues);
  size_t found[kValues] = {};
  const int excluded[kValues] = {0, 1, 0, 0};
  const int all_excluded[kValues] = {1, 1, 1, 1};
  const T wanted[kValues] = {1, 2, 3, 4};
  for (size_t i = 0; i < kValues; ++i) values[i] = static_cast<T>(i == 2 ? -1 : 0);
  program.equal(call.test_all(values, kValues, nullptr, PGAS_CMP_LT, 1), std::is_signed_v<T> ? 1 : 0);
  program.equal(call.test_all(values, 2, nullptr, PGAS_CMP_EQ, 0), 1);
  program.equal(call.test_any(values, kValues, nullptr, PGAS_CMP_NE, 0), 2u);
  program.equal(call.test_any(values, kValues, nullptr, PGAS_CMP_EQ, 5), SIZE_MAX);
  program.equal(call.test_some(values, kValues, found, excluded, PGAS_CMP_EQ, 0), 2u);
  program.holds(found[0] == 0 && found[1] == 3);
  // Nothing to wait for.
  call.wait_until_all(values, kValues, all_excluded, PGAS_CMP_EQ, 5);
  call.wait_until_all(values, 0, nullptr, PGAS_CMP_EQ, 5);
  program.equal(call.wait_until_any(values, kValues, all_excluded, PGAS_CMP_EQ, 5), SIZE_MAX);
  program.equal(call.wait_until_some(values, 0, found, nullptr, PGAS_CMP_EQ, 5), 0u);
  program.equal(call.test_all(values, kValues, all_excluded, PGAS_CMP_EQ, 5), 1);
  values[2] = 0;
  pgas_barrier_all();

  const auto put = [&](size_t i) {
    pgas_barrier_all();  // after the checks of what was there
    pgas_putmem(values + i, wanted + i, sizeof(T), program.right());
    pgas_quiet();
  };
  put(1);
  program.equal(call.wait_until_any(values, kValues, nullptr, PGAS_CMP_NE, 0), 1u);
  program.equal(vector_call.test_any(values, kValues, nullptr, PGAS_CMP_EQ, wanted), 1u);
  program.equal(vector_call.test_any(values, kValues, excluded, PGAS_CMP_EQ, wanted), SIZE_MAX);
  program.equal(vector_call.test_all(values, kValues, nullptr, PGAS_CMP_EQ, wanted), 0);
  put(3);
  program.equal(vector_call.wait_until_any(values, kValues, excluded, PGAS_CMP_EQ, wanted), 3u);
  program.equal(vector_call.test_some(values, kValues, found, nullptr, PGAS_CMP_EQ, wanted), 2u);
  program.holds(found[0] == 1 && found[1] == 3);
  put(0);
  program.holds(call.wait_until_some(values, 3, found, excluded, PGAS_CMP_NE, 0) == 1 && found[0] == 0);
  program.holds(vector_call.wait_until_some(values, 1, found, nullptr, PGAS_CMP_GE, wanted) == 1 && found[0] == 0);
  put(2);
  call.wait_until_all(values, kValues, nullptr, PGAS_CMP_GT, 0);
  vector_call.wait_until_all(values, kValues, nullptr, PGAS_CMP_EQ, wanted);
  program.equal(call.test_all(values, kValues, nullptr, PGAS_CMP_GT, 0), 1);
  program.equal(vector_call.test_all(values, kValues, nullptr, PGAS_CMP_EQ, wanted), 1);
  pgas_barrier_all();
  pgas_free(values);
}
