// turns: PE 0 adds to a number of PE 1 and to one of PE 2 by turns, each on a node of its own, while PE 1's numbers are
// another PE's turn to change. It must come to see that, and wait until the turn is over.
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "checked_program.h"
#include "pgas/one_sided.h"

using namespace spillway::pgas;

namespace {

constexpr uint64_t kHeapBytes = 1 << 16;
constexpr uint64_t kAdds = 300;
constexpr uint64_t kMostBetweenLooks = 64;
constexpr std::chrono::seconds kPatience{2};

void set_turn(const SymmetricHeap& heap, int pe, uint64_t from, uint64_t to) {
  uint64_t before = 0;
  MPI_Compare_and_swap(&to, &from, &before, MPI_UINT64_T, pe, offsetof(Bell, turn), heap.window());
  MPI_Win_flush(pe, heap.window());
}

// The number, once nobody has changed it for long.
uint64_t last_value(OneSided& operations, uint64_t* number, int pe) {
  uint64_t last = 0;
  for (auto since = std::chrono::steady_clock::now(); std::chrono::steady_clock::now() - since < kPatience;) {
    const uint64_t value = operations.atomic(PGAS_OPERATION_FETCH, number, 0, 0, sizeof value, pe);
    operations.compare(number, PGAS_CMP_NE, value, sizeof value, false, false);  // MPI gets on with what others want
    if (value == 0 || value != last) since = std::chrono::steady_clock::now();
    last = value;
  }
  return last;
}

void run(CheckedProgram& program) {
  SymmetricHeap heap(MPI_COMM_WORLD, kHeapBytes, 1);
  OneSided operations(heap);
  auto* const number = static_cast<uint64_t*>(heap.allocate(sizeof(uint64_t), sizeof(uint64_t)));
  *number = 0;
  if (program.rank() == 1) set_turn(heap, 1, 0, 3);
  MPI_Barrier(heap.pes());
  for (uint64_t i = 0; program.rank() == 0 && i < kAdds; ++i)
    for (const int pe : {1, 2}) operations.atomic(PGAS_OPERATION_ADD, number, 1, 0, sizeof *number, pe);
  if (program.rank() == 1) {
    program.holds(last_value(operations, number, 1) < kMostBetweenLooks);
    set_turn(heap, 1, 3, 0);
  }
  MPI_Barrier(heap.pes());
  if (program.rank() != 0)
    program.equal(operations.atomic(PGAS_OPERATION_FETCH, number, 0, 0, sizeof *number, program.rank()), kAdds);
  heap.free(number);
}

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  run(program);
  return program.finish();
}
