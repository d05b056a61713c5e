/* Which ranks of a communicator share a node, as BDMPI's programs ask it (nsize, nrank, lsize, lrank, rrank), and two
 * communicators that follow the nodes. Made of MPI calls alone: the same under Spillway and under a plain mpiexec.
 *
 * The first call of any of these functions is collective over MPI_COMM_WORLD; all others are local. Call
 * spillway_learn_nodes() after MPI_Init to have that behind you. They return MPI's error codes. Needs a compiler that
 * has weak symbols (GCC, Clang).
 */
#ifndef SPILLWAY_NODES_H
#define SPILLWAY_NODES_H

#include <mpi.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where the calling rank is among the ranks of a communicator (of an intercommunicator: of its local group). Nodes are
 * numbered in the order of their lowest ranks. */
struct spillway_place {
  int node_count;     /* nodes that have ranks of the communicator */
  int node;           /* number of the calling rank's node among them */
  int local_size;     /* ranks of the communicator on this node */
  int local_rank;     /* number of the calling rank among them */
  int lowest_of_node; /* lowest rank in the communicator that is on this node */
};

/* Of MPI_COMM_WORLD. One for the program, however many of its files include this. */
struct spillway_node_table {
  int is_known;
  int node_count;
  int* node_of_rank;
  MPI_Comm node;
  MPI_Comm cyclic_world;
};
__attribute__((weak)) struct spillway_node_table spillway_nodes;

static inline int spillway_number_nodes(int* lowest_of_rank, int size) {
  int rank, count = 0;
  for (rank = 0; rank < size; ++rank) {
    const int lowest = lowest_of_rank[rank];
    lowest_of_rank[rank] = lowest == rank ? count++ : lowest_of_rank[lowest];
  }
  return count;
}

/* Collective over MPI_COMM_WORLD, for the first time; then it does nothing. */
static inline int spillway_learn_nodes(void) {
  int code, rank, size, local_rank, lowest;
  struct spillway_node_table* table = &spillway_nodes;
  if (table->is_known) return MPI_SUCCESS;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  code = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &table->node);
  if (code != MPI_SUCCESS) return code;
  MPI_Comm_rank(table->node, &local_rank);
  lowest = rank;
  code = MPI_Bcast(&lowest, 1, MPI_INT, 0, table->node);
  if (code != MPI_SUCCESS) return code;
  table->node_of_rank = (int*)malloc((size_t)size * sizeof(int));
  if (table->node_of_rank == NULL) return MPI_ERR_NO_MEM;
  code = MPI_Allgather(&lowest, 1, MPI_INT, table->node_of_rank, 1, MPI_INT, MPI_COMM_WORLD);
  if (code != MPI_SUCCESS) return code;
  table->node_count = spillway_number_nodes(table->node_of_rank, size);
  code = MPI_Comm_split(MPI_COMM_WORLD, 0, local_rank * table->node_count + table->node_of_rank[rank],
                        &table->cyclic_world);
  table->is_known = code == MPI_SUCCESS;
  return code;
}

/* `first_of_node` has an entry for each node, `world_ranks` one for each of the `size` ranks of the group. */
static inline void spillway_count_places(const int* world_ranks, int size, int self, int* first_of_node,
                                         struct spillway_place* place) {
  int rank;
  const int own = spillway_nodes.node_of_rank[world_ranks[self]];
  for (rank = 0; rank < spillway_nodes.node_count; ++rank) first_of_node[rank] = -1;
  place->node_count = place->node = place->local_size = place->local_rank = 0;
  for (rank = 0; rank < size; ++rank) {
    const int node = spillway_nodes.node_of_rank[world_ranks[rank]];
    if (rank == self) place->local_rank = place->local_size;
    if (node == own) ++place->local_size;
    if (first_of_node[node] >= 0) continue;
    first_of_node[node] = rank;
    if (node == own) place->node = place->node_count;
    ++place->node_count;
  }
  place->lowest_of_node = first_of_node[own];
}

static inline int spillway_place_in_group(MPI_Group group, struct spillway_place* place) {
  int code, rank, size, self;
  MPI_Group world;
  int *ranks, *world_ranks, *first_of_node;
  MPI_Group_size(group, &size);
  MPI_Group_rank(group, &self);
  ranks = (int*)malloc((2 * (size_t)size + (size_t)spillway_nodes.node_count) * sizeof(int));
  if (ranks == NULL) return MPI_ERR_NO_MEM;
  world_ranks = ranks + size;
  first_of_node = world_ranks + size;
  for (rank = 0; rank < size; ++rank) ranks[rank] = rank;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  code = MPI_Group_translate_ranks(group, size, ranks, world, world_ranks);
  MPI_Group_free(&world);
  for (rank = 0; rank < size && code == MPI_SUCCESS; ++rank)
    if (world_ranks[rank] == MPI_UNDEFINED) code = MPI_ERR_COMM; /* with processes of another job */
  if (code == MPI_SUCCESS) spillway_count_places(world_ranks, size, self, first_of_node, place);
  free(ranks);
  return code;
}

static inline int spillway_comm_place(MPI_Comm comm, struct spillway_place* place) {
  MPI_Group group;
  int code = spillway_learn_nodes();
  if (code == MPI_SUCCESS) code = MPI_Comm_group(comm, &group);
  if (code != MPI_SUCCESS) return code;
  code = spillway_place_in_group(group, place);
  MPI_Group_free(&group);
  return code;
}

/* The ranks of MPI_COMM_WORLD on the calling rank's node. Not to be freed. */
static inline int spillway_comm_node(MPI_Comm* comm) {
  const int code = spillway_learn_nodes();
  if (code == MPI_SUCCESS) *comm = spillway_nodes.node;
  return code;
}

/* All ranks of MPI_COMM_WORLD, dealt out over the nodes: the first of each node, then the second of each, and so on.
 * Not to be freed. */
static inline int spillway_comm_cyclic_world(MPI_Comm* comm) {
  const int code = spillway_learn_nodes();
  if (code == MPI_SUCCESS) *comm = spillway_nodes.cyclic_world;
  return code;
}

static inline int spillway_comm_nsize(MPI_Comm comm, int* nsize) {
  struct spillway_place place;
  const int code = spillway_comm_place(comm, &place);
  if (code == MPI_SUCCESS) *nsize = place.node_count;
  return code;
}

static inline int spillway_comm_nrank(MPI_Comm comm, int* nrank) {
  struct spillway_place place;
  const int code = spillway_comm_place(comm, &place);
  if (code == MPI_SUCCESS) *nrank = place.node;
  return code;
}

static inline int spillway_comm_lsize(MPI_Comm comm, int* lsize) {
  struct spillway_place place;
  const int code = spillway_comm_place(comm, &place);
  if (code == MPI_SUCCESS) *lsize = place.local_size;
  return code;
}

static inline int spillway_comm_lrank(MPI_Comm comm, int* lrank) {
  struct spillway_place place;
  const int code = spillway_comm_place(comm, &place);
  if (code == MPI_SUCCESS) *lrank = place.local_rank;
  return code;
}

static inline int spillway_comm_rrank(MPI_Comm comm, int* rrank) {
  struct spillway_place place;
  const int code = spillway_comm_place(comm, &place);
  if (code == MPI_SUCCESS) *rrank = place.lowest_of_node;
  return code;
}

#ifdef __cplusplus
}
#endif

#endif
