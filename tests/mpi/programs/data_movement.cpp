// The collectives that move data: every one with every root, regular and irregular counts, MPI_IN_PLACE, derived
// datatypes, nothing at all.
#include <algorithm>

#include "checked_program.h"

namespace {

const std::vector<int> kCounts = {0, 1, 60, 3000, 30000};

// An integer in every other place, so that data in memory has gaps.
MPI_Datatype spaced() {
  MPI_Datatype type;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &type);
  MPI_Type_commit(&type);
  return type;
}

std::vector<int> in_every_other_place(const std::vector<int>& values) {
  std::vector<int> wide(2 * values.size(), -1);
  for (size_t i = 0; i < values.size(); ++i) wide[2 * i] = values[i];
  return wide;
}

// The concatenation of `count` elements from every rank.
std::vector<int> of_all(const CheckedProgram& program, int tag, int count) {
  std::vector<int> all;
  for (int rank = 0; rank < program.size(); ++rank)
    for (int value : patterned(rank, tag, static_cast<size_t>(count))) all.push_back(value);
  return all;
}

std::vector<int> slice(const std::vector<int>& all, int index, int count) {
  const auto begin = all.begin() + static_cast<ptrdiff_t>(index) * count;
  return std::vector<int>(begin, begin + count);
}

void broadcast(CheckedProgram& program, int root, int count) {
  const std::vector<int> wanted = patterned(root, 1, static_cast<size_t>(count));
  std::vector<int> data = program.rank() == root ? wanted : std::vector<int>(wanted.size(), -1);
  MPI_Bcast(data.data(), count, MPI_INT, root, MPI_COMM_WORLD);
  program.holds(data == wanted);
}

void gather(CheckedProgram& program, int root, int count) {
  const std::vector<int> own = patterned(program.rank(), 2, static_cast<size_t>(count)),
                         wanted = of_all(program, 2, count);
  std::vector<int> all(program.rank() == root ? wanted.size() : 0, -1);
  MPI_Gather(own.data(), count, MPI_INT, all.data(), count, MPI_INT, root, MPI_COMM_WORLD);
  if (program.rank() == root) program.holds(all == wanted);
  if (program.rank() != root) {
    MPI_Gather(own.data(), count, MPI_INT, nullptr, 0, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
    return;
  }
  std::vector<int> in_place(wanted.size(), -1);
  std::copy(own.begin(), own.end(), in_place.begin() + static_cast<ptrdiff_t>(root) * count);
  MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in_place.data(), count, MPI_INT, root, MPI_COMM_WORLD);
  program.holds(in_place == wanted);
}

void scatter(CheckedProgram& program, int root, int count) {
  const std::vector<int> all = of_all(program, 3, count);
  const void* from = program.rank() == root ? all.data() : nullptr;
  std::vector<int> own(static_cast<size_t>(count), -1);
  MPI_Scatter(from, count, MPI_INT, own.data(), count, MPI_INT, root, MPI_COMM_WORLD);
  program.holds(own == patterned(program.rank(), 3, static_cast<size_t>(count)));
  own.assign(own.size(), -1);
  void* to = program.rank() == root ? MPI_IN_PLACE : own.data();
  MPI_Scatter(from, count, MPI_INT, to, count, MPI_INT, root, MPI_COMM_WORLD);
  if (program.rank() != root) program.holds(own == patterned(program.rank(), 3, static_cast<size_t>(count)));
}

void allgather(CheckedProgram& program, int count) {
  const std::vector<int> own = patterned(program.rank(), 4, static_cast<size_t>(count)),
                         wanted = of_all(program, 4, count);
  std::vector<int> all(wanted.size(), -1);
  MPI_Allgather(own.data(), count, MPI_INT, all.data(), count, MPI_INT, MPI_COMM_WORLD);
  program.holds(all == wanted);
  all.assign(all.size(), -1);
  std::copy(own.begin(), own.end(), all.begin() + static_cast<ptrdiff_t>(program.rank()) * count);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), count, MPI_INT, MPI_COMM_WORLD);
  program.holds(all == wanted);
}

// What rank i sends to rank j is patterned(i, j).
void alltoall(CheckedProgram& program, int count) {
  std::vector<int> out, wanted;
  for (int peer = 0; peer < program.size(); ++peer) {
    for (int value : patterned(program.rank(), peer, static_cast<size_t>(count))) out.push_back(value);
    for (int value : patterned(peer, program.rank(), static_cast<size_t>(count))) wanted.push_back(value);
  }
  std::vector<int> in(out.size(), -1);
  MPI_Alltoall(out.data(), count, MPI_INT, in.data(), count, MPI_INT, MPI_COMM_WORLD);
  program.holds(in == wanted);
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out.data(), count, MPI_INT, MPI_COMM_WORLD);
  program.holds(out == wanted);
}

