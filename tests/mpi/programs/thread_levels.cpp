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

// Operations whose temporary memory is large enough to be managed like the program's own, for which room is made while
// the thread is inside MPI.
void with_large_temporaries(CheckedProgram& program) {
  constexpr int kLength = 1 << 20;
  const std::vector<int> out(kLength, program.rank() + 1);
  std::vector<int> in(kLength, -1);
  const int sum = program.size() * (program.size() + 1) / 2;
  MPI_Allreduce(out.data(), in.data(), kLength, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  program.holds(in == std::vector<int>(kLength, sum));
  MPI_Scan(out.data(), in.data(), kLength, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  program.holds(in == std::vector<int>(kLength, (program.rank() + 1) * (program.rank() + 2) / 2));
  MPI_Datatype whole;
  MPI_Type_contiguous(kLength, MPI_INT, &whole);
  MPI_Type_commit(&whole);
  MPI_Op add;
  MPI_Op_create(
      [](void* from, void* to, int* count, MPI_Datatype*) {
        for (int i = 0; i < *count * kLength; ++i) static_cast<int*>(to)[i] += static_cast<int*>(from)[i];
      },
      1, &add);
  MPI_Allreduce(out.data(), in.data(), 1, whole, add, MPI_COMM_WORLD);
  program.holds(in == std::vector<int>(kLength, sum));
  MPI_Op_free(&add);
  MPI_Type_free(&whole);
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
  with_large_temporaries(program);
  if (provided >= MPI_THREAD_SERIALIZED) threads_in_turn(program);
  MPI_Finalized(&is_finalized);
  program.equal(is_finalized, 0);
  return program.finish();
}
