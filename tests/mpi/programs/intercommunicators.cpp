// Intercommunicators: messages and collectives between the even and the odd ranks, and their union.
#include "checked_program.h"

namespace {

// With one rank there are no two sides, and nothing to check.
struct Sides {
  MPI_Comm local;
  MPI_Comm inter;
  int rank;  // in its side
  int local_size;
  int remote_size;
  bool is_even;

  explicit Sides(const CheckedProgram& program) {
    is_even = program.rank() % 2 == 0;
    MPI_Comm_split(MPI_COMM_WORLD, is_even ? 0 : 1, program.rank(), &local);
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, is_even ? 1 : 0, 12, &inter);
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_size(inter, &local_size);
    MPI_Comm_remote_size(inter, &remote_size);
  }

  void free() {
    MPI_Comm_free(&inter);
    MPI_Comm_free(&local);
  }
};

void messages(CheckedProgram& program, const Sides& sides, MPI_Comm inter) {
  const int own = 100 * (sides.is_even ? 1 : 2) + sides.rank;
  std::vector<MPI_Request> requests(static_cast<size_t>(sides.remote_size));
  for (int peer = 0; peer < sides.remote_size; ++peer)
    MPI_Issend(&own, 1, MPI_INT, peer, 5, inter, &requests[static_cast<size_t>(peer)]);
  std::vector<int> seen(static_cast<size_t>(sides.remote_size), 0);
  for (int i = 0; i < sides.remote_size; ++i) {
    MPI_Status status;
    int in = -1;
    MPI_Probe(MPI_ANY_SOURCE, 5, inter, &status);
    MPI_Recv(&in, 1, MPI_INT, status.MPI_SOURCE, MPI_ANY_TAG, inter, &status);
    program.equal(in, 100 * (sides.is_even ? 2 : 1) + status.MPI_SOURCE);
    ++seen[static_cast<size_t>(status.MPI_SOURCE)];
  }
  program.holds(seen == std::vector<int>(seen.size(), 1));
  MPI_Waitall(sides.remote_size, requests.data(), MPI_STATUSES_IGNORE);
}

void collectives(CheckedProgram& program, const Sides& sides) {
  MPI_Barrier(sides.inter);
  for (const bool from_even : {true, false}) {
    const bool sends = sides.is_even == from_even;
    for (int sender = 0; sender < (sends ? sides.local_size : sides.remote_size); ++sender) {
      const bool is_sender = sends && sides.rank == sender;
      int value = is_sender ? 77 + sender : -1;
      MPI_Bcast(&value, 1, MPI_INT, is_sender ? MPI_ROOT : sends ? MPI_PROC_NULL : sender, sides.inter);
      program.equal(value, is_sender || !sends ? 77 + sender : -1);
    }
  }
  // What a reduction gives is what the other side has contributed.
  const int own = sides.is_even ? 1 : 10;
  int sum = 0;
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, sides.inter);
  program.equal(sum, sides.remote_size * (sides.is_even ? 10 : 1));
  std::vector<int> all(static_cast<size_t>(sides.remote_size), -1);
  MPI_Allgather(&sides.rank, 1, MPI_INT, all.data(), 1, MPI_INT, sides.inter);
  for (int i = 0; i < sides.remote_size; ++i) program.equal(all[static_cast<size_t>(i)], i);
  const std::vector<int> out(all.size(), program.rank());
  MPI_Alltoall(out.data(), 1, MPI_INT, all.data(), 1, MPI_INT, sides.inter);
  for (int i = 0; i < sides.remote_size; ++i)
    program.equal(all[static_cast<size_t>(i)], 2 * i + (sides.is_even ? 1 : 0));
}

void merged(CheckedProgram& program, const Sides& sides) {
  MPI_Comm both;
  MPI_Intercomm_merge(sides.inter, sides.is_even ? 0 : 1, &both);
  int rank = -1, sum = 0;
  MPI_Comm_rank(both, &rank);
  program.equal(rank, sides.is_even ? sides.rank : sides.remote_size + sides.rank);
  const int own = program.rank();
  MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, both);
  program.equal(sum, program.size() * (program.size() - 1) / 2);
  MPI_Comm_free(&both);
}

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  if (program.size() == 1) return program.finish();
  for (int round = 0; round < 3; ++round) {
    Sides sides(program);
    int is_inter = 0;
    MPI_Comm_test_inter(sides.inter, &is_inter);
    program.equal(is_inter, 1);
    messages(program, sides, sides.inter);
    MPI_Comm copy;
    MPI_Comm_dup(sides.inter, &copy);
    messages(program, sides, copy);
    MPI_Comm_free(&copy);
    collectives(program, sides);
    merged(program, sides);
    sides.free();
  }
  return program.finish();
}