// Irregular forms: rank i has i * step elements (none for rank 0), at places with gaps between them, the last rank's
// first.
class Parts {
 public:
  Parts(int ranks, int step) {
    for (int rank = 0; rank < ranks; ++rank) counts.push_back(rank * step);
    displacements.resize(counts.size());
    int next = 1;
    for (size_t rank = counts.size(); rank-- > 0; next += counts[rank] + 2) displacements[rank] = next;
    total = static_cast<size_t>(next);
  }

  // All ranks' parts of patterned(rank, tag), -1 in the gaps.
  std::vector<int> filled(int tag) const {
    std::vector<int> all(total, -1);
    for (size_t rank = 0; rank < counts.size(); ++rank) put(all, static_cast<int>(rank), tag);
    return all;
  }

  void put(std::vector<int>& all, int rank, int tag) const {
    const auto at = static_cast<size_t>(rank);
    for (int i = 0; i < counts[at]; ++i)
      all[static_cast<size_t>(displacements[at] + i)] = pattern(rank, tag, static_cast<size_t>(i));
  }

  std::vector<int> counts, displacements;
  size_t total = 0;
};

void irregular_rooted(CheckedProgram& program, int root, int step) {
  const Parts parts(program.size(), step);
  const int count = parts.counts[static_cast<size_t>(program.rank())];
  const std::vector<int> own = patterned(program.rank(), 5, static_cast<size_t>(count));
  const bool is_root = program.rank() == root;
  std::vector<int> all(parts.total, -1);
  MPI_Gatherv(own.data(), count, MPI_INT, all.data(), parts.counts.data(), parts.displacements.data(), MPI_INT, root,
              MPI_COMM_WORLD);
  if (is_root) program.holds(all == parts.filled(5));
  all.assign(all.size(), -1);
  if (is_root) parts.put(all, root, 5);
  MPI_Gatherv(is_root ? MPI_IN_PLACE : own.data(), count, MPI_INT, all.data(), parts.counts.data(),
              parts.displacements.data(), MPI_INT, root, MPI_COMM_WORLD);
  if (is_root) program.holds(all == parts.filled(5));

  const std::vector<int> from = parts.filled(6);
  std::vector<int> to(static_cast<size_t>(count) + 1, -1),
      wanted = patterned(program.rank(), 6, static_cast<size_t>(count));
  wanted.push_back(-1);
  MPI_Scatterv(is_root ? from.data() : nullptr, parts.counts.data(), parts.displacements.data(), MPI_INT, to.data(),
               count, MPI_INT, root, MPI_COMM_WORLD);
  program.holds(to == wanted);
}

void irregular(CheckedProgram& program, int step) {
  const Parts parts(program.size(), step);
  const int count = parts.counts[static_cast<size_t>(program.rank())];
  const std::vector<int> own = patterned(program.rank(), 7, static_cast<size_t>(count));
  std::vector<int> all(parts.total, -1);
  MPI_Allgatherv(own.data(), count, MPI_INT, all.data(), parts.counts.data(), parts.displacements.data(), MPI_INT,
                 MPI_COMM_WORLD);
  program.holds(all == parts.filled(7));
  all.assign(all.size(), -1);
  parts.put(all, program.rank(), 7);
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), parts.counts.data(), parts.displacements.data(),
                 MPI_INT, MPI_COMM_WORLD);
  program.holds(all == parts.filled(7));
}

// Rank i sends rank j (i + j) % 3 * step elements.
class Exchange {
 public:
  Exchange(const CheckedProgram& program, int step) {
    int next = 2;
    for (int peer = 0; peer < program.size(); ++peer, next += counts.back() + 1) {
      counts.push_back((program.rank() + peer) % 3 * step);
      displacements.push_back(next);
    }
    out.assign(static_cast<size_t>(next), -1);
    wanted = out;
    for (int peer = 0; peer < program.size(); ++peer)
      for (int i = 0; i < counts[static_cast<size_t>(peer)]; ++i) {
        const auto place = static_cast<size_t>(displacements[static_cast<size_t>(peer)] + i);
        out[place] = pattern(program.rank(), peer, static_cast<size_t>(i));
        wanted[place] = pattern(peer, program.rank(), static_cast<size_t>(i));
      }
  }

  std::vector<int> counts, displacements, out, wanted;
};

