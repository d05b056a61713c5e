// Collective operations that have begun and not ended: many at a time, ended in another order, persistent; datatypes
// and communicators that are freed before their end.
#include <algorithm>
#include <deque>
#include <functional>
#include <numeric>

#include "checked_program.h"

namespace {

constexpr int kLength = 700;  // more than travels inside of an envelope

using Ints = std::vector<int>;

// What rank `from` has for rank `to`.
Ints part(int from, int to, int round) { return patterned(from * 1000 + to, round, kLength); }

Ints parts(int count, const std::function<Ints(int)>& of) {
  Ints all;
  for (int i = 0; i < count; ++i) {
    const Ints next = of(i);
    all.insert(all.end(), next.begin(), next.end());
  }
  return all;
}

// One operation: its buffers, how it begins, and what must come out.
struct Operation {
  Ints in, out, wanted;
  MPI_Request request = MPI_REQUEST_NULL;
};

class Operations {
 public:
  Operations(CheckedProgram& program, MPI_Comm comm, int round) : program_(program), comm_(comm), round_(round) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    MPI_Type_vector(kLength / 2, 2, 3, MPI_INT, &gaps_);
    MPI_Type_commit(&gaps_);
    counts_.assign(static_cast<size_t>(size_), kLength);
    places_.resize(counts_.size());
    for (int i = 0; i < size_; ++i) places_[static_cast<size_t>(i)] = i * kLength;
    ones_.assign(counts_.size(), 1);
    bytes_.resize(counts_.size());
    for (int i = 0; i < size_; ++i) bytes_[static_cast<size_t>(i)] = i * kLength * static_cast<int>(sizeof(int));
    std::vector<MPI_Datatype> types;
    MPI_Type_contiguous(kLength, MPI_INT, &whole_);
    MPI_Type_commit(&whole_);
    types_.assign(counts_.size(), whole_);
  }

