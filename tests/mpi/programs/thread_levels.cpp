// thread_levels <single|funneled|serialized|multiple>: the level that MPI_Init_thread gives is one that it may give,
// MPI_Query_thread says the same, and at that level another thread makes calls.
#include <map>
#include <mutex>
#include <thread>

#include "checked_program.h"

namespace {

void exchange(CheckedProgram& program, int tag) {
  const std::vector<int> out = patterned(program.rank(), tag, 3000);
  std::vector<int> in(3000);
  MPI_Sendrecv(out.data(), 3000, MPI_INT, program.right(), tag, in.data(), 3000, MPI_INT, program.left(), tag,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  program.holds(in == patterned(program.left(), tag, 3000));
}

// Threads take turns in MPI while others compute in memory of their own.
void threads_in_turn(CheckedProgram& program) {
  std::mutex turn;
  for (int round = 0; round < 5; ++round) {
    std::thread other([&] {
      const std::lock_guard hold(turn);
      exchange(program, round);
    });
    std::vector<int> scratch(1 << 20, round);
    other.join();
    const std::lock_guard hold(turn);
    exchange(program, round + 100);
    program.equal(scratch.back(), round);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, int> levels = {{"single", MPI_THREAD_SINGLE},
                                             {"funneled", MPI_THREAD_FUNNELED},
                                             {"serialized", MPI_THREAD_SERIALIZED},
                                             {"multiple", MPI_THREAD_MULTIPLE}};
  const int required = levels.at(argc > 1 ? argv[1] : "serialized");
  int is_initialized = 1, provided = -1, asked = -1, is_main = 0, is_finalized = 1;
  MPI_Initialized(&is_initialized);
  MPI_Init_thread(&argc, &argv, required, &provided);
  CheckedProgram program;
  program.equal(is_initialized, 0);
  MPI_Initialized(&is_initialized);
  program.equal(is_initialized, 1);
  program.holds(provided >= required && provided <= MPI_THREAD_MULTIPLE);
  MPI_Query_thread(&asked);
  program.equal(asked, provided);
  MPI_Is_thread_main(&is_main);
  program.equal(is_main, 1);
  exchange(program, 1);
  if (provided >= MPI_THREAD_SERIALIZED) threads_in_turn(program);
  MPI_Finalized(&is_finalized);
  program.equal(is_finalized, 0);
  return program.finish();
}
