// Reductions, prefixes and barriers that combine within each node first: vectors around the lengths at which they are
// cut into blocks and pieces, communicators whose ranks are on the nodes in any order, and one operation right after
// another.
//
// Prints a digest of sums that rounding makes depend on the order: the same in every run on the same nodes.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>

#include "checked_program.h"
#include "line_functions.h"

namespace {

constexpr size_t kBlock = (16 << 10) / sizeof(uint32_t), kPiece = (1 << 20) / sizeof(uint32_t);  // numbers

// Members of MPI_COMM_WORLD in another order or a part of them.
class Part {
 public:
  Part(int color, int key) {
    MPI_Comm_split(MPI_COMM_WORLD, color, key, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  ~Part() { MPI_Comm_free(&comm); }

  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0, size = 0;
};

// Numbers with a gap behind each, which is nobody's.
struct Spaced {
  uint32_t number, gap;
  bool operator==(const Spaced&) const = default;
};

void add_spaced(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<Spaced*>(inout)[i].number += static_cast<Spaced*>(in)[i].number;
}

// What is reduced: elements of a type, how they are combined, and what a rank has for each place.
struct Numbers {
  using Element = uint32_t;
  static constexpr bool kIsOfMpi = true;  // nonblocking, others are the library's
  static constexpr Element kUntouched = 7;
  MPI_Datatype type = MPI_UINT32_T;
  MPI_Op op = MPI_SUM;
  static Element of(int rank, size_t i) { return static_cast<Element>(pattern(rank, 1, i)); }
};

template <typename Kind>
struct OwnOperation : Kind {
  OwnOperation(MPI_User_function* function, bool commutes) { MPI_Op_create(function, commutes ? 1 : 0, &this->op); }
  OwnOperation(const OwnOperation&) = delete;
  OwnOperation& operator=(const OwnOperation&) = delete;
  ~OwnOperation() {
    MPI_Op_free(&this->op);
    MPI_Type_free(&this->type);
  }
};

struct LineKind {
  using Element = Line;
  static constexpr bool kIsOfMpi = false;
  static constexpr Element kUntouched = {7, 7};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  LineKind() {
    MPI_Type_contiguous(2, MPI_UINT32_T, &type);
    MPI_Type_commit(&type);
  }
  static Element of(int rank, size_t i) {
    return {static_cast<uint32_t>(pattern(rank, 2, i)), static_cast<uint32_t>(pattern(rank, 3, i))};
  }
};

struct SpacedKind {
  using Element = Spaced;
  static constexpr bool kIsOfMpi = false;
  static constexpr Element kUntouched = {7, 7};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  SpacedKind() {
    MPI_Type_create_resized(MPI_UINT32_T, 0, sizeof(Spaced), &type);
    MPI_Type_commit(&type);
  }
  static Element of(int rank, size_t i) { return {static_cast<uint32_t>(pattern(rank, 4, i)), 7}; }
};

// With gaps, too, but of MPI's own.
struct Located {
  double value;
  int place;
  bool operator==(const Located&) const = default;
};

struct LocatedKind {
  using Element = Located;
  static constexpr bool kIsOfMpi = true;
  static constexpr Element kUntouched = {7, 7};
  MPI_Datatype type = MPI_DOUBLE_INT;
  MPI_Op op = MPI_MAXLOC;
  static Element of(int rank, size_t i) {
    return {static_cast<double>(static_cast<uint32_t>(pattern(rank, 5, i)) % 5), rank};
  }
};

template <typename Kind>
class Reductions {
 public:
  using Element = typename Kind::Element;

  Reductions(CheckedProgram& program, const Part& part, const Kind& kind, size_t length)
      : program_(program),
        part_(part),
        kind_(kind),
        length_(length),
        prefix_(untouched()),
        prefix_before_(untouched()),
        wanted_(contribution(0)) {
    for (int rank = 0; rank < part.size; ++rank) {
      if (rank == part.rank) prefix_before_ = rank == 0 ? untouched() : wanted_;
      if (rank > 0) {
        std::vector<Element> next = contribution(rank);
        MPI_Reduce_local(wanted_.data(), next.data(), count(), kind.type, kind.op);
        wanted_ = next;
      }
      if (rank == part.rank) prefix_ = wanted_;
    }
  }

  void check_all() {
    std::vector<Element> own = contribution(part_.rank), result = untouched();
    MPI_Allreduce(own.data(), result.data(), count(), kind_.type, kind_.op, part_.comm);
    program_.holds(result == wanted_);
    program_.holds(own == contribution(part_.rank));
    MPI_Allreduce(MPI_IN_PLACE, own.data(), count(), kind_.type, kind_.op, part_.comm);
    program_.holds(own == wanted_);
  }

  void check_prefixes() {
    std::vector<Element> own = contribution(part_.rank), result = untouched();
    MPI_Scan(own.data(), result.data(), count(), kind_.type, kind_.op, part_.comm);
    program_.holds(result == prefix_);
    result = untouched();
    MPI_Exscan(own.data(), result.data(), count(), kind_.type, kind_.op, part_.comm);
    program_.holds(result == prefix_before_ || is_undefined_before());
    program_.holds(own == contribution(part_.rank));
    MPI_Scan(MPI_IN_PLACE, own.data(), count(), kind_.type, kind_.op, part_.comm);
    program_.holds(own == prefix_);
    own = contribution(part_.rank);
    MPI_Exscan(MPI_IN_PLACE, own.data(), count(), kind_.type, kind_.op, part_.comm);
    program_.holds(own == (part_.rank > 0 ? prefix_before_ : contribution(0)) || is_undefined_before());
  }

  // All at a time, each with a result of its own, and in place.
  void check_nonblocking(int root) {
    const auto self = static_cast<size_t>(part_.rank);
    const std::vector<int> counts = counts_of_parts();
    const std::vector<Element> own = contribution(part_.rank), wanted_part = part_of(wanted_);
    std::vector<Element> reduced = untouched(), sum = untouched(), prefix = untouched(), before = untouched();
    std::vector<Element> part(wanted_part.size(), Kind::kUntouched);
    std::vector<Element> sum_here = own, prefix_here = own, before_here = own, parts_here = own, reduced_here = own;
    const MPI_Datatype type = kind_.type;
    const MPI_Op op = kind_.op;
    const MPI_Comm comm = part_.comm;
    MPI_Request requests[10];
    MPI_Ireduce(own.data(), reduced.data(), count(), type, op, root, comm, &requests[0]);
    MPI_Iallreduce(own.data(), sum.data(), count(), type, op, comm, &requests[1]);
    MPI_Ireduce_scatter(own.data(), part.data(), counts.data(), type, op, comm, &requests[2]);
    MPI_Iscan(own.data(), prefix.data(), count(), type, op, comm, &requests[3]);
    MPI_Iexscan(own.data(), before.data(), count(), type, op, comm, &requests[4]);
    int open = 5;
    if (program_.is_strict()) {
      const bool is_root = part_.rank == root;
      MPI_Ireduce(is_root ? MPI_IN_PLACE : own.data(), reduced_here.data(), count(), type, op, root, comm,
                  &requests[5]);
      MPI_Iallreduce(MPI_IN_PLACE, sum_here.data(), count(), type, op, comm, &requests[6]);
      MPI_Ireduce_scatter(MPI_IN_PLACE, parts_here.data(), counts.data(), type, op, comm, &requests[7]);
      MPI_Iscan(MPI_IN_PLACE, prefix_here.data(), count(), type, op, comm, &requests[8]);
      MPI_Iexscan(MPI_IN_PLACE, before_here.data(), count(), type, op, comm, &requests[9]);
      open = 10;
      std::rotate(requests, requests + self % 10, requests + 10);
    }
    MPI_Waitall(open, requests, MPI_STATUSES_IGNORE);
    program_.holds(reduced == (part_.rank == root ? wanted_ : untouched()));
    program_.holds(sum == wanted_);
    program_.holds(part == wanted_part);
    program_.holds(prefix == prefix_);
    program_.holds(before == prefix_before_ || is_undefined_before());
    program_.holds(own == contribution(part_.rank));
    if (!program_.is_strict()) return;
    program_.holds(reduced_here == (part_.rank == root ? wanted_ : own));
    program_.holds(sum_here == wanted_);
    program_.holds(std::equal(wanted_part.begin(), wanted_part.end(), parts_here.begin()));
    program_.holds(prefix_here == prefix_);
    program_.holds(before_here == (part_.rank > 0 ? prefix_before_ : own));
  }

  void check_scattered() {
    const std::vector<int> counts = counts_of_parts();
    const std::vector<Element> wanted = part_of(wanted_);
    std::vector<Element> own = contribution(part_.rank), result(wanted.size(), Kind::kUntouched);
    MPI_Reduce_scatter(own.data(), result.data(), counts.data(), kind_.type, kind_.op, part_.comm);
    program_.holds(result == wanted);
    program_.holds(own == contribution(part_.rank));
    if (!program_.is_strict()) return;  // in place, not every library keeps the gaps
    MPI_Reduce_scatter(MPI_IN_PLACE, own.data(), counts.data(), kind_.type, kind_.op, part_.comm);
    program_.holds(std::equal(wanted.begin(), wanted.end(), own.begin()));
  }

  void check_root(int root) {
    const std::vector<Element> own = contribution(part_.rank);
    std::vector<Element> result = untouched();
    MPI_Reduce(own.data(), result.data(), count(), kind_.type, kind_.op, root, part_.comm);
    program_.holds(result == (part_.rank == root ? wanted_ : untouched()));
    if (!program_.is_strict()) return;  // MPICH 4.0 crashes from what follows
    result = own;
    MPI_Reduce(part_.rank == root ? MPI_IN_PLACE : own.data(), result.data(), count(), kind_.type, kind_.op, root,
               part_.comm);
    program_.holds(result == (part_.rank == root ? wanted_ : own));
  }

 private:
  int count() const { return static_cast<int>(length_); }
  std::vector<Element> untouched() const { return std::vector<Element>(length_, Kind::kUntouched); }

  // What an exclusive prefix leaves at rank 0, which Spillway does not touch.
  bool is_undefined_before() const { return part_.rank == 0 && !program_.is_strict(); }

  // Each rank gets a part, the first ones an element more.
  std::vector<int> counts_of_parts() const {
    const auto size = static_cast<size_t>(part_.size);
    std::vector<int> counts;
    for (size_t rank = 0; rank < size; ++rank)
      counts.push_back(static_cast<int>(length_ / size + (rank < length_ % size ? 1 : 0)));
    return counts;
  }
  std::vector<Element> part_of(const std::vector<Element>& all) const {
    const auto size = static_cast<size_t>(part_.size), self = static_cast<size_t>(part_.rank);
    const auto begin = static_cast<ptrdiff_t>(length_ / size * self + std::min(self, length_ % size));
    return {all.begin() + begin, all.begin() + begin + counts_of_parts()[self]};
  }

  std::vector<Element> contribution(int rank) const {
    std::vector<Element> made(length_);
    for (size_t i = 0; i < length_; ++i) made[i] = Kind::of(rank, i);
    return made;
  }

  CheckedProgram& program_;
  const Part& part_;
  const Kind& kind_;
  size_t length_;
  std::vector<Element> prefix_, prefix_before_;  // of this rank
  std::vector<Element> wanted_;
};

template <typename Kind>
void reduce_vectors(CheckedProgram& program, const Part& part, const Kind& kind, const std::vector<size_t>& lengths) {
  for (size_t length : lengths) {
    Reductions<Kind> reductions(program, part, kind, length);
    reductions.check_all();
    reductions.check_scattered();
    reductions.check_prefixes();
    if constexpr (Kind::kIsOfMpi) reductions.check_nonblocking(part.size - 1);
    reductions.check_root(part.size / 2);
    if (length > kBlock) continue;
    reductions.check_root(0);
    reductions.check_root(part.size - 1);
  }
}

void reduce_all_kinds(CheckedProgram& program, const Part& part) {
  const OwnOperation<LineKind> lines(compose, false);
  const OwnOperation<SpacedKind> spaced(add_spaced, true);
  const auto ranks = static_cast<size_t>(part.size);
  reduce_vectors(program, part, Numbers(), {0, 1, 7, 2 * kBlock - 1, 3 * kBlock, ranks * kBlock + 5});
  reduce_vectors(program, part, LocatedKind(), {0, 1, 9, kBlock + 1});
  for (size_t length : {size_t{0}, size_t{1}, size_t{9}, kBlock + 1, 3 * kBlock / 2}) {
    reduce_vectors(program, part, lines, {length});
    reduce_vectors(program, part, spaced, {length});
  }
}

// Blocks of a piece and of several.
void reduce_long_vectors(CheckedProgram& program, const Part& part) {
  reduce_vectors(program, part, Numbers(), {kPiece - 1, 3 * kPiece, 3 * kPiece + 5});
  const OwnOperation<LineKind> lines(compose, false);
  reduce_vectors(program, part, lines, {kPiece + 1});
  const OwnOperation<SpacedKind> spaced(add_spaced, true);
  reduce_vectors(program, part, spaced, {kPiece + 1});
}

uint64_t sum_of_roundings(CheckedProgram& program, const Part& part) {
  constexpr int kLength = 20011;
  std::vector<double> own(kLength), first(own.size()), again(own.size());
  for (size_t i = 0; i < own.size(); ++i) own[i] = (i % 2 == 0 ? 1e9 : 1.0) / (1 + pattern(part.rank, 9, i));
  MPI_Allreduce(own.data(), first.data(), kLength, MPI_DOUBLE, MPI_SUM, part.comm);
  for (int round = 0; round < 3; ++round) {
    MPI_Allreduce(own.data(), again.data(), kLength, MPI_DOUBLE, MPI_SUM, part.comm);
    program.holds(memcmp(first.data(), again.data(), first.size() * sizeof(double)) == 0);
  }
  MPI_Bcast(again.data(), kLength, MPI_DOUBLE, part.size - 1, part.comm);
  program.holds(memcmp(first.data(), again.data(), first.size() * sizeof(double)) == 0);
  MPI_Reduce(own.data(), again.data(), kLength, MPI_DOUBLE, MPI_SUM, 0, part.comm);
  uint64_t digest = 0, bits = 0;
  for (const std::vector<double>& sums : {first, again})
    for (double sum : sums) {
      memcpy(&bits, &sum, sizeof bits);
      digest = (digest ^ bits) * 0x9e3779b97f4a7c15u;
    }
  return digest;
}

// Ranks of a node come at the same time, and any of them last.
void begin_at_the_same_time(CheckedProgram& program, const Part& part) {
  constexpr int kOpen = 6;
  for (int round = 0; round < 100; ++round) {
    const int mine = part.rank + round;
    int sums[kOpen], prefixes[kOpen];
    MPI_Request requests[2 * kOpen];
    if (round % 8 == 0 && round / 8 % part.size == part.rank)
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    for (int i = 0; i < kOpen; ++i) {
      MPI_Iallreduce(&mine, &sums[i], 1, MPI_INT, MPI_SUM, part.comm, &requests[2 * i]);
      MPI_Iscan(&mine, &prefixes[i], 1, MPI_INT, MPI_SUM, part.comm, &requests[2 * i + 1]);
    }
    MPI_Waitall(2 * kOpen, requests, MPI_STATUSES_IGNORE);
    const int size = part.size, until = part.rank + 1;
    for (int i = 0; i < kOpen; ++i) {
      program.equal(sums[i], size * (size - 1) / 2 + size * round);
      program.equal(prefixes[i], until * (until - 1) / 2 + until * round);
    }
  }
}

// Nobody leaves before the last one has come. All ranks are on one machine, with one clock.
void wait_for_the_last(CheckedProgram& program, const Part& part) {
  for (int late : {0, part.size - 1}) {
    if (part.rank == late) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch().count(); };
    const int64_t came = now();
    MPI_Barrier(part.comm);
    const int64_t left = now();
    int64_t last_came = 0;
    MPI_Allreduce(&came, &last_came, 1, MPI_INT64_T, MPI_MAX, part.comm);
    program.holds(left >= last_came);
  }
}

// Long ones and short ones in turn, blocking and not: none may be taken for another.
class Mixture {
 public:
  Mixture(CheckedProgram& program, const Part& part)
      : program_(program),
        part_(part),
        ranks_(static_cast<size_t>(part.size)),
        words_(4 * ranks_),
        got_(words_.size()) {}