  // Each on the same communicator, with blocking ones in between.
  void begin_all(int root) {
    barrier();
    broadcast(root);
    gather(root);
    MPI_Barrier(comm_);
    scatter(root);
    allgather();
    alltoall();
    reductions(root);
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm_);
    program_.equal(sum, size_);
    prefixes();
    if (program_.is_strict()) free_types();
  }

  std::vector<MPI_Request> requests() const {
    std::vector<MPI_Request> requests;
    for (const Operation& each : operations_) requests.push_back(each.request);
    return requests;
  }

  void check() {
    for (const Operation& each : operations_) program_.holds(each.out == each.wanted);
    operations_.clear();
    if (!program_.is_strict()) free_types();
  }

 private:
  Operation& add(Ints in, size_t out_length, Ints wanted) {
    Operation& made = operations_.emplace_back();
    made.in = std::move(in);
    made.out.assign(out_length, -1);
    made.wanted = std::move(wanted);
    return made;
  }

  Ints from_each(int to) const {
    return parts(size_, [&](int from) { return part(from, to, round_); });
  }
  Ints to_each(int from) const {
    return parts(size_, [&](int to) { return part(from, to, round_); });
  }
  Ints nothing(size_t length) const { return Ints(length, -1); }

  // MPICH 4.0 fails in operations whose datatypes are freed meanwhile.
  void free_types() {
    MPI_Type_free(&gaps_);
    MPI_Type_free(&whole_);
  }

  void barrier() { MPI_Ibarrier(comm_, &add({}, 0, {}).request); }

  // With gaps in memory, which stay as they are.
  void broadcast(int root) {
    const size_t length = static_cast<size_t>(kLength / 2) * 3 - 1;
    Ints wanted = nothing(length);
    const Ints sent = part(root, 0, round_);
    for (size_t i = 0; i < sent.size(); ++i) wanted[i / 2 * 3 + i % 2] = sent[i];
    Operation& made = add({}, length, wanted);
    if (rank_ == root) made.out = wanted;
    MPI_Ibcast(made.out.data(), 1, gaps_, root, comm_, &made.request);
  }

  void gather(int root) {
    const size_t all = counts_.size() * kLength;
    const Ints wanted = rank_ == root ? from_each(0) : nothing(all);
    Operation& first = add(part(rank_, 0, round_), all, wanted);
    MPI_Igather(first.in.data(), kLength, MPI_INT, first.out.data(), 1, whole_, root, comm_, &first.request);
    Operation& second = add(part(rank_, 0, round_), all, wanted);
    MPI_Igatherv(second.in.data(), 1, whole_, second.out.data(), counts_.data(), places_.data(), MPI_INT, root, comm_,
                 &second.request);
  }

  void scatter(int root) {
    const Ints in = rank_ == root ? to_each(root) : Ints{};
    Operation& first = add(in, kLength, part(root, rank_, round_));
    MPI_Iscatter(first.in.data(), kLength, MPI_INT, first.out.data(), 1, whole_, root, comm_, &first.request);
    Operation& second = add(in, kLength, part(root, rank_, round_));
    MPI_Iscatterv(second.in.data(), counts_.data(), places_.data(), MPI_INT, second.out.data(), 1, whole_, root, comm_,
                  &second.request);
  }

  void allgather() {
    const size_t all = counts_.size() * kLength;
    Operation& first = add(part(rank_, 0, round_), all, from_each(0));
    MPI_Iallgather(first.in.data(), 1, whole_, first.out.data(), kLength, MPI_INT, comm_, &first.request);
    Operation& second = add({}, all, from_each(0));
    const Ints own = part(rank_, 0, round_);
    std::copy(own.begin(), own.end(), second.out.begin() + rank_ * kLength);
    MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, second.out.data(), counts_.data(), places_.data(), MPI_INT,
                    comm_, &second.request);
  }

  void alltoall() {
    const size_t all = counts_.size() * kLength;
    Operation& first = add(to_each(rank_), all, from_each(rank_));
    MPI_Ialltoall(first.in.data(), kLength, MPI_INT, first.out.data(), 1, whole_, comm_, &first.request);
    Operation& second = add({}, all, from_each(rank_));
    second.out = to_each(rank_);
    MPI_Ialltoallv(MPI_IN_PLACE, nullptr, nullptr, MPI_DATATYPE_NULL, second.out.data(), counts_.data(), places_.data(),
                   MPI_INT, comm_, &second.request);
    Operation& third = add(to_each(rank_), all, from_each(rank_));
    MPI_Ialltoallw(third.in.data(), ones_.data(), bytes_.data(), types_.data(), third.out.data(), ones_.data(),
                   bytes_.data(), types_.data(), comm_, &third.request);
  }

  Ints sum_of(int first, int last, const std::function<Ints(int)>& of) const {
    Ints sum(of(0).size(), 0);
    for (int rank = first; rank < last; ++rank) {
      const Ints next = of(rank);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += next[i];
    }
    return sum;
  }

  void reductions(int root) {
    const auto of = [&](int rank) { return part(rank, 0, round_); };
    const Ints sum = sum_of(0, size_, of);
    Operation& first = add(of(rank_), kLength, rank_ == root ? sum : nothing(kLength));
    MPI_Ireduce(first.in.data(), first.out.data(), kLength, MPI_INT, MPI_SUM, root, comm_, &first.request);
    Operation& second = add({}, kLength, sum);
    second.out = of(rank_);
    MPI_Iallreduce(MPI_IN_PLACE, second.out.data(), kLength, MPI_INT, MPI_SUM, comm_, &second.request);
    const Ints slice = sum_of(0, size_, [&](int rank) { return part(rank, rank_, round_); });
    Operation& third = add(to_each(rank_), kLength, slice);
    MPI_Ireduce_scatter(third.in.data(), third.out.data(), counts_.data(), MPI_INT, MPI_SUM, comm_, &third.request);
    Operation& fourth = add(to_each(rank_), kLength, slice);
    MPI_Ireduce_scatter_block(fourth.in.data(), fourth.out.data(), kLength, MPI_INT, MPI_SUM, comm_, &fourth.request);
  }

  void prefixes() {
    const auto of = [&](int rank) { return part(rank, 0, round_); };
    Operation& first = add(of(rank_), kLength, sum_of(0, rank_ + 1, of));
    MPI_Iscan(first.in.data(), first.out.data(), kLength, MPI_INT, MPI_SUM, comm_, &first.request);
    Operation& second = add(of(rank_), kLength, rank_ == 0 ? nothing(kLength) : sum_of(0, rank_, of));
    MPI_Iexscan(second.in.data(), second.out.data(), kLength, MPI_INT, MPI_SUM, comm_, &second.request);
  }

  CheckedProgram& program_;
  MPI_Comm comm_;
  int round_;
  int rank_ = 0, size_ = 0;
  MPI_Datatype gaps_ = MPI_DATATYPE_NULL, whole_ = MPI_DATATYPE_NULL;
  Ints counts_, places_, ones_, bytes_;
  std::vector<MPI_Datatype> types_;
  std::deque<Operation> operations_;
};

