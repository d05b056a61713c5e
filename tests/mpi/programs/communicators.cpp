// Communicators of every origin: each keeps its messages and collectives to itself, knows its ranks, and may be freed
// and made again.
#include <algorithm>

#include "checked_program.h"

namespace {

// Messages and a collective within `comm`, which must have `size` members and this rank as number `rank`.
void works(CheckedProgram& program, MPI_Comm comm, int rank, int size) {
  int own_rank = -1, own_size = -1;
  MPI_Comm_rank(comm, &own_rank);
  MPI_Comm_size(comm, &own_size);
  program.equal(own_rank, rank);
  program.equal(own_size, size);
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  const int out = 1000 + rank;
  int in = -1, sum = 0;
  MPI_Status status;
  MPI_Sendrecv(&out, 1, MPI_INT, right, 3, &in, 1, MPI_INT, left, 3, comm, &status);
  program.status(status, left, 3, 1, MPI_INT);
  program.equal(in, 1000 + left);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  program.equal(sum, size * (size - 1) / 2);
}

void duplicates(CheckedProgram& program) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  works(program, comm, program.rank(), program.size());
  int result = MPI_IDENT;
  MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
  program.equal(result, MPI_CONGRUENT);
  MPI_Comm_free(&comm);
  program.holds(comm == MPI_COMM_NULL);

  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Comm_dup_with_info(MPI_COMM_SELF, info, &comm);
  MPI_Info_free(&info);
  works(program, comm, 0, 1);
  MPI_Comm_free(&comm);
}

// Several at a time, waited for in another order on each rank.
void nonblocking_duplicates(CheckedProgram& program) {
  constexpr int kCount = 3;
  MPI_Comm comms[kCount];
  MPI_Request requests[kCount];
  for (int i = 0; i < kCount; ++i) MPI_Comm_idup(MPI_COMM_WORLD, &comms[i], &requests[i]);
  for (int i = 0; i < kCount; ++i) {
    const int which = (i + program.rank()) % kCount;
    if (program.rank() % 2 == 0) {
      MPI_Wait(&requests[which], MPI_STATUS_IGNORE);
      continue;
    }
    for (int flag = 0; flag == 0;) MPI_Test(&requests[which], &flag, MPI_STATUS_IGNORE);
  }
  for (MPI_Comm& comm : comms) {
    works(program, comm, program.rank(), program.size());
    MPI_Comm_free(&comm);
  }
}

void split(CheckedProgram& program) {
  MPI_Comm comm;
  const int color = program.rank() % 2, members = (program.size() + 1 - color) / 2;
  MPI_Comm_split(MPI_COMM_WORLD, color, -program.rank(), &comm);
  works(program, comm, members - 1 - program.rank() / 2, members);
  MPI_Comm_free(&comm);

  MPI_Comm_split(MPI_COMM_WORLD, program.rank() == 0 ? MPI_UNDEFINED : 1, 0, &comm);
  if (program.rank() == 0)
    program.holds(comm == MPI_COMM_NULL);
  else
    works(program, comm, program.rank() - 1, program.size() - 1);
  if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);

  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
  works(program, comm, program.rank(), program.size());
  MPI_Comm_free(&comm);
}

// The upper half, in the opposite order; the lower half does not call MPI_Comm_create_group at all.
void from_groups(CheckedProgram& program) {
  MPI_Group world, upper;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  const int first = program.size() / 2, members = program.size() - first;
  std::vector<int> ranks;
  for (int rank = program.size(); rank-- > first;) ranks.push_back(rank);
  MPI_Group_incl(world, members, ranks.data(), &upper);
  const bool is_member = program.rank() >= first;
  const int own = program.size() - 1 - program.rank();
  MPI_Comm comm;
  MPI_Comm_create(MPI_COMM_WORLD, upper, &comm);
  program.equal(comm != MPI_COMM_NULL, is_member);
  if (is_member) {
    works(program, comm, own, members);
    MPI_Comm_free(&comm);
    for (int tag = 0; tag < 3; ++tag) {
      MPI_Comm_create_group(MPI_COMM_WORLD, upper, tag, &comm);
      works(program, comm, own, members);
      MPI_Comm_free(&comm);
    }
  }
  MPI_Group_free(&upper);
  MPI_Group_free(&world);
}