  void run(int rounds, size_t long_length) {
    begin_persistent();
    for (int round = 0; round < rounds; ++round) {
      const int root = round % part_.size;
      MPI_Request requests[3];
      int early = part_.rank + round, early_sum = -1, late_word = part_.rank == root ? round * 3 : -1;
      MPI_Iallreduce(&early, &early_sum, 1, MPI_INT, MPI_SUM, part_.comm, &requests[0]);
      start_persistent(round);
      broadcast(root, round, long_length);
      exchange(round);
      MPI_Ibcast(&late_word, 1, MPI_INT, root, part_.comm, &requests[1]);
      sum(round);
      broadcast(root, round + 1, 3);
      MPI_Ibarrier(part_.comm, &requests[2]);
      sum(round + 1);
      MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
      program_.equal(early_sum, sum_of_ranks() + part_.size * round);
      program_.equal(late_word, round * 3);
      finish_persistent(round);
    }
    end_persistent();
  }

 private:
  int sum_of_ranks() const { return part_.size * (part_.size - 1) / 2; }

  void broadcast(int root, int round, size_t length) {
    const std::vector<int> wanted = patterned(root, round, length);
    std::vector<int> data = part_.rank == root ? wanted : std::vector<int>(length, -1);
    MPI_Bcast(data.data(), static_cast<int>(length), MPI_INT, root, part_.comm);
    program_.holds(data == wanted);
  }