// In the order of their beginning, backwards, as they come, and all at once. The communicator is freed meanwhile.
void many_at_a_time(CheckedProgram& program) {
  for (int round = 0; round < 4; ++round) {
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, 0, round % 2 == 0 ? program.rank() : -program.rank(), &comm);
    Operations operations(program, comm, round);
    operations.begin_all(round % program.size());
    if (program.is_strict()) MPI_Comm_free(&comm);  // Open MPI 4.1 crashes
    std::vector<MPI_Request> requests = operations.requests();
    const int count = static_cast<int>(requests.size());
    if (round == 0)
      for (int i = 0; i < count; ++i) MPI_Wait(&requests[static_cast<size_t>(i)], MPI_STATUS_IGNORE);
    if (round == 1)
      for (int i = count - 1; i >= 0; --i) MPI_Wait(&requests[static_cast<size_t>(i)], MPI_STATUS_IGNORE);
    if (round == 2) {
      std::vector<int> indices(requests.size());
      for (int left = count, done = 0; left > 0; left -= done) {
        MPI_Testsome(count, requests.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
      }
    }
    MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
    for (MPI_Request request : requests) program.holds(request == MPI_REQUEST_NULL);
    operations.check();
    if (!program.is_strict()) MPI_Comm_free(&comm);
  }
}

// Every rank waits for the operations before the call that one of them is in already.
void ends_while_its_beginner_is_in_the_library(CheckedProgram& program) {
  if (program.size() == 1) return;  // Open MPI 4.1 has no window of one rank
  int shared = 0;
  MPI_Win window;
  MPI_Win_create(&shared, sizeof shared, sizeof shared, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  const int rank = program.rank(), size = program.size();
  for (int round = 0; round < 2 * size; ++round) {
    const bool is_away = rank == round % size;
    const int mine = rank + round, root = (round + 1) % size;
    const Ints parts(static_cast<size_t>(size), mine);
    int sum = 0, sum_at_root = 0, part = 0, prefix = 0;
    MPI_Request requests[5];
    MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Ireduce(&mine, &sum_at_root, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD, &requests[1]);
    MPI_Ireduce_scatter_block(parts.data(), &part, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2]);
    MPI_Iscan(&mine, &prefix, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[3]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[4]);
    if (is_away) MPI_Win_fence(0, window);
    MPI_Waitall(5, requests, MPI_STATUSES_IGNORE);
    if (!is_away) MPI_Win_fence(0, window);
    const int wanted = size * (size - 1) / 2 + size * round;
    program.equal(sum, wanted);
    program.equal(sum_at_root, rank == root ? wanted : 0);
    program.equal(part, wanted);
    program.equal(prefix, rank * (rank + 1) / 2 + (rank + 1) * round);
  }
  MPI_Win_free(&window);
}

