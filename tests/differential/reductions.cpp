// Reductions, with MPI's operations and with the program's own.
#include <algorithm>
#include <cstring>

#include "collective_call.h"

namespace {

// Two by two matrices of numbers modulo 2^32: their product depends on the order, but not on the brackets.
using Matrix = uint32_t[4];

void multiply_matrices(void* in, void* in_out, int* length, MPI_Datatype*) {
  auto* left = static_cast<Matrix*>(in);
  auto* right = static_cast<Matrix*>(in_out);
  for (int i = 0; i < *length; ++i) {
    const uint32_t* a = left[i];
    uint32_t* b = right[i];
    const Matrix product = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
                            a[2] * b[1] + a[3] * b[3]};
    memcpy(b, product, sizeof product);
  }
}

void add_up(void* in, void* in_out, int* length, MPI_Datatype*) {
  for (int i = 0; i < *length; ++i) static_cast<uint32_t*>(in_out)[i] += static_cast<uint32_t*>(in)[i];
}

// What is reduced, and how.
struct Kind {
  Kind(CollectiveCall& call, Random& random) : choice(random.below(9)) {
    static const std::vector<MPI_Op> ops = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_BXOR, MPI_BAND, MPI_LOR};
    op = random.among(ops);
    if (choice == 0 || choice == 1) op = call.op(multiply_matrices, false);
    if (choice == 2) op = call.op(add_up, true);
    if (choice == 3) op = random.chance(50) ? MPI_MAXLOC : MPI_MINLOC;
    // Open MPI 4.1 adds short integers with saturation, but not the last few of a vector.
    if (choice == 6) op = random.chance(50) ? MPI_MAX : MPI_BXOR;
    if (choice == 4) op = random.chance(50) ? MPI_SUM : MPI_MAX;
  }

  RandomType type() const {
    switch (choice) {
      case 0:
      case 1: {
        // Always the same arrangement: the operation knows it.
        return RandomType::contiguous(MPI_UINT32_T, 4);
      }
      case 2:
        return RandomType(MPI_UINT32_T);
      case 3:
        return RandomType(MPI_2INT);
      case 4:
        return RandomType(MPI_DOUBLE);
      case 5:
        return RandomType(MPI_UINT64_T);
      case 6:
        return RandomType(MPI_UINT8_T);
      default:
        return RandomType(MPI_UINT32_T);
    }
  }

  Items& filled(CollectiveCall& call, int64_t count) const {
    Items& made = call.items_of(type(), count);
    if (choice == 4) made.block.fill_with_small_doubles(call.own().next());
    return made;
  }

  int choice;
  MPI_Op op;
};

void all_reduce(CollectiveCall& call, const Kind& kind, int count, bool is_in_place) {
  Items& out = kind.filled(call, count);
  Items& in = kind.filled(call, count);
  call.result(in);
  call.run(FORMS(MPI_Allreduce, MPI_Iallreduce), is_in_place ? MPI_IN_PLACE : out.block.data(), in.block.data(), count,
           in.type.handle(), kind.op, call.communicator().handle);
}

void reduce(CollectiveCall& call, Random& random, const Kind& kind, int count, bool is_in_place) {
  const Root root(random, call);
  // MPICH 4.0 reads the address MPI_IN_PLACE where vectors are long.
  is_in_place = is_in_place && root.is_here && count < 64;
  Items& out = kind.filled(call, count);
  void* in = nullptr;
  if (root.is_here) {
    Items& result = kind.filled(call, count);
    in = result.block.data();
    call.result(result);
  }
  call.run(FORMS(MPI_Reduce, MPI_Ireduce), is_in_place ? MPI_IN_PLACE : out.block.data(), in, count, out.type.handle(),
           kind.op, root.argument, call.communicator().handle);
}

void prefix(CollectiveCall& call, Random& random, const Kind& kind, int count, bool is_in_place) {
  const bool excludes_itself = random.chance(50);
  Items& out = kind.filled(call, count);
  Items& in = kind.filled(call, count);
  void* from = is_in_place ? MPI_IN_PLACE : out.block.data();
  if (excludes_itself) {
    call.run(FORMS(MPI_Exscan, MPI_Iexscan), from, in.block.data(), count, in.type.handle(), kind.op,
             call.communicator().handle);
    if (call.communicator().my_rank > 0) call.result(in);  // the first rank gets nothing
  } else {
    call.run(FORMS(MPI_Scan, MPI_Iscan), from, in.block.data(), count, in.type.handle(), kind.op,
             call.communicator().handle);
    call.result(in);
  }
}

void reduce_and_scatter(CollectiveCall& call, Random& random, const Kind& kind, int count) {
  const int size = call.communicator().size(0);
  if (random.chance(50)) {
    const int each = count / size;
    Items& out = kind.filled(call, static_cast<int64_t>(each) * size);
    Items& in = kind.filled(call, each);
    call.result(in);
    return call.run(FORMS(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block), out.block.data(), in.block.data(), each,
                    in.type.handle(), kind.op, call.communicator().handle);
  }
  std::vector<int> counts;
  int sum = 0;
  for (int i = 0; i < size; ++i) {
    counts.push_back(random.chance(20) ? 0 : random.below(2 * (count / size) + 1));
    sum += counts.back();
  }
  Items& out = kind.filled(call, sum);
  Items& in = kind.filled(call, counts[static_cast<size_t>(call.communicator().my_rank)]);
  call.result(in);
  call.run(FORMS(MPI_Reduce_scatter, MPI_Ireduce_scatter), out.block.data(), in.block.data(),
           call.numbers(counts).data(), in.type.handle(), kind.op, call.communicator().handle);
}

}  // namespace

void start_reduction(CollectiveCall& call, Random& random) {
  const Kind kind(call, random);
  const int count = call.program().message_bytes(random, 4) / 16;
  const bool is_in_place = !call.communicator().is_inter() && random.chance(30);
  call.program().announce("reduction of kind " + std::to_string(kind.choice) + ", " + std::to_string(count) + " items" +
                          (is_in_place ? ", in place" : ""));
  switch (random.below(call.communicator().is_inter() ? 2 : 4)) {
    case 0:
      return all_reduce(call, kind, count, is_in_place);
    case 1:
      return reduce(call, random, kind, count, is_in_place);
    case 2:
      return prefix(call, random, kind, count, is_in_place);
    default:
      return reduce_and_scatter(call, random, kind, count);
  }
}
