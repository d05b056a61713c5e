// contention ADDS: PE 0 adds to a number of its own, without a pause, until all others have added to it so often: they
// come to it, too, from other nodes, where each addition of theirs takes a way that PE 0's do not.
#include <spillway/pgas.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>

#include "checked_program.h"

namespace {

constexpr std::chrono::seconds kPatience{100};

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  pgas_init();
  const auto adds = static_cast<uint64_t>(argc > 1 ? std::atoi(argv[1]) : 1);
  const auto others = static_cast<uint64_t>(program.size() - 1);
  uint64_t* const number = static_cast<uint64_t*>(pgas_calloc(2, sizeof(uint64_t)));
  uint64_t* const ended = number + 1;
  uint64_t own = 0;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  if (program.rank() == 0) {
    for (; pgas_uint64_atomic_fetch(ended, 0) != others && std::chrono::steady_clock::now() < end; ++own)
      pgas_uint64_atomic_inc(number, 0);
    program.equal(pgas_uint64_atomic_fetch(ended, 0), others);
  } else {
    for (uint64_t i = 0; i < adds; ++i) pgas_uint64_atomic_inc(number, 0);
    pgas_uint64_atomic_inc(ended, 0);
  }
  pgas_barrier_all();
  if (program.rank() == 0) program.equal(pgas_uint64_atomic_fetch(number, 0), own + others * adds);
  pgas_finalize();
  return program.finish();
}