// Too much for each rank to take from all.
void long_reductions(CheckedProgram& program) {
  const int length = 400000;
  const Ints mine = patterned(program.rank(), 5, length);
  Ints sum(mine.size()), prefix(mine.size()), wanted(mine.size()), wanted_prefix(mine.size());
  for (int rank = 0; rank < program.size(); ++rank) {
    const Ints next = patterned(rank, 5, length);
    for (size_t i = 0; i < next.size(); ++i) {
      wanted[i] += next[i];
      if (rank <= program.rank()) wanted_prefix[i] += next[i];
    }
  }
  MPI_Request requests[2];
  MPI_Iallreduce(mine.data(), sum.data(), length, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
  MPI_Iscan(mine.data(), prefix.data(), length, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  program.holds(sum == wanted);
  program.holds(prefix == wanted_prefix);
}

void wrong_arguments(CheckedProgram& program) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int data = 0, sum = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  program.error_class(MPI_Ibcast(&data, 1, MPI_INT, program.size(), comm, &request), MPI_ERR_ROOT);
  program.error_class(MPI_Ibcast(&data, -1, MPI_INT, 0, comm, &request), MPI_ERR_COUNT);
  program.error_class(MPI_Ibcast(&data, 1, MPI_DATATYPE_NULL, 0, comm, &request), MPI_ERR_TYPE);
  program.error_class(MPI_Iallreduce(&data, &sum, 1, MPI_INT, MPI_OP_NULL, comm, &request), MPI_ERR_OP);
  if (program.is_strict())  // the libraries say MPI_ERR_OP
    program.error_class(MPI_Iallreduce(&data, &sum, 1, MPI_DATATYPE_NULL, MPI_SUM, comm, &request), MPI_ERR_TYPE);
  const Ints counts(static_cast<size_t>(program.size()), 0), places(counts);
  Ints wrong_counts(counts);
  wrong_counts.back() = -1;
  program.error_class(MPI_Ialltoall(&data, -1, MPI_INT, &sum, 0, MPI_INT, comm, &request), MPI_ERR_COUNT);
  program.error_class(MPI_Iallgather(&data, 1, MPI_DATATYPE_NULL, &sum, 0, MPI_INT, comm, &request), MPI_ERR_TYPE);
  program.error_class(MPI_Ialltoallv(&data, counts.data(), places.data(), MPI_INT, &sum, wrong_counts.data(),
                                     places.data(), MPI_INT, comm, &request),
                      MPI_ERR_COUNT);
  program.holds(request == MPI_REQUEST_NULL);
  MPI_Comm_free(&comm);
}

// Where nothing goes to a rank, nor comes from it, there may be no datatype either.
void nothing_of_no_type(CheckedProgram& program) {
  const auto ranks = static_cast<size_t>(program.size());
  Ints counts(ranks, 0), places(ranks, 0), out{program.rank()}, in{-1};
  Ints in_counts(counts);
  std::vector<MPI_Datatype> out_types(ranks, MPI_DATATYPE_NULL), in_types(out_types);
  counts[static_cast<size_t>(program.right())] = in_counts[static_cast<size_t>(program.left())] = 1;
  out_types[static_cast<size_t>(program.right())] = in_types[static_cast<size_t>(program.left())] = MPI_INT;
  MPI_Request request;
  MPI_Ialltoallw(out.data(), counts.data(), places.data(), out_types.data(), in.data(), in_counts.data(), places.data(),
                 in_types.data(), MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  program.equal(in[0], program.left());
}

// No order that the standard allows, but one that the libraries carry out: mpi4py's MPI_Comm_iagree relies on it.
void before_or_after_a_blocking_one(CheckedProgram& program) {
  for (int round = 0; round < 2 * program.size(); ++round) {
    const bool is_before = program.rank() == round % program.size();
    const int mine = is_before ? 11 : 13;
    int both = -1;
    MPI_Request request;
    if (!is_before) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Iallreduce(&mine, &both, 1, MPI_INT, MPI_BAND, MPI_COMM_WORLD, &request);
    if (is_before) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    program.equal(both, program.size() > 1 ? 9 : 11);
  }
}

#ifdef SPILLWAY_TEST_HAS_MPI_4
// The standard lets ranks start them in different orders, and others in between.
void in_different_orders(CheckedProgram& program) {
  int sums[2], words[2], sum = 0;
  MPI_Request requests[4];
  const int mine = program.rank(), size = program.size();
  for (int i = 0; i < 2; ++i) {
    MPI_Allreduce_init(&mine, &sums[i], 1, MPI_INT, i == 0 ? MPI_SUM : MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &requests[i]);
    MPI_Bcast_init(&words[i], 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2 + i]);
  }
  for (int round = 0; round < 4; ++round) {
    sums[0] = sums[1] = -1;
    for (int i = 0; i < 2; ++i) words[i] = program.rank() == 0 ? 10 * round + i : -1;
    for (int i = 0; i < 4; ++i) {
      MPI_Start(&requests[(i + program.rank() + round) % 4]);
      if (i == program.rank() % 4) MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    program.equal(sum, size * (size - 1) / 2);
    program.equal(sums[0], size * (size - 1) / 2);
    program.equal(sums[1], size - 1);
    for (int i = 0; i < 2; ++i) program.equal(words[i], 10 * round + i);
  }
  for (MPI_Request& request : requests) MPI_Request_free(&request);
}

// Each is started again and again, with other data in the same buffers.
void persistent(CheckedProgram& program) {
  const int size = program.size(), rank = program.rank();
  const auto ranks = static_cast<size_t>(size);
  int word = 0, mine = 0, sum = 0, prefix = 0, slice = 0;
  Ints out(ranks), in(ranks), gathered(ranks), counts(ranks, 1), places(ranks);
  std::iota(places.begin(), places.end(), 0);
  MPI_Datatype pair;
  MPI_Type_contiguous(1, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Request requests[8];
  MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Bcast_init(&word, 1, pair, size - 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  MPI_Allreduce_init(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
  MPI_Alltoallv_init(out.data(), counts.data(), places.data(), pair, in.data(), counts.data(), places.data(), MPI_INT,
                     MPI_COMM_WORLD, MPI_INFO_NULL, &requests[3]);
  MPI_Allgather_init(&mine, 1, MPI_INT, gathered.data(), 1, pair, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[4]);
  MPI_Scan_init(&mine, &prefix, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[5]);
  MPI_Reduce_scatter_block_init(out.data(), &slice, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[6]);
  Ints long_in(400000), long_out(long_in.size());
  MPI_Allreduce_init(long_in.data(), long_out.data(), static_cast<int>(long_in.size()), MPI_INT, MPI_SUM,
                     MPI_COMM_WORLD, MPI_INFO_NULL, &requests[7]);
  MPI_Type_free(&pair);
  for (int round = 0; round < 4; ++round) {
    word = rank == size - 1 ? round + 100 : -1;
    mine = rank + round;
    for (int i = 0; i < size; ++i) out[static_cast<size_t>(i)] = rank * 100 + i + round;
    std::fill(long_in.begin(), long_in.end(), mine);
    MPI_Startall(8, requests);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    const int all = size * (size - 1) / 2 + size * round;
    program.equal(word, round + 100);
    program.equal(sum, all);
    program.equal(long_out.back(), all);
    program.equal(prefix, rank * (rank + 1) / 2 + (rank + 1) * round);
    program.equal(slice, 100 * (size * (size - 1) / 2) + size * (rank + round));
    for (int i = 0; i < size; ++i) {
      program.equal(in[static_cast<size_t>(i)], i * 100 + rank + round);
      program.equal(gathered[static_cast<size_t>(i)], i + round);
    }
  }
  for (MPI_Request& request : requests) MPI_Request_free(&request);
}

// Those with a root, and the rest of those without.
void more_that_are_persistent(CheckedProgram& program) {
  constexpr int kRequests = 10;
  const int size = program.size(), rank = program.rank(), root = size / 2;
  const auto ranks = static_cast<size_t>(size);
  int mine = 0, reduced = -1, before = -1, given = -1, given_too = -1, slice = -1;
  Ints out(ranks), gathered(ranks), gathered_too(ranks), scattered(ranks), in(ranks), in_too(ranks), all(ranks);
  Ints counts(ranks, 1), places(ranks), bytes(ranks);
  for (int i = 0; i < size; ++i) {
    places[static_cast<size_t>(i)] = size - 1 - i;
    bytes[static_cast<size_t>(i)] = static_cast<int>(sizeof(int)) * i;
  }
  const std::vector<MPI_Datatype> types(ranks, MPI_INT);
  MPI_Request requests[kRequests];
  const MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Gather_init(&mine, 1, MPI_INT, gathered.data(), 1, MPI_INT, root, comm, MPI_INFO_NULL, &requests[0]);
  MPI_Gatherv_init(&mine, 1, MPI_INT, gathered_too.data(), counts.data(), places.data(), MPI_INT, root, comm,
                   MPI_INFO_NULL, &requests[1]);
  MPI_Scatter_init(scattered.data(), 1, MPI_INT, &given, 1, MPI_INT, root, comm, MPI_INFO_NULL, &requests[2]);
  MPI_Scatterv_init(scattered.data(), counts.data(), places.data(), MPI_INT, &given_too, 1, MPI_INT, root, comm,
                    MPI_INFO_NULL, &requests[3]);
  MPI_Reduce_init(&mine, &reduced, 1, MPI_INT, MPI_SUM, root, comm, MPI_INFO_NULL, &requests[4]);
  MPI_Exscan_init(&mine, &before, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[5]);
  MPI_Alltoall_init(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, comm, MPI_INFO_NULL, &requests[6]);
  MPI_Alltoallw_init(out.data(), counts.data(), bytes.data(), types.data(), in_too.data(), counts.data(), bytes.data(),
                     types.data(), comm, MPI_INFO_NULL, &requests[7]);
  MPI_Allgatherv_init(&mine, 1, MPI_INT, all.data(), counts.data(), places.data(), MPI_INT, comm, MPI_INFO_NULL,
                      &requests[8]);
  MPI_Reduce_scatter_init(out.data(), &slice, counts.data(), MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[9]);
  for (int round = 0; round < 3; ++round) {
    mine = rank + round;
    for (int i = 0; i < size; ++i) {
      out[static_cast<size_t>(i)] = rank * 100 + i + round;
      scattered[static_cast<size_t>(i)] = i * 7 + round;
    }
    MPI_Startall(kRequests, requests);
    MPI_Waitall(kRequests, requests, MPI_STATUSES_IGNORE);
    const int sum_of_ranks = size * (size - 1) / 2;
    program.equal(given, rank * 7 + round);
    program.equal(given_too, (size - 1 - rank) * 7 + round);
    program.equal(slice, 100 * sum_of_ranks + size * (rank + round));
    if (rank > 0) program.equal(before, rank * (rank - 1) / 2 + rank * round);
    if (rank == root) program.equal(reduced, sum_of_ranks + size * round);
    for (int i = 0; i < size; ++i) {
      const auto at = static_cast<size_t>(i);
      program.equal(in[at], i * 100 + rank + round);
      program.equal(in_too[at], i * 100 + rank + round);
      program.equal(all[at], size - 1 - i + round);
      if (rank == root) program.equal(gathered[at], i + round);
      if (rank == root) program.equal(gathered_too[at], size - 1 - i + round);
    }
  }
  for (MPI_Request& request : requests) MPI_Request_free(&request);
}
#else
// New in MPI 4.0.
void persistent(CheckedProgram&) {}
void more_that_are_persistent(CheckedProgram&) {}
void in_different_orders(CheckedProgram&) {}
#endif

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  many_at_a_time(program);
  ends_while_its_beginner_is_in_the_library(program);
  long_reductions(program);
  before_or_after_a_blocking_one(program);
  wrong_arguments(program);
  if (program.is_strict()) {
    persistent(program);  // MPICH 4.0 sends the same again
    more_that_are_persistent(program);
    in_different_orders(program);  // MPICH 4.0 takes them for each other
    nothing_of_no_type(program);   // Open MPI 4.1 refuses that
  }
  return program.finish();
}
