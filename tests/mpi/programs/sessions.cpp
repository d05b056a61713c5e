// Sessions (MPI 4.0) beside MPI_Init: communicators made from a session's groups are like all others.
#include <algorithm>
#include <cstring>

#include "checked_program.h"

#ifdef SPILLWAY_TEST_HAS_MPI_4
namespace {

void works(CheckedProgram& program, MPI_Comm comm, int rank, int size) {
  int own_rank = -1, own_size = -1;
  MPI_Comm_rank(comm, &own_rank);
  MPI_Comm_size(comm, &own_size);
  program.equal(own_rank, rank);
  program.equal(own_size, size);
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int in = -1, sum = -1;
  MPI_Request requests[2];
  MPI_Irecv(&in, 1, MPI_INT, left, 1, comm, &requests[0]);
  MPI_Isend(&rank, 1, MPI_INT, right, 1, comm, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  program.equal(in, left);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  program.equal(sum, size * (size - 1) / 2);
}

// The names of its sets of processes; the standard wants these two.
void sets(CheckedProgram& program, MPI_Session session) {
  int count = 0;
  bool has_world = false, has_self = false;
  MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count);
  for (int i = 0; i < count; ++i) {
    int length = 0;
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, nullptr);
    std::string name(static_cast<size_t>(length), ' ');
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name.data());
    has_world |= strcasecmp(name.c_str(), "mpi://WORLD") == 0;
    has_self |= strcasecmp(name.c_str(), "mpi://SELF") == 0;
  }
  program.holds(has_world);
  program.holds(has_self);
}

void communicators(CheckedProgram& program, MPI_Session session) {
  MPI_Group world, self, upper;
  MPI_Comm comm;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
  MPI_Comm_create_from_group(world, "spillway.world", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  works(program, comm, program.rank(), program.size());
  // Again by the same name, as often as one likes.
  for (int i = 0; i < 3; ++i) {
    MPI_Comm again, copy;
    MPI_Comm_create_from_group(world, "spillway.world", MPI_INFO_NULL, MPI_ERRORS_RETURN, &again);
    MPI_Comm_dup(again, &copy);
    works(program, again, program.rank(), program.size());
    works(program, copy, program.rank(), program.size());
    MPI_Comm_free(&copy);
    MPI_Comm_free(&again);
  }
  MPI_Comm_free(&comm);

  MPI_Group_from_session_pset(session, "mpi://SELF", &self);
  MPI_Comm_create_from_group(self, "spillway.self", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  works(program, comm, 0, 1);
  MPI_Comm_free(&comm);
  MPI_Group_free(&self);

  // Only the upper half takes part, in the opposite order.
  const int first = program.size() / 2, members = program.size() - first;
  std::vector<int> ranks;
  for (int rank = program.size(); rank-- > first;) ranks.push_back(rank);
  MPI_Group_incl(world, members, ranks.data(), &upper);
  if (program.rank() >= first) {
    MPI_Comm_create_from_group(upper, "spillway.upper", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    works(program, comm, program.size() - 1 - program.rank(), members);
    MPI_Comm_free(&comm);
  }
  MPI_Group_free(&upper);
  MPI_Group_free(&world);
}

void twice(CheckedProgram& program) {
  for (int time = 0; time < 2; ++time) {
    MPI_Session session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    sets(program, session);
    communicators(program, session);
    MPI_Session_finalize(&session);
    program.holds(session == MPI_SESSION_NULL);
    works(program, MPI_COMM_WORLD, program.rank(), program.size());
  }
}

}  // namespace
#endif

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
#ifdef SPILLWAY_TEST_HAS_MPI_4
  twice(program);
#endif
  return program.finish();
}
