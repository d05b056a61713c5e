// Collectives among neighbours, on each kind of topology: blocking, nonblocking and persistent, with equal and with
// different counts and types.
#include <algorithm>
#include <numeric>

#include "checked_program.h"

namespace {

using Ints = std::vector<int>;

// How many elements go from one rank to another.
int count_between(int from, int to) { return (from + 2 * to) % 4 + 1; }

// What rank `from` gives to rank `to` in a round.
Ints given(int from, int to, int round) {
  Ints values(static_cast<size_t>(count_between(from, to)));
  std::iota(values.begin(), values.end(), 10000 * from + 100 * to + round);
  return values;
}

// A communicator whose ranks send to the second list and receive from the first.
struct Neighborhood {
  MPI_Comm comm;
  Ints sources, destinations;
};

// One after the other in memory.
struct Parts {
  explicit Parts(const Ints& part_counts) : counts(part_counts), places(counts.size()), offsets(counts.size()) {
    std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
    for (size_t i = 0; i < places.size(); ++i) offsets[i] = static_cast<MPI_Aint>(sizeof(int)) * places[i];
    types.assign(counts.size(), MPI_INT);
    data.assign(static_cast<size_t>(std::reduce(counts.begin(), counts.end())) + 1, -1);
  }
  void put(size_t i, const Ints& values) { std::copy(values.begin(), values.end(), data.begin() + places[i]); }
  bool has(size_t i, const Ints& values) const {
    return std::equal(values.begin(), values.end(), data.begin() + places[i]);
  }

  Ints counts, places;
  std::vector<MPI_Aint> offsets;
  std::vector<MPI_Datatype> types;
  Ints data;
};

class Exchange {
 public:
  Exchange(CheckedProgram& program, const Neighborhood& neighborhood)
      : program_(program),
        neighborhood_(neighborhood),
        rank_(program.rank()),
        out_(counts(neighborhood.destinations, [&](int to) { return count_between(rank_, to); })),
        in_(counts(neighborhood.sources, [&](int from) { return count_between(from, rank_); })),
        gathered_(counts(neighborhood.sources, [&](int from) { return count_between(from, 0); })),
        equal_out_(neighborhood.destinations.size() + 1, -1),
        equal_in_(neighborhood.sources.size() + 1, -1) {}

  void in_blocking_calls(int round) {
    fill(round);
    MPI_Neighbor_alltoallv(out_.data.data(), out_.counts.data(), out_.places.data(), MPI_INT, in_.data.data(),
                           in_.counts.data(), in_.places.data(), MPI_INT, neighborhood_.comm);
    check_different(round);
    fill(round + 1);
    MPI_Neighbor_alltoallw(out_.data.data(), out_.counts.data(), out_.offsets.data(), out_.types.data(),
                           in_.data.data(), in_.counts.data(), in_.offsets.data(), in_.types.data(),
                           neighborhood_.comm);
    check_different(round + 1);
    MPI_Neighbor_allgatherv(mine_.data(), static_cast<int>(mine_.size()), MPI_INT, gathered_.data.data(),
                            gathered_.counts.data(), gathered_.places.data(), MPI_INT, neighborhood_.comm);
    check_gathered(round + 1);
    MPI_Neighbor_alltoall(equal_out_.data(), 1, MPI_INT, equal_in_.data(), 1, MPI_INT, neighborhood_.comm);
    check_equal(round + 1);
    MPI_Neighbor_allgather(&rank_, 1, MPI_INT, equal_in_.data(), 1, MPI_INT, neighborhood_.comm);
    for (size_t i = 0; i < neighborhood_.sources.size(); ++i) program_.equal(equal_in_[i], neighborhood_.sources[i]);
  }

