// Collective steps: blocking ones one by one, nonblocking ones several at a time with messages among them, persistent
// ones that are started again with other contents.
#include <algorithm>

#include "collective_call.h"

namespace {

using Start = void (*)(CollectiveCall&, Random&);

// An item of the call's messages: so many elements, in any arrangement.
struct Item {
  Item(Program& program, Random& random, int shares) {
    static const std::vector<MPI_Datatype> basics = {MPI_CHAR, MPI_INT, MPI_DOUBLE};
    basic = random.among(basics);
    int size = 0;
    MPI_Type_size(basic, &size);
    const int length = program.message_bytes(random, shares) / size;
    const std::vector<int> choices = {1, 2, 3, 4, std::max(length, 1)};
    elements = random.among(choices);
    count = length / elements;
  }

  MPI_Datatype basic;
  int elements;
  int count;
};

// Counts and places of the parts of a buffer, in items, for the forms with `v`.
struct Parts {
  Parts(CollectiveCall& call, const std::vector<int>& its_counts)
      : counts(call.numbers(its_counts)), places(call.numbers(its_counts)) {
    std::vector<size_t> order(counts.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    call.own().shuffle(order);
    for (size_t i : order) {
      places[i] = total;
      total += counts[i] + (call.own().chance(20) ? 1 : 0);
    }
  }

  std::vector<int>& counts;
  std::vector<int>& places;
  int total = 0;
};

std::vector<int> some_counts(Random& random, const Item& item, int number) {
  std::vector<int> counts;
  for (int i = 0; i < number; ++i) counts.push_back(random.chance(20) ? 0 : random.below(2 * item.count + 1));
  return counts;
}

int peers(const CollectiveCall& call) {
  return call.communicator().size(call.communicator().other(call.communicator().my_group));
}

void start_barrier(CollectiveCall& call, Random&) {
  call.run(FORMS(MPI_Barrier, MPI_Ibarrier), call.communicator().handle);
}

void start_broadcast(CollectiveCall& call, Random& random) {
  const Root root(random, call);
  const Item item(call.program(), random, 2);
  Items& data = call.items(item.basic, item.elements, item.count);
  if (root.is_leaf) call.result(data);
  call.run(FORMS(MPI_Bcast, MPI_Ibcast), data.block.data(), item.count, data.type.handle(), root.argument,
           call.communicator().handle);
}

void start_gather(CollectiveCall& call, Random& random) {
  const Root root(random, call);
  const Item item(call.program(), random, root.leaves + 1);
  const bool is_in_place = !call.communicator().is_inter() && random.chance(30) && root.is_here;
  Items& out = call.items(item.basic, item.elements, item.count);
  Items& in = call.items(item.basic, item.elements, root.is_here ? static_cast<int64_t>(item.count) * root.leaves : 0);
  if (root.is_here) call.result(in);
  call.run(FORMS(MPI_Gather, MPI_Igather), is_in_place ? MPI_IN_PLACE : out.block.data(), item.count, out.type.handle(),
           in.block.data(), item.count, in.type.handle(), root.argument, call.communicator().handle);
}

void start_gatherv(CollectiveCall& call, Random& random) {
  const Root root(random, call);
  const Item item(call.program(), random, 2 * root.leaves);
  const bool is_in_place = !call.communicator().is_inter() && random.chance(30) && root.is_here;
  const Parts parts(call, some_counts(random, item, root.leaves));
  const int count = root.is_leaf ? parts.counts[static_cast<size_t>(call.communicator().my_rank)] : 0;
  Items& out = call.items(item.basic, item.elements, count);
  Items& in = call.items(item.basic, item.elements, root.is_here ? parts.total : 0);
  if (root.is_here) call.result(in);
  call.run(FORMS(MPI_Gatherv, MPI_Igatherv), is_in_place ? MPI_IN_PLACE : out.block.data(), count, out.type.handle(),
           in.block.data(), parts.counts.data(), parts.places.data(), in.type.handle(), root.argument,
           call.communicator().handle);
}

void start_scatter(CollectiveCall& call, Random& random) {
  const Root root(random, call);
  const Item item(call.program(), random, root.leaves + 1);
  const bool is_in_place = !call.communicator().is_inter() && random.chance(30) && root.is_here;
  Items& out = call.items(item.basic, item.elements, root.is_here ? static_cast<int64_t>(item.count) * root.leaves : 0);
  Items& in = call.items(item.basic, item.elements, item.count);
  call.result(in);
  call.run(FORMS(MPI_Scatter, MPI_Iscatter), out.block.data(), item.count, out.type.handle(),
           is_in_place ? MPI_IN_PLACE : in.block.data(), item.count, in.type.handle(), root.argument,
           call.communicator().handle);
}

void start_scatterv(CollectiveCall& call, Random& random) {
  const Root root(random, call);
  const Item item(call.program(), random, 2 * root.leaves);
  const bool is_in_place = !call.communicator().is_inter() && random.chance(30) && root.is_here;
  const Parts parts(call, some_counts(random, item, root.leaves));
  const int count = root.is_leaf ? parts.counts[static_cast<size_t>(call.communicator().my_rank)] : 0;
  Items& out = call.items(item.basic, item.elements, root.is_here ? parts.total : 0);
  Items& in = call.items(item.basic, item.elements, count);
  call.result(in);
  call.run(FORMS(MPI_Scatterv, MPI_Iscatterv), out.block.data(), parts.counts.data(), parts.places.data(),
           out.type.handle(), is_in_place ? MPI_IN_PLACE : in.block.data(), count, in.type.handle(), root.argument,
           call.communicator().handle);
}

void start_allgather(CollectiveCall& call, Random& random) {
  const int number = peers(call);
  const Item item(call.program(), random, call.program().size() + 1);
  const bool is_in_place = random.chance(30) && !call.communicator().is_inter();
  Items& out = call.items(item.basic, item.elements, item.count);
  Items& in = call.items(item.basic, item.elements, static_cast<int64_t>(item.count) * number);
  call.result(in);
  call.run(FORMS(MPI_Allgather, MPI_Iallgather), is_in_place ? MPI_IN_PLACE : out.block.data(), item.count,
           out.type.handle(), in.block.data(), item.count, in.type.handle(), call.communicator().handle);
}

void start_allgatherv(CollectiveCall& call, Random& random) {
  const Communicator& communicator = call.communicator();
  const Item item(call.program(), random, 2 * call.program().size());
  const bool is_in_place = random.chance(30) && !communicator.is_inter();
  std::vector<std::vector<int>> counts;
  for (const std::vector<int>& group : communicator.groups) {
    counts.push_back(some_counts(random, item, static_cast<int>(group.size())));
  }
  const Parts parts(call, counts[static_cast<size_t>(communicator.other(communicator.my_group))]);
  const int count = counts[static_cast<size_t>(communicator.my_group)][static_cast<size_t>(communicator.my_rank)];
  Items& out = call.items(item.basic, item.elements, count);
  // MPICH divides what goes around by the extent of the type: it fails when that is not the same everywhere.
  Items& in = call.items_alike(item.basic, item.elements, parts.total);
  call.result(in);
  call.run(FORMS(MPI_Allgatherv, MPI_Iallgatherv), is_in_place ? MPI_IN_PLACE : out.block.data(), count,
           out.type.handle(), in.block.data(), parts.counts.data(), parts.places.data(), in.type.handle(),
           communicator.handle);
}

void start_alltoall(CollectiveCall& call, Random& random) {
  const int number = peers(call);
  const Item item(call.program(), random, 2 * call.program().size());
  const bool is_in_place = random.chance(30) && !call.communicator().is_inter();
  Items& out = call.items(item.basic, item.elements, static_cast<int64_t>(item.count) * number);
  Items& in = call.items(item.basic, item.elements, static_cast<int64_t>(item.count) * number);
  call.result(in);
  call.run(FORMS(MPI_Alltoall, MPI_Ialltoall), is_in_place ? MPI_IN_PLACE : out.block.data(), item.count,
           out.type.handle(), in.block.data(), item.count, in.type.handle(), call.communicator().handle);
}

// With `v`, and with `w`, in which places are in bytes.
void start_uneven_alltoall(CollectiveCall& call, Random& random) {
  const Communicator& communicator = call.communicator();
  const Item item(call.program(), random, 4 * call.program().size());
  bool has_types = random.chance(50);
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION == 4
  // MPI_Ialltoallw of Open MPI 4.1 counts the types of the other group by its own size, and mixes up what is in place.
  has_types = has_types && call.is_blocking();
#endif
  // Not with one datatype for all, of which Open MPI 4.1.2 makes nonsense.
  const bool is_in_place = random.chance(20) && has_types && !communicator.is_inter();
  const int low = communicator.size(0);
  const int high = communicator.size(communicator.other(0));
  const std::vector<int> there = some_counts(random, item, low * high);
  const std::vector<int> back = some_counts(random, item, low * high);
  // What `from` sends to `to`, of the rank's group and of the other one or the other way round. In place, both
  // directions are equally long.
  const auto between = [&](bool is_from_low, int from, int to) {
    if (communicator.is_inter()) return is_from_low ? there[from * high + to] : back[from * low + to];
    return is_in_place ? there[std::min(from, to) * high + std::max(from, to)] : there[from * high + to];
  };
  const bool is_low = communicator.my_group == 0;
  std::vector<int> sent, received;
  for (int i = 0; i < peers(call); ++i) {
    sent.push_back(between(is_low, communicator.my_rank, i));
    received.push_back(between(!is_low, i, communicator.my_rank));
  }
  const Parts from(call, sent);
  const Parts to(call, received);
  Items& out = call.items(item.basic, item.elements, from.total);
  Items& in = call.items(item.basic, item.elements, to.total);
  call.result(in);
  void* data = is_in_place ? MPI_IN_PLACE : out.block.data();
  if (!has_types) {
    return call.run(FORMS(MPI_Alltoallv, MPI_Ialltoallv), data, from.counts.data(), from.places.data(),
                    out.type.handle(), in.block.data(), to.counts.data(), to.places.data(), in.type.handle(),
                    communicator.handle);
  }
  for (int& place : from.places) place *= static_cast<int>(out.type.extent());
  for (int& place : to.places) place *= static_cast<int>(in.type.extent());
  const std::vector<MPI_Datatype>& out_types = call.types(sent.size(), out.type.handle());
  const std::vector<MPI_Datatype>& in_types = call.types(received.size(), in.type.handle());
  call.run(FORMS(MPI_Alltoallw, MPI_Ialltoallw), data, from.counts.data(), from.places.data(), out_types.data(),
           in.block.data(), to.counts.data(), to.places.data(), in_types.data(), communicator.handle);
}

// On a grid. Where there is no neighbour, the buffer stays as it is.
void start_even_neighbour_exchange(CollectiveCall& call, Random& random, int number) {
  const Item item(call.program(), random, 2 * number);
  const bool is_allgather = random.chance(50);
  Items& out = call.items(item.basic, item.elements, static_cast<int64_t>(item.count) * (is_allgather ? 1 : number));
  Items& in = call.items(item.basic, item.elements, static_cast<int64_t>(item.count) * number);
  call.result(in);
  if (is_allgather) {
    call.run(FORMS(MPI_Neighbor_allgather, MPI_Ineighbor_allgather), out.block.data(), item.count, out.type.handle(),
             in.block.data(), item.count, in.type.handle(), call.communicator().handle);
  } else {
    call.run(FORMS(MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall), out.block.data(), item.count, out.type.handle(),
             in.block.data(), item.count, in.type.handle(), call.communicator().handle);
  }
}

// The neighbours on a grid, in the order in which collectives on it have them.
std::vector<int> neighbours(const Communicator& communicator, int dimensions) {
  std::vector<int> ranks;
  for (int dimension = 0; dimension < dimensions; ++dimension) {
    int before = MPI_PROC_NULL, after = MPI_PROC_NULL;
    MPI_Cart_shift(communicator.handle, dimension, 1, &before, &after);
    ranks.push_back(before);
    ranks.push_back(after);
  }
  return ranks;
}

// With `v`, and with `w`, in which places are in bytes. Two ranks give each other equally much: they may be neighbours
// more than once, on a ring of two.
void start_uneven_neighbour_exchange(CollectiveCall& call, Random& random, int dimensions) {
  const Communicator& communicator = call.communicator();
  const Item item(call.program(), random, 8 * dimensions);
  const int kind = random.below(3);
  const uint64_t key = random.next();
  const auto amount = [&](uint64_t a, uint64_t b) {
    return static_cast<int>(Random{key, std::min(a, b), std::max(a, b)}.next() %
                            static_cast<uint64_t>(2 * item.count + 1));
  };
  const int own = amount(static_cast<uint64_t>(communicator.my_rank), 1000);
  std::vector<int> sent, received;
  for (int neighbour : neighbours(communicator, dimensions)) {
    const auto there = static_cast<uint64_t>(neighbour), here = static_cast<uint64_t>(communicator.my_rank);
    sent.push_back(neighbour == MPI_PROC_NULL ? 0 : amount(here, there));
    received.push_back(neighbour == MPI_PROC_NULL ? 0 : kind == 0 ? amount(there, 1000) : sent.back());
  }
  const Parts from(call, sent);
  const Parts to(call, received);
  Items& out = call.items(item.basic, item.elements, kind == 0 ? own : from.total);
  Items& in = call.items(item.basic, item.elements, to.total);
  call.result(in);
  if (kind == 0) {
    return call.run(FORMS(MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv), out.block.data(), own, out.type.handle(),
                    in.block.data(), to.counts.data(), to.places.data(), in.type.handle(), communicator.handle);
  }
  if (kind == 1) {
    return call.run(FORMS(MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv), out.block.data(), from.counts.data(),
                    from.places.data(), out.type.handle(), in.block.data(), to.counts.data(), to.places.data(),
                    in.type.handle(), communicator.handle);
  }
  const auto in_bytes = [&](const Parts& parts, const Items& items) -> const std::vector<MPI_Aint>& {
    std::vector<MPI_Aint> places;
    for (int place : parts.places) places.push_back(place * items.type.extent());
    return call.addresses(std::move(places));
  };
  const std::vector<MPI_Aint>&out_places = in_bytes(from, out), &in_places = in_bytes(to, in);
  const std::vector<MPI_Datatype>& out_types = call.types(sent.size(), out.type.handle());
  const std::vector<MPI_Datatype>& in_types = call.types(received.size(), in.type.handle());
  call.run(FORMS(MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw), out.block.data(), from.counts.data(),
           out_places.data(), out_types.data(), in.block.data(), to.counts.data(), in_places.data(), in_types.data(),
           communicator.handle);
}

void start_neighbour_exchange(CollectiveCall& call, Random& random) {
  int dimensions = 0;
  MPI_Cartdim_get(call.communicator().handle, &dimensions);
  if (random.chance(40)) return start_even_neighbour_exchange(call, random, 2 * dimensions);
  start_uneven_neighbour_exchange(call, random, dimensions);
}

void start_some(CollectiveCall& call, Random& random) {
  static const std::vector<Start> starts = {
      start_barrier,   start_broadcast, start_broadcast,  start_gather,    start_gatherv,         start_scatter,
      start_scatterv,  start_allgather, start_allgatherv, start_alltoall,  start_uneven_alltoall, start_uneven_alltoall,
      start_reduction, start_reduction, start_reduction,  start_reduction,
  };
  const bool is_for_neighbours = random.chance(40);
  const Start start = random.among(starts);
  if (call.communicator().is_cartesian && is_for_neighbours) return start_neighbour_exchange(call, random);
  start(call, random);
}

int answer_query(void*, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}

// A request of the program's own, complete from the beginning: one more that is not Spillway's.
MPI_Request own_request() {
  MPI_Request request;
  MPI_Grequest_start(
      answer_query, [](void*) { return MPI_SUCCESS; }, [](void*, int) { return MPI_SUCCESS; }, nullptr, &request);
  MPI_Grequest_complete(request);
  return request;
}

}  // namespace

void blocking_collective(Program& program, Random& random) {
  const Communicator& communicator = program.some_communicator(random, true);
  if (!communicator.is_mine()) return program.announce("collective (not here)");
  for (int times = random.between(1, 3); times > 0; --times) {
    CollectiveCall call(program, random, communicator, Form::blocking);
    start_some(call, random);
    call.add_results();
  }
}

void nonblocking_collectives(Program& program, Random& random) {
  const Communicator& communicator = program.some_communicator(random, true);
  if (!communicator.is_mine()) return program.announce("nonblocking collectives (not here)");
  Random own = program.own_random(random);
  std::deque<CollectiveCall> calls;
  std::vector<MPI_Request> requests;
  for (int number = random.between(1, 4); number > 0; --number) {
    calls.emplace_back(program, random, communicator, Form::nonblocking);
    start_some(calls.back(), random);
    requests.push_back(calls.back().request());
    if (own.chance(30)) program.delay();
  }
  // Messages between the same ranks at the same time.
  const int there = communicator.size(communicator.other(communicator.my_group));
  const int here = communicator.size(communicator.my_group);
  const bool has_messages = random.chance(60);
  const int bytes = program.message_bytes(random, 8);
  Items out(RandomType(MPI_CHAR), bytes, own.next());
  std::vector<std::unique_ptr<Items>> received;
  if (has_messages) {
    program.announce("messages among the collectives, " + std::to_string(bytes) + " bytes");
    for (int from = 0; from < there; ++from) {
      if ((from + 1) % here != communicator.my_rank) continue;
      received.push_back(std::make_unique<Items>(RandomType(MPI_CHAR), bytes, own.next()));
      requests.push_back(MPI_REQUEST_NULL);
      MPI_Irecv(received.back()->block.data(), bytes, MPI_CHAR, from, 3, communicator.handle, &requests.back());
    }
    requests.push_back(MPI_REQUEST_NULL);
    MPI_Isend(out.block.data(), bytes, MPI_CHAR, (communicator.my_rank + 1) % there, 3, communicator.handle,
              &requests.back());
  }
  if (own.chance(40)) requests.push_back(own_request());
  own.shuffle(requests);
  complete(program, own, requests);
  for (const CollectiveCall& call : calls) call.add_results();
  for (const std::unique_ptr<Items>& items : received) program.add(items->block.digest());
}

#if MPI_VERSION >= 4
void persistent_collectives(Program& program, Random& random) {
  const Communicator& communicator = program.some_communicator(random, false);
  if (!communicator.is_mine()) return program.announce("persistent collectives (not here)");
  Random own = program.own_random(random);
  std::deque<CollectiveCall> calls;
  for (int number = random.between(1, 3); number > 0; --number) {
    calls.emplace_back(program, random, communicator, Form::persistent);
    start_some(calls.back(), random);
  }
  for (int rounds = random.between(1, 3); rounds > 0; --rounds) {
    std::vector<MPI_Request> requests;
    for (CollectiveCall& call : calls) {
      call.refill();
      call.start();
      requests.push_back(call.request());
    }
    complete(program, own, requests, !program.replaces_persistent_collectives());
    for (const CollectiveCall& call : calls) call.add_results();
  }
  for (CollectiveCall& call : calls)
    if (!program.replaces_persistent_collectives()) MPI_Request_free(&call.request());
}
#endif
