// Reductions: every predefined operation on every datatype that it is defined for, operations of the program's own, all
// forms.
#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>

#include "checked_program.h"

namespace {

constexpr int kLength = 300;

// The contribution of a rank: small, so that no product or sum overflows.
template <typename T>
std::vector<T> contribution(int rank) {
  std::vector<T> data(kLength);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<T>(pattern(rank, 1, i) % 3 + (i % 7 == 0 ? 0 : 1));
  return data;
}

template <typename T, typename Combine>
void one_operation(CheckedProgram& program, MPI_Datatype type, MPI_Op op, Combine combine, std::source_location where) {
  std::vector<std::vector<T>> prefixes = {contribution<T>(0)};
  for (int rank = 1; rank < program.size(); ++rank) {
    std::vector<T> next = contribution<T>(rank);
    for (size_t i = 0; i < next.size(); ++i) next[i] = static_cast<T>(combine(prefixes.back()[i], next[i]));
    prefixes.push_back(next);
  }
  const std::vector<T> own = contribution<T>(program.rank()), &all = prefixes.back();
  std::vector<T> result(kLength);
  MPI_Allreduce(own.data(), result.data(), kLength, type, op, MPI_COMM_WORLD);
  program.equal(result == all, true, where);
  const int root = program.size() / 2;
  const bool is_in_place = program.rank() == root && program.is_strict();  // from which MPICH 4.0 crashes
  result = own;
  MPI_Reduce(is_in_place ? MPI_IN_PLACE : own.data(), result.data(), kLength, type, op, root, MPI_COMM_WORLD);
  if (program.rank() == root) program.equal(result == all, true, where);
  MPI_Scan(own.data(), result.data(), kLength, type, op, MPI_COMM_WORLD);
  program.equal(result == prefixes[static_cast<size_t>(program.rank())], true, where);
}

template <typename T>
void arithmetic(CheckedProgram& program, MPI_Datatype type,
                std::source_location where = std::source_location::current()) {
  one_operation<T>(
      program, type, MPI_SUM, [](T a, T b) { return a + b; }, where);
  one_operation<T>(
      program, type, MPI_PROD, [](T a, T b) { return a * b; }, where);
}

template <typename T>
void ordered(CheckedProgram& program, MPI_Datatype type, std::source_location where = std::source_location::current()) {
  arithmetic<T>(program, type, where);
  one_operation<T>(
      program, type, MPI_MAX, [](T a, T b) { return std::max(a, b); }, where);
  one_operation<T>(
      program, type, MPI_MIN, [](T a, T b) { return std::min(a, b); }, where);
}

template <typename T>
void bitwise(CheckedProgram& program, MPI_Datatype type, std::source_location where = std::source_location::current()) {
  one_operation<T>(
      program, type, MPI_BAND, [](T a, T b) { return a & b; }, where);
  one_operation<T>(
      program, type, MPI_BOR, [](T a, T b) { return a | b; }, where);
  one_operation<T>(
      program, type, MPI_BXOR, [](T a, T b) { return a ^ b; }, where);
}

template <typename T>
void logical(CheckedProgram& program, MPI_Datatype type, std::source_location where = std::source_location::current()) {
  one_operation<T>(
      program, type, MPI_LAND, [](T a, T b) { return a && b; }, where);
  one_operation<T>(
      program, type, MPI_LOR, [](T a, T b) { return a || b; }, where);
  one_operation<T>(
      program, type, MPI_LXOR, [](T a, T b) { return !a != !b; }, where);
}

template <typename T>
void integer(CheckedProgram& program, MPI_Datatype type, std::source_location where = std::source_location::current()) {
  ordered<T>(program, type, where);
  bitwise<T>(program, type, where);
  logical<T>(program, type, where);
}

void every_type(CheckedProgram& program) {
  integer<int>(program, MPI_INT);
  integer<long>(program, MPI_LONG);
  integer<short>(program, MPI_SHORT);
  integer<unsigned>(program, MPI_UNSIGNED);
  integer<unsigned short>(program, MPI_UNSIGNED_SHORT);
  integer<unsigned long>(program, MPI_UNSIGNED_LONG);
  integer<long long>(program, MPI_LONG_LONG);
  integer<unsigned long long>(program, MPI_UNSIGNED_LONG_LONG);
  integer<signed char>(program, MPI_SIGNED_CHAR);
  integer<unsigned char>(program, MPI_UNSIGNED_CHAR);
  integer<int8_t>(program, MPI_INT8_T);
  integer<int16_t>(program, MPI_INT16_T);
  integer<int32_t>(program, MPI_INT32_T);
  integer<int64_t>(program, MPI_INT64_T);
  integer<uint8_t>(program, MPI_UINT8_T);
  integer<uint16_t>(program, MPI_UINT16_T);
  integer<uint32_t>(program, MPI_UINT32_T);
  integer<uint64_t>(program, MPI_UINT64_T);
  integer<MPI_Aint>(program, MPI_AINT);
  integer<MPI_Offset>(program, MPI_OFFSET);
  integer<MPI_Count>(program, MPI_COUNT);
  ordered<float>(program, MPI_FLOAT);
  ordered<double>(program, MPI_DOUBLE);
  ordered<long double>(program, MPI_LONG_DOUBLE);
  arithmetic<std::complex<float>>(program, MPI_C_FLOAT_COMPLEX);
  arithmetic<std::complex<double>>(program, MPI_C_DOUBLE_COMPLEX);
  bitwise<unsigned char>(program, MPI_BYTE);
}

void logical_bool(CheckedProgram& program) {
  const bool own = program.rank() % 2 == 0;
  bool all = true, any = false, odd = false;
  MPI_Allreduce(&own, &all, 1, MPI_C_BOOL, MPI_LAND, MPI_COMM_WORLD);
  MPI_Allreduce(&own, &any, 1, MPI_C_BOOL, MPI_LOR, MPI_COMM_WORLD);
  MPI_Allreduce(&own, &odd, 1, MPI_C_BOOL, MPI_LXOR, MPI_COMM_WORLD);
  program.equal(all, program.size() == 1);
  program.equal(any, true);
  program.equal(odd, (program.size() + 1) / 2 % 2 == 1);
}

// The least and the greatest value with its place; of equal ones the lowest place.
template <typename Value>
void places(CheckedProgram& program, MPI_Datatype type) {
  struct Pair {
    Value value;
    int place;
  };
  Pair own[4], least[4], greatest[4];
  memset(static_cast<void*>(own), 0, sizeof own);
  const auto value_at = [&](int rank, int i) { return static_cast<Value>(i == 0 ? 5 : (rank * 7 + i * 3) % 11); };
  for (int i = 0; i < 4; ++i) {
    own[i].value = value_at(program.rank(), i);
    own[i].place = 10 + program.rank();
  }
  MPI_Allreduce(own, least, 4, type, MPI_MINLOC, MPI_COMM_WORLD);
  MPI_Allreduce(own, greatest, 4, type, MPI_MAXLOC, MPI_COMM_WORLD);
  for (int i = 0; i < 4; ++i) {
    int lowest = 0, highest = 0;
    for (int rank = 1; rank < program.size(); ++rank) {
      if (value_at(rank, i) < value_at(lowest, i)) lowest = rank;
      if (value_at(rank, i) > value_at(highest, i)) highest = rank;
    }
    program.equal(least[i].value, value_at(lowest, i));
    program.equal(least[i].place, 10 + lowest);
    program.equal(greatest[i].value, value_at(highest, i));
    program.equal(greatest[i].place, 10 + highest);
  }
}

// x -> a x + b as (a, b), modulo a prime: composing is associative, but not commutative.
struct Line {
  int64_t factor, shift;
  bool operator==(const Line&) const = default;
};
constexpr int64_t kPrime = 1000003;

Line composed(const Line& first, const Line& then) {
  return {first.factor * then.factor % kPrime, (first.shift * then.factor + then.shift) % kPrime};
}

void compose(void* in, void* inout, int* count, MPI_Datatype*) {
  auto* first = static_cast<Line*>(in);
  auto* then = static_cast<Line*>(inout);
  for (int i = 0; i < *count; ++i) then[i] = composed(first[i], then[i]);
}

void add(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

std::vector<Line> lines_of(int rank, size_t count) {
  std::vector<Line> lines(count);
  for (size_t i = 0; i < count; ++i) lines[i] = {pattern(rank, 3, i) % kPrime, pattern(rank, 4, i) % kPrime};
  return lines;
}

// Compositions of ranks [0, end).
std::vector<Line> composed_until(int end, size_t count) {
  std::vector<Line> result = lines_of(0, count);
  for (int rank = 1; rank < end; ++rank) {
    const std::vector<Line> next = lines_of(rank, count);
    for (size_t i = 0; i < count; ++i) result[i] = composed(result[i], next[i]);
  }
  return result;
}

void own_operation_in_rank_order(CheckedProgram& program, int count) {
  MPI_Op op;
  MPI_Datatype line;
  MPI_Type_contiguous(2, MPI_INT64_T, &line);
  MPI_Type_commit(&line);
  MPI_Op_create(compose, 0, &op);
  const auto length = static_cast<size_t>(count);
  const std::vector<Line> own = lines_of(program.rank(), length), all = composed_until(program.size(), length);
  std::vector<Line> result(length);
  MPI_Allreduce(own.data(), result.data(), count, line, op, MPI_COMM_WORLD);
  program.holds(result == all);
  result = own;
  MPI_Allreduce(MPI_IN_PLACE, result.data(), count, line, op, MPI_COMM_WORLD);
  program.holds(result == all);
  for (int root = 0; root < program.size(); ++root) {
    result.assign(length, Line{});
    MPI_Reduce(own.data(), result.data(), count, line, op, root, MPI_COMM_WORLD);
    if (program.rank() == root) program.holds(result == all);
  }
  MPI_Scan(own.data(), result.data(), count, line, op, MPI_COMM_WORLD);
  program.holds(result == composed_until(program.rank() + 1, length));
  result = own;
  MPI_Scan(MPI_IN_PLACE, result.data(), count, line, op, MPI_COMM_WORLD);
  program.holds(result == composed_until(program.rank() + 1, length));
  MPI_Exscan(own.data(), result.data(), count, line, op, MPI_COMM_WORLD);
  if (program.rank() > 0) program.holds(result == composed_until(program.rank(), length));
  result = own;
  MPI_Exscan(MPI_IN_PLACE, result.data(), count, line, op, MPI_COMM_WORLD);
  if (program.rank() > 0) program.holds(result == composed_until(program.rank(), length));
  MPI_Op_free(&op);
  MPI_Type_free(&line);
}

// Rank i gets `counts[i]` elements of the result.
void reduce_scatter(CheckedProgram& program, const std::vector<int>& counts) {
  int total = 0, begin = 0;
  for (int rank = 0; rank < program.size(); ++rank) {
    if (rank == program.rank()) begin = total;
    total += counts[static_cast<size_t>(rank)];
  }
  MPI_Op op;
  MPI_Op_create(add, 1, &op);
  const std::vector<int> own(static_cast<size_t>(total), program.rank() + 1);
  const int sum = program.size() * (program.size() + 1) / 2;
  const int mine = counts[static_cast<size_t>(program.rank())];
  std::vector<int> ramp(static_cast<size_t>(total));
  for (int i = 0; i < total; ++i) ramp[static_cast<size_t>(i)] = i;
  for (MPI_Op used : {MPI_SUM, op}) {
    std::vector<int> result(static_cast<size_t>(mine) + 1, -1), wanted(static_cast<size_t>(mine), sum);
    wanted.push_back(-1);
    MPI_Reduce_scatter(own.data(), result.data(), counts.data(), MPI_INT, used, MPI_COMM_WORLD);
    program.holds(result == wanted);
    std::vector<int> in_place = ramp;
    MPI_Reduce_scatter(MPI_IN_PLACE, in_place.data(), counts.data(), MPI_INT, used, MPI_COMM_WORLD);
    for (int i = 0; i < mine; ++i) program.equal(in_place[static_cast<size_t>(i)], program.size() * (begin + i));
  }
  MPI_Op_free(&op);
}

void reduce_scatter_block(CheckedProgram& program, int count) {
  const auto length = static_cast<size_t>(count);
  std::vector<int> own(length * static_cast<size_t>(program.size()));
  for (size_t i = 0; i < own.size(); ++i) own[i] = static_cast<int>(i) + program.rank();
  std::vector<int> result(length, -1), wanted(length);
  for (size_t i = 0; i < length; ++i)
    wanted[i] =
        program.size() * (program.rank() * count + static_cast<int>(i)) + program.size() * (program.size() - 1) / 2;
  MPI_Reduce_scatter_block(own.data(), result.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  program.holds(result == wanted);
  MPI_Reduce_scatter_block(MPI_IN_PLACE, own.data(), count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  own.resize(length);
  program.holds(own == wanted);
}

// Sums that rounding makes depend on the order: the same on every rank and in every repetition, whoever comes first.
void floating_point_sums_repeat(CheckedProgram& program) {
  std::vector<double> own(1000), first(own.size()), again(own.size());
  for (size_t i = 0; i < own.size(); ++i) own[i] = 1.0 / (1 + pattern(program.rank(), 9, i)) * (i % 2 == 0 ? 1e9 : 1.0);
  MPI_Allreduce(own.data(), first.data(), 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (int round = 0; round < 5; ++round) {
    if (round % program.size() == program.rank()) MPI_Barrier(MPI_COMM_SELF);
    MPI_Allreduce(own.data(), again.data(), 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    program.equal(memcmp(first.data(), again.data(), first.size() * sizeof(double)), 0);
  }
  std::vector<double> of_root = first;
  MPI_Bcast(of_root.data(), 1000, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  program.equal(memcmp(first.data(), of_root.data(), first.size() * sizeof(double)), 0);
}

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  every_type(program);
  logical_bool(program);
  places<int>(program, MPI_2INT);
  places<float>(program, MPI_FLOAT_INT);
  places<double>(program, MPI_DOUBLE_INT);
  places<long>(program, MPI_LONG_INT);
  places<short>(program, MPI_SHORT_INT);
  places<long double>(program, MPI_LONG_DOUBLE_INT);
  for (int count : {0, 1, 6, 500, 140000}) own_operation_in_rank_order(program, count);
  const auto ranks = static_cast<size_t>(program.size());
  for (int count : {0, 1, 2000, 300000}) reduce_scatter(program, std::vector<int>(ranks, count));
  std::vector<int> irregular(ranks);
  for (size_t rank = 0; rank < ranks; ++rank) irregular[rank] = rank % 2 == 0 ? 0 : static_cast<int>(rank) * 100;
  reduce_scatter(program, irregular);
  for (int count : {0, 1, 5000}) reduce_scatter_block(program, count);
  floating_point_sums_repeat(program);
  return program.finish();
}