void irregular_exchange(CheckedProgram& program, int step) {
  Exchange exchange(program, step);
  std::vector<int> in(exchange.out.size(), -1);
  const int *counts = exchange.counts.data(), *displacements = exchange.displacements.data();
  MPI_Alltoallv(exchange.out.data(), counts, displacements, MPI_INT, in.data(), counts, displacements, MPI_INT,
                MPI_COMM_WORLD);
  program.holds(in == exchange.wanted);
  std::vector<int> in_place = exchange.out;
  if (program.is_strict()) {  // of which Open MPI 4.1.2 makes nonsense, and hangs
    MPI_Alltoallv(MPI_IN_PLACE, nullptr, nullptr, MPI_DATATYPE_NULL, in_place.data(), counts, displacements, MPI_INT,
                  MPI_COMM_WORLD);
    program.holds(in_place == exchange.wanted);
  }

  // With a datatype for each peer; displacements in bytes.
  const std::vector<MPI_Datatype> types(exchange.counts.size(), MPI_INT);
  std::vector<int> bytes;
  for (int displacement : exchange.displacements) bytes.push_back(displacement * static_cast<int>(sizeof(int)));
  in.assign(in.size(), -1);
  MPI_Alltoallw(exchange.out.data(), counts, bytes.data(), types.data(), in.data(), counts, bytes.data(), types.data(),
                MPI_COMM_WORLD);
  program.holds(in == exchange.wanted);
  in_place = exchange.out;
  MPI_Alltoallw(MPI_IN_PLACE, nullptr, nullptr, nullptr, in_place.data(), counts, bytes.data(), types.data(),
                MPI_COMM_WORLD);
  program.holds(in_place == exchange.wanted);
}

// One side has gaps, the other has none.
void derived_datatypes(CheckedProgram& program, int root, int count) {
  MPI_Datatype type = spaced();
  const auto length = static_cast<size_t>(count);
  const std::vector<int> own = patterned(program.rank(), 8, length), own_wide = in_every_other_place(own);
  const std::vector<int> all = of_all(program, 8, count), all_wide = in_every_other_place(all);
  std::vector<int> got(all.size(), -1), got_wide(all_wide.size(), -1);
  MPI_Allgather(own_wide.data(), count, type, got.data(), count, MPI_INT, MPI_COMM_WORLD);
  program.holds(got == all);
  MPI_Gather(own.data(), count, MPI_INT, got_wide.data(), count, type, root, MPI_COMM_WORLD);
  if (program.rank() == root) program.holds(got_wide == all_wide);
  got.assign(length, -1);
  MPI_Scatter(all_wide.data(), count, type, got.data(), count, MPI_INT, root, MPI_COMM_WORLD);
  program.holds(got == own);
  got_wide.assign(2 * length, -1);
  if (program.rank() == root)
    MPI_Bcast(const_cast<int*>(own.data()), count, MPI_INT, root, MPI_COMM_WORLD);
  else
    MPI_Bcast(got_wide.data(), count, type, root, MPI_COMM_WORLD);
  if (program.rank() != root) program.holds(got_wide == in_every_other_place(patterned(root, 8, length)));
  got_wide.assign(all_wide.size(), -1);
  MPI_Alltoall(all.data(), count, MPI_INT, got_wide.data(), count, type, MPI_COMM_WORLD);
  std::vector<int> wanted;
  for (int peer = 0; peer < program.size(); ++peer)
    for (int value : slice(all, program.rank(), count)) wanted.push_back(value);
  program.holds(got_wide == in_every_other_place(wanted));
  MPI_Type_free(&type);
}

// A rank that runs ahead must not disturb those that are still in an earlier operation.
void one_after_the_other(CheckedProgram& program) {
  for (int round = 0; round < 50; ++round) {
    int value = program.rank() == round % program.size() ? round : -1, sum = 0;
    MPI_Bcast(&value, 1, MPI_INT, round % program.size(), MPI_COMM_WORLD);
    program.equal(value, round);
    std::vector<int> all(static_cast<size_t>(program.size()));
    MPI_Gather(&value, 1, MPI_INT, all.data(), 1, MPI_INT, (round + 1) % program.size(), MPI_COMM_WORLD);
    MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, (round + 2) % program.size(), MPI_COMM_WORLD);
    if (program.rank() == (round + 1) % program.size()) program.holds(all == std::vector<int>(all.size(), round));
    if (program.rank() == (round + 2) % program.size()) program.equal(sum, round * program.size());
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  for (int count : kCounts) {
    for (int root = 0; root < program.size(); ++root) {
      broadcast(program, root, count);
      gather(program, root, count);
      scatter(program, root, count);
    }
    allgather(program, count);
    alltoall(program, count);
  }
  for (int step : {0, 1, 50, 9000}) {
    for (int root = 0; root < program.size(); ++root) irregular_rooted(program, root, step);
    irregular(program, step);
    irregular_exchange(program, step);
  }
  for (int count : {0, 5, 4000}) derived_datatypes(program, program.size() - 1, count);
  one_after_the_other(program);
  return program.finish();
}
