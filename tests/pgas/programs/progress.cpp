// progress PREFIX: OpenSHMEM's rule of progress. What PE 0 does to the last PE is over while that computes, and a
// signal that it has begun to give is given while it computes itself: who computes makes no call of MPI or of this
// library until the other one has made the next file PREFIX1, PREFIX2, ...
#include <spillway/pgas.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "checked_program.h"

namespace {

constexpr size_t kCount = size_t{2} << 20;
constexpr std::chrono::seconds kPatience{20};

class Meetings {
 public:
  Meetings(CheckedProgram& program, std::string prefix) : program_(program), prefix_(std::move(prefix)) {}

  // One computes, looking for the file, which the other one makes when `work()` is done.
  template <typename Work>
  void compute_while(int computing, int working, Work work) {
    const std::string name = prefix_ + std::to_string(++count_);
    if (program_.rank() == computing) program_.holds(computes_until(name));
    if (program_.rank() == working) {
      work();
      std::FILE* const made = std::fopen(name.c_str(), "w");
      program_.holds(made != nullptr && std::fclose(made) == 0);
    }
    pgas_barrier_all();
  }

 private:
  static bool computes_until(const std::string& name) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (access(name.c_str(), F_OK) != 0)
      if (std::chrono::steady_clock::now() > end) return false;
    return true;
  }

  CheckedProgram& program_;
  std::string prefix_;
  int count_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  CheckedProgram program(argc, argv);
  program.holds(level == MPI_THREAD_MULTIPLE);  // else there is no thread
  pgas_init();
  const int target = program.size() - 1;
  int* const data = static_cast<int*>(pgas_calloc(kCount, sizeof(int)));
  uint64_t* const words = static_cast<uint64_t*>(pgas_calloc(2, sizeof(uint64_t)));
  const std::vector<int> own = patterned(0, 1, kCount);
  std::vector<int> got(kCount);
  Meetings meetings(program, argv[1]);

  meetings.compute_while(target, 0, [&] {
    pgas_uint64_p(words, 5, target);
    pgas_quiet();
  });
  program.equal(words[0], program.rank() == target ? 5U : 0U);
  meetings.compute_while(target, 0, [&] {
    pgas_int_put(data, own.data(), kCount, target);
    pgas_quiet();
  });
  program.equal(data[kCount - 1], program.rank() == target ? own[kCount - 1] : 0);
  meetings.compute_while(target, 0, [&] { pgas_int_get(got.data(), data, kCount, target); });
  if (program.rank() == 0) program.holds(got == own);
  meetings.compute_while(target, 0, [&] { program.equal(pgas_uint64_atomic_fetch_add(words, 2, target), 5U); });
  meetings.compute_while(target, 0, [&] {
    const uint64_t handle = pgas_putmem_signal_begin(data, own.data(), sizeof(int), words, 9, PGAS_SIGNAL_SET, target);
    while (pgas_put_is_complete(handle) == 0) continue;
  });

  pgas_int_put_signal_nbi(data, own.data(), program.rank() == 0 ? kCount : 0, words + 1, 1, PGAS_SIGNAL_ADD, target);
  meetings.compute_while(0, target, [&] {
    program.equal(pgas_signal_wait_until(words + 1, PGAS_CMP_EQ, static_cast<uint64_t>(program.size())),
                  program.size());
    program.equal(data[kCount - 1], own[kCount - 1]);
  });
  pgas_free(words);
  pgas_free(data);
  pgas_finalize();
  return program.finish();
}
