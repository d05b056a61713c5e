// `early_ends strict`: nonblocking and persistent reductions whose results a rank needs nothing of, or not of those who
// come later: they end at it although the others have not begun. MPI promises that of no reduction; Spillway does it
// where nothing is owed to the rank.
#include <functional>

#include "checked_program.h"

namespace {

constexpr int kFewest = 3, kMost = 5000;  // in the envelope and in the store

using Begin = std::function<void(const int* in, int* out, int count, MPI_Request*)>;

// One rank begins after another, each when the one before it has ended the operation.
void one_after_another(CheckedProgram& program, int count, const Begin& begin, const std::function<int(int)>& wanted) {
  const int rank = program.rank(), size = program.size();
  std::vector<int> in(static_cast<size_t>(count), rank + 1), out(in.size(), -1);
  if (rank > 0) MPI_Recv(nullptr, 0, MPI_INT, rank - 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Request request = MPI_REQUEST_NULL;
  begin(in.data(), out.data(), count, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  program.holds(out == std::vector<int>(in.size(), wanted(rank)));
  in.assign(in.size(), -1);  // the rank's own again
  if (rank + 1 < size) MPI_Send(nullptr, 0, MPI_INT, rank + 1, 3, MPI_COMM_WORLD);
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
}

int sum_of(int ranks) { return ranks * (ranks + 1) / 2; }

void reductions(CheckedProgram& program, int count, MPI_Comm comm) {
  const int size = program.size(), root = size - 1;
  const auto at_root = [&](int rank) { return rank == root ? sum_of(size) : -1; };
  const auto prefix = [](int rank) { return sum_of(rank + 1); };
  const auto prefix_before = [](int rank) { return rank == 0 ? -1 : sum_of(rank); };
  for (int round = 0; round < 3; ++round) {
    const auto ireduce = [&](const int* in, int* out, int length, MPI_Request* request) {
      MPI_Ireduce(in, out, length, MPI_INT, MPI_SUM, root, comm, request);
    };
    const auto iscan = [&](const int* in, int* out, int length, MPI_Request* request) {
      MPI_Iscan(in, out, length, MPI_INT, MPI_SUM, comm, request);
    };
    const auto iexscan = [&](const int* in, int* out, int length, MPI_Request* request) {
      MPI_Iexscan(in, out, length, MPI_INT, MPI_SUM, comm, request);
    };
    one_after_another(program, count, ireduce, at_root);
    one_after_another(program, count, iscan, prefix);
    one_after_another(program, count, iexscan, prefix_before);
  }
#ifdef SPILLWAY_TEST_HAS_MPI_4
  const auto reduce_init = [&](const int* in, int* out, int length, MPI_Request* request) {
    MPI_Reduce_init(in, out, length, MPI_INT, MPI_SUM, root, comm, MPI_INFO_NULL, request);
    MPI_Start(request);
  };
  const auto scan_init = [&](const int* in, int* out, int length, MPI_Request* request) {
    MPI_Scan_init(in, out, length, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, request);
    MPI_Start(request);
  };
  one_after_another(program, count, reduce_init, at_root);
  one_after_another(program, count, scan_init, prefix);
#endif
}

// Ahead of the others, who take no news meanwhile where each waits until the one before it has ended. Each operation
// has another sum.
void far_ahead(CheckedProgram& program, MPI_Comm comm, int operations, bool waits_for_turn) {
  const int rank = program.rank(), size = program.size(), root = size - 1;
  if (waits_for_turn && rank > 0) MPI_Recv(nullptr, 0, MPI_INT, rank - 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < operations; ++i) {
    int mine = rank + i, sum = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ireduce(&mine, &sum, 1, MPI_INT, MPI_SUM, root, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    program.equal(sum, rank == root ? size * (size - 1) / 2 + size * i : -1);
  }
  if (waits_for_turn && rank + 1 < size) MPI_Send(nullptr, 0, MPI_INT, rank + 1, 3, MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  MPI_Comm comm = MPI_COMM_NULL;  // whose end comes before what nobody wants
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int count : {kFewest, kMost}) reductions(program, count, comm);
  far_ahead(program, comm, 200, true);
  far_ahead(program, comm, 3000, false);
  MPI_Comm_free(&comm);
  return program.finish();
}
