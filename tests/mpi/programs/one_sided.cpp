// Windows, which the MPI library carries out: its part in a transfer is done also by a rank that sleeps in an operation
// of Spillway's.
#include <algorithm>

#include "checked_program.h"

namespace {

constexpr int kLength = 20000;

// A window of this rank's own memory, or of the library's.
class Window {
 public:
  explicit Window(bool is_own_memory) : own_(is_own_memory ? kLength : 0, -1) {
    if (is_own_memory) {
      base_ = own_.data();
      MPI_Win_create(base_, kLength * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window_);
      return;
    }
    MPI_Win_allocate(kLength * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base_, &window_);
    std::fill(base_, base_ + kLength, -1);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window() { MPI_Win_free(&window_); }
  MPI_Win handle() const { return window_; }
  std::vector<int> content() const { return std::vector<int>(base_, base_ + kLength); }

 private:
  std::vector<int> own_;
  int* base_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
};

void between_fences(CheckedProgram& program, const Window& window) {
  const std::vector<int> out = patterned(program.rank(), 1, kLength);
  MPI_Win_fence(0, window.handle());
  MPI_Put(out.data(), kLength, MPI_INT, program.right(), 0, kLength, MPI_INT, window.handle());
  MPI_Win_fence(0, window.handle());
  program.holds(window.content() == patterned(program.left(), 1, kLength));
  std::vector<int> in(kLength, -1);
  MPI_Get(in.data(), kLength, MPI_INT, program.right(), 0, kLength, MPI_INT, window.handle());
  MPI_Win_fence(0, window.handle());
  program.holds(in == patterned(program.rank(), 1, kLength));
}

// One rank reaches into the memory of all others, which wait for its message.
void targets_are_asleep(CheckedProgram& program, const Window& window) {
  for (int origin = 0; origin < program.size(); ++origin) {
    int done = 0;
    if (program.rank() != origin) {
      MPI_Recv(&done, 1, MPI_INT, origin, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Win_lock(MPI_LOCK_SHARED, program.rank(), 0, window.handle());
      program.holds(window.content() == patterned(origin, program.rank(), kLength));
      MPI_Win_unlock(program.rank(), window.handle());
      MPI_Barrier(MPI_COMM_WORLD);
      continue;
    }
    for (int target = 0; target < program.size(); ++target) {
      const std::vector<int> out = patterned(origin, target, kLength);
      std::vector<int> in(kLength, -1);
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window.handle());
      MPI_Put(out.data(), kLength, MPI_INT, target, 0, kLength, MPI_INT, window.handle());
      MPI_Win_flush(target, window.handle());
      MPI_Get(in.data(), kLength, MPI_INT, target, 0, kLength, MPI_INT, window.handle());
      MPI_Win_unlock(target, window.handle());
      program.holds(in == out);
    }
    for (int target = 0; target < program.size(); ++target)
      if (target != origin) MPI_Send(&done, 1, MPI_INT, target, 2, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

void counted_by_all(CheckedProgram& program, const Window& window) {
  const int zero = 0, one = 1;
  int before = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  if (program.rank() == 0) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window.handle());
    MPI_Put(&zero, 1, MPI_INT, 0, 0, 1, MPI_INT, window.handle());
    MPI_Win_unlock(0, window.handle());
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 20; ++i) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window.handle());
    MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 0, MPI_SUM, window.handle());
    MPI_Win_unlock(0, window.handle());
    program.holds(before >= i && before < 20 * program.size());
  }
  MPI_Barrier(MPI_COMM_WORLD);
  int sum = 0;
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window.handle());
  MPI_Get(&sum, 1, MPI_INT, 0, 0, 1, MPI_INT, window.handle());
  MPI_Win_unlock(0, window.handle());
  program.equal(sum, 20 * program.size());
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  if (program.size() == 1) return program.finish();  // Open MPI 4.1 makes no window for one rank
  for (bool is_own_memory : {true, false}) {
    const Window window(is_own_memory);
    between_fences(program, window);
    targets_are_asleep(program, window);
    counted_by_all(program, window);
  }
  return program.finish();
}