  void in_nonblocking_calls(int round) {
    fill(round);
    MPI_Request requests[4];
    MPI_Ineighbor_alltoallv(out_.data.data(), out_.counts.data(), out_.places.data(), MPI_INT, in_.data.data(),
                            in_.counts.data(), in_.places.data(), MPI_INT, neighborhood_.comm, &requests[0]);
    MPI_Ineighbor_allgatherv(mine_.data(), static_cast<int>(mine_.size()), MPI_INT, gathered_.data.data(),
                             gathered_.counts.data(), gathered_.places.data(), MPI_INT, neighborhood_.comm,
                             &requests[1]);
    MPI_Ineighbor_alltoall(equal_out_.data(), 1, MPI_INT, equal_in_.data(), 1, MPI_INT, neighborhood_.comm,
                           &requests[2]);
    MPI_Ibarrier(neighborhood_.comm, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    check_different(round);
    check_gathered(round);
    check_equal(round);
    fill(round + 1);
    MPI_Ineighbor_alltoallw(out_.data.data(), out_.counts.data(), out_.offsets.data(), out_.types.data(),
                            in_.data.data(), in_.counts.data(), in_.offsets.data(), in_.types.data(),
                            neighborhood_.comm, &requests[0]);
    for (int flag = 0; flag == 0;) MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    check_different(round + 1);
  }

#ifdef SPILLWAY_TEST_HAS_MPI_4
  void in_persistent_calls(int rounds) {
    constexpr int kRequests = 4;
    MPI_Request requests[kRequests];
    fill(0);
    MPI_Neighbor_alltoallv_init(out_.data.data(), out_.counts.data(), out_.places.data(), MPI_INT, in_.data.data(),
                                in_.counts.data(), in_.places.data(), MPI_INT, neighborhood_.comm, MPI_INFO_NULL,
                                &requests[0]);
    MPI_Neighbor_allgatherv_init(mine_.data(), static_cast<int>(mine_.size()), MPI_INT, gathered_.data.data(),
                                 gathered_.counts.data(), gathered_.places.data(), MPI_INT, neighborhood_.comm,
                                 MPI_INFO_NULL, &requests[1]);
    MPI_Neighbor_alltoall_init(equal_out_.data(), 1, MPI_INT, equal_in_.data(), 1, MPI_INT, neighborhood_.comm,
                               MPI_INFO_NULL, &requests[2]);
    MPI_Neighbor_allgather_init(&rank_, 1, MPI_INT, again_.data(), 1, MPI_INT, neighborhood_.comm, MPI_INFO_NULL,
                                &requests[3]);
    for (int round = 0; round < rounds; ++round) {
      fill(round);
      MPI_Startall(kRequests, requests);
      MPI_Waitall(kRequests, requests, MPI_STATUSES_IGNORE);
      check_different(round);
      check_gathered(round);
      check_equal(round);
      for (size_t i = 0; i < neighborhood_.sources.size(); ++i) program_.equal(again_[i], neighborhood_.sources[i]);
    }
    for (MPI_Request& request : requests) MPI_Request_free(&request);
  }
#endif

 private:
  template <typename Count>
  static Ints counts(const Ints& ranks, Count count) {
    Ints all(ranks.size());
    std::transform(ranks.begin(), ranks.end(), all.begin(), count);
    return all;
  }
  void fill(int round) {
    for (size_t i = 0; i < neighborhood_.destinations.size(); ++i) {
      out_.put(i, given(rank_, neighborhood_.destinations[i], round));
      equal_out_[i] = 1000 * rank_ + neighborhood_.destinations[i] + round;
    }
    const Ints values = given(rank_, 0, round);
    mine_.resize(values.size());
    std::copy(values.begin(), values.end(), mine_.begin());
    again_.assign(neighborhood_.sources.size() + 1, -1);
    std::fill(in_.data.begin(), in_.data.end(), -1);
    std::fill(gathered_.data.begin(), gathered_.data.end(), -1);
    std::fill(equal_in_.begin(), equal_in_.end(), -1);
  }
  void check_different(int round) {
    for (size_t i = 0; i < neighborhood_.sources.size(); ++i)
      program_.holds(in_.has(i, given(neighborhood_.sources[i], rank_, round)));
    program_.equal(in_.data.back(), -1);
  }
  void check_gathered(int round) {
    for (size_t i = 0; i < neighborhood_.sources.size(); ++i)
      program_.holds(gathered_.has(i, given(neighborhood_.sources[i], 0, round)));
    program_.equal(gathered_.data.back(), -1);
  }
  void check_equal(int round) {
    for (size_t i = 0; i < neighborhood_.sources.size(); ++i)
      program_.equal(equal_in_[i], 1000 * neighborhood_.sources[i] + rank_ + round);
  }

  CheckedProgram& program_;
  const Neighborhood& neighborhood_;
  int rank_;
  Parts out_, in_, gathered_;
  Ints equal_out_, equal_in_, mine_, again_;
};

void exchange(CheckedProgram& program, const Neighborhood& neighborhood) {
  Exchange exchange(program, neighborhood);
  exchange.in_blocking_calls(0);
  exchange.in_nonblocking_calls(2);
#ifdef SPILLWAY_TEST_HAS_MPI_4
  exchange.in_persistent_calls(3);
#endif
}

void ring(CheckedProgram& program) {
  const int size = program.size(), periodic = 1;
  Neighborhood neighborhood{MPI_COMM_NULL, {program.left(), program.right()}, {program.left(), program.right()}};
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &neighborhood.comm);
  int kind = MPI_UNDEFINED;
  MPI_Topo_test(neighborhood.comm, &kind);
  program.equal(kind, MPI_CART);
  // With fewer than three ranks a neighbour is met twice: what comes from which side is a matter of the order.
  if (size > 2) exchange(program, neighborhood);
  MPI_Comm_free(&neighborhood.comm);
}

// Rank 0 in the middle of all others; every rank knows the whole graph.
void star(CheckedProgram& program) {
  const int size = program.size(), leaves = size - 1;
  if (size < 2) return;
  Ints ends, edges;
  for (int rank = 0; rank < size; ++rank) {
    if (rank != 0) edges.push_back(0);
    for (int other = 1; rank == 0 && other < size; ++other) edges.push_back(other);
    ends.push_back(static_cast<int>(edges.size()));
  }
  Neighborhood neighborhood{};
  MPI_Graph_create(MPI_COMM_WORLD, size, ends.data(), edges.data(), 0, &neighborhood.comm);
  int nodes = 0, lines = 0, degree = 0;
  MPI_Graphdims_get(neighborhood.comm, &nodes, &lines);
  program.equal(nodes, size);
  program.equal(lines, 2 * leaves);
  MPI_Graph_neighbors_count(neighborhood.comm, program.rank(), &degree);
  program.equal(degree, program.rank() == 0 ? leaves : 1);
  Ints neighbors(static_cast<size_t>(degree));
  MPI_Graph_neighbors(neighborhood.comm, program.rank(), degree, neighbors.data());
  neighborhood.sources = neighborhood.destinations = neighbors;
  exchange(program, neighborhood);
  MPI_Comm_free(&neighborhood.comm);
}

// Edges to the next two ranks, given by others than those at their ends.
void given_by_others(CheckedProgram& program) {
  const int size = program.size(), rank = program.rank();
  const int told = (rank + size / 2) % size;
  Ints destinations{(told + 1) % size, (told + 2) % size};
  if (size < 3) destinations.pop_back();
  const int degree = static_cast<int>(destinations.size());
  Neighborhood neighborhood{};
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &told, &degree, destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                        &neighborhood.comm);
  int in = 0, out = 0, weighted = 1;
  MPI_Dist_graph_neighbors_count(neighborhood.comm, &in, &out, &weighted);
  program.equal(in, degree);
  program.equal(out, degree);
  program.equal(weighted, 0);
  neighborhood.sources.resize(static_cast<size_t>(in));
  neighborhood.destinations.resize(static_cast<size_t>(out));
  MPI_Dist_graph_neighbors(neighborhood.comm, in, neighborhood.sources.data(), MPI_UNWEIGHTED, out,
                           neighborhood.destinations.data(), MPI_UNWEIGHTED);
  exchange(program, neighborhood);
  MPI_Comm_free(&neighborhood.comm);
}

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  ring(program);
  star(program);
  given_by_others(program);
  return program.finish();
}