void topologies(CheckedProgram& program) {
  int dimensions[2] = {0, 0};
  const int periods[2] = {1, 0};
  MPI_Dims_create(program.size(), 2, dimensions);
  MPI_Comm grid, row;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dimensions, periods, 0, &grid);
  works(program, grid, program.rank(), program.size());
  int up = 0, down = 0, from = -1, left = 0, right = 0;
  MPI_Cart_shift(grid, 0, 1, &up, &down);
  MPI_Sendrecv(&up, 1, MPI_INT, down, 1, &from, 1, MPI_INT, up, 1, grid, MPI_STATUS_IGNORE);
  MPI_Cart_shift(grid, 1, 1, &left, &right);
  int got = -1;
  const int own = program.rank();
  MPI_Sendrecv(&own, 1, MPI_INT, right, 2, &got, 1, MPI_INT, left, 2, grid, MPI_STATUS_IGNORE);
  program.equal(got, left == MPI_PROC_NULL ? -1 : left);
  const int remains[2] = {0, 1};
  MPI_Cart_sub(grid, remains, &row);
  works(program, row, program.rank() % dimensions[1], dimensions[1]);
  MPI_Comm_free(&row);
  MPI_Comm_free(&grid);

  const int sources[1] = {program.left()}, destinations[1] = {program.right()};
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, MPI_UNWEIGHTED, 1, destinations, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &graph);
  works(program, graph, program.rank(), program.size());
  MPI_Neighbor_allgather(&own, 1, MPI_INT, &got, 1, MPI_INT, graph);
  program.equal(got, program.left());
  MPI_Comm_free(&graph);
}

// Handles are used again by the library: an old message must not meet a new communicator.
void many(CheckedProgram& program) {
  for (int i = 0; i < 12; ++i) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    int out = i, in = -1;
    MPI_Request request;
    MPI_Irecv(&in, 1, MPI_INT, program.left(), 1, comm, &request);
    MPI_Send(&out, 1, MPI_INT, program.right(), 1, comm);
    MPI_Comm_free(&comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    program.equal(in, i);
  }
  std::vector<MPI_Comm> comms(20);
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (size_t i = 0; i < comms.size(); ++i) {
    int value = program.rank() == 0 ? static_cast<int>(i) : -1;
    MPI_Bcast(&value, 1, MPI_INT, 0, comms[comms.size() - 1 - i]);
    program.equal(value, static_cast<int>(i));
  }
  // Freeing waits for nobody, so every rank may have an order of its own.
  std::rotate(comms.begin(), comms.begin() + program.rank(), comms.end());
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
}

int copies = 0, deletions = 0;

int copy_attribute(MPI_Comm, int, void*, void* value, void* copied, int* flag) {
  ++copies;
  *static_cast<void**>(copied) = value;
  *flag = 1;
  return MPI_SUCCESS;
}

int delete_attribute(MPI_Comm, int, void*, void*) {
  ++deletions;
  return MPI_SUCCESS;
}

void attributes(CheckedProgram& program) {
  int key = MPI_KEYVAL_INVALID, value = 8, flag = 0;
  void* got = nullptr;
  MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, nullptr);
  MPI_Comm comm, copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_attr(comm, key, &value);
  MPI_Comm_dup(comm, &copy);
  MPI_Comm_get_attr(copy, key, &got, &flag);
  program.equal(flag, 1);
  program.holds(got == &value);
  program.equal(copies, 1);
  MPI_Comm_free(&copy);
  MPI_Comm_delete_attr(comm, key);
  program.equal(deletions, 2);
  MPI_Comm_free(&comm);
  MPI_Comm_free_keyval(&key);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &got, &flag);
  program.equal(flag, 1);
  program.holds(*static_cast<int*>(got) >= 32767);
}

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  works(program, MPI_COMM_WORLD, program.rank(), program.size());
  works(program, MPI_COMM_SELF, 0, 1);
  duplicates(program);
  nonblocking_duplicates(program);
  split(program);
  from_groups(program);
  topologies(program);
  many(program);
  attributes(program);
  return program.finish();
}