  void exchange(int round) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] = part_.rank * 1000 + round + static_cast<int>(i / 4);
    MPI_Alltoall(words_.data(), 4, MPI_INT, got_.data(), 4, MPI_INT, part_.comm);
    for (size_t i = 0; i < got_.size(); ++i)
      program_.equal(got_[i], static_cast<int>(i / 4) * 1000 + round + part_.rank);
  }

  void sum(int round) {
    int64_t mine = part_.rank + round, all = -1;
    MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, part_.comm);
    program_.equal(all, sum_of_ranks() + part_.size * round);
  }

#ifdef SPILLWAY_TEST_HAS_MPI_4
  // Two of them, which the ranks start in different orders. (MPICH 4.0 sends the same again.)
  void begin_persistent() {
    if (!program_.is_strict()) return;
    MPI_Bcast_init(&kept_word_, 1, MPI_INT, 0, part_.comm, MPI_INFO_NULL, &kept_[0]);
    MPI_Allreduce_init(&kept_mine_, &kept_sum_, 1, MPI_INT, MPI_SUM, part_.comm, MPI_INFO_NULL, &kept_[1]);
  }
  void start_persistent(int round) {
    if (!program_.is_strict()) return;
    kept_word_ = part_.rank == 0 ? round : -1;
    kept_mine_ = part_.rank - round;
    for (int i = 0; i < 2; ++i) MPI_Start(&kept_[(i + part_.rank) % 2]);
  }
  void finish_persistent(int round) {
    if (!program_.is_strict()) return;
    MPI_Waitall(2, kept_, MPI_STATUSES_IGNORE);
    program_.equal(kept_word_, round);
    program_.equal(kept_sum_, sum_of_ranks() - part_.size * round);
  }
  void end_persistent() {
    if (program_.is_strict())
      for (MPI_Request& request : kept_) MPI_Request_free(&request);
  }

  MPI_Request kept_[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int kept_word_ = -1, kept_mine_ = 0, kept_sum_ = -1;
#else
  void begin_persistent() {}
  void start_persistent(int) {}
  void finish_persistent(int) {}
  void end_persistent() {}
#endif

  CheckedProgram& program_;
  const Part& part_;
  size_t ranks_;
  std::vector<int> words_, got_;
};

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  uint64_t digest = 0;
  {
    const int rank = program.rank(), size = program.size();
    const Part all(0, rank), backwards(0, -rank), interleaved(0, rank % 2 * size + rank), neighbours(rank / 2, -rank),
        every_second(rank % 2, rank), alone(rank, 0);
    for (const Part* part : {&all, &backwards, &interleaved, &neighbours, &every_second, &alone}) {
      reduce_all_kinds(program, *part);
      digest = digest * 31 + sum_of_roundings(program, *part);
      begin_at_the_same_time(program, *part);
      wait_for_the_last(program, *part);
      Mixture(program, *part).run(8, 100);
    }
    for (const Part* part : {&all, &interleaved}) reduce_long_vectors(program, *part);
    Mixture(program, interleaved).run(5, kPiece);
  }
  if (program.rank() == 0) printf("digest %016llx\n", static_cast<unsigned long long>(digest));
  return program.finish();
}
