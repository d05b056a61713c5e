// Seldom-used forms of nonblocking and persistent reductions: in place, scattered with nothing for some ranks, pairs,
// operations of the program's that do not commute and that it frees at once, long vectors, many open at a time and
// ended in any order, started a hundred times.
//
// Prints a digest of all results, which plain MPI gives, too.
#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>

#include "checked_program.h"
#include "line_functions.h"

namespace {

// The same of two numbers of MPI's own type, of which it knows that they come in pairs.
void compose_numbers(void* in, void* inout, int* count, MPI_Datatype* type) {
  if (*type != MPI_UINT64_T) MPI_Abort(MPI_COMM_WORLD, 3);
  compose(in, inout, count, type);
}

void add_numbers(void* in, void* inout, int* count, MPI_Datatype* type) {
  if (*type != MPI_UINT32_T) MPI_Abort(MPI_COMM_WORLD, 3);
  for (int i = 0; i < *count; ++i) static_cast<uint32_t*>(inout)[i] += static_cast<uint32_t*>(in)[i];
}

struct Located {
  double value;
  int place;
  bool operator==(const Located& other) const { return value == other.value && place == other.place; }
};

// What is reduced. A new type and operation for each call: they are freed as soon as it has begun.
struct Numbers {
  using Element = uint32_t;
  static MPI_Datatype type() { return MPI_UINT32_T; }
  static MPI_Op op() { return MPI_SUM; }
  static Element of(int rank, int round, size_t i) { return static_cast<Element>(pattern(rank, round, i)); }
};
struct OwnSum : Numbers {
  static MPI_Op op() {
    MPI_Op made;
    MPI_Op_create(add_numbers, 1, &made);
    return made;
  }
};
struct Pairs {
  using Element = Located;
  static MPI_Datatype type() { return MPI_DOUBLE_INT; }
  static MPI_Op op() { return MPI_MINLOC; }
  static Element of(int rank, int round, size_t i) {
    return {static_cast<double>(static_cast<uint32_t>(pattern(rank, round, i)) % 4), 100 - rank};
  }
};
struct Lines {
  using Element = Line;
  static MPI_Datatype type() {
    MPI_Datatype made;
    MPI_Type_contiguous(2, MPI_UINT32_T, &made);
    MPI_Type_commit(&made);
    return made;
  }
  static MPI_Op op() {
    MPI_Op made;
    MPI_Op_create(compose, 0, &made);
    return made;
  }
  static Element of(int rank, int round, size_t i) {
    return {static_cast<uint32_t>(pattern(rank, round, i)), static_cast<uint32_t>(pattern(rank, round + 1000, i))};
  }
};
struct PlainLines : Lines {
  static MPI_Datatype type() { return MPI_UINT64_T; }
  static MPI_Op op() {
    MPI_Op made;
    MPI_Op_create(compose_numbers, 0, &made);
    return made;
  }
};

bool is_own_of_mpi(MPI_Op op) { return op == MPI_SUM || op == MPI_MINLOC; }
bool is_named(MPI_Datatype type) {
  int integers, addresses, types, combiner;
  MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  return combiner == MPI_COMBINER_NAMED;
}

uint64_t digest = 0;

enum class Form { reduce, allreduce, scan, exscan, scatter_block, scatter };
constexpr Form kForms[] = {Form::reduce, Form::allreduce, Form::scan, Form::exscan, Form::scatter_block, Form::scatter};

// One operation and its buffers.
class Any {
 public:
  virtual ~Any() = default;
  virtual void check() = 0;
  virtual void start(int round) = 0;
  MPI_Request request = MPI_REQUEST_NULL;
};

template <typename Kind>
class Reduction final : public Any {
 public:
  using Element = typename Kind::Element;

  Reduction(CheckedProgram& program, MPI_Comm comm, Form form, size_t length, bool is_in_place, bool is_persistent)
      : program_(program), comm_(comm), form_(form), length_(length), is_in_place_(is_in_place) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    const auto size = static_cast<size_t>(size_);
    if (form == Form::scatter_block) length_ = length / size * size;
    // Every third rank gets nothing.
    counts_.assign(size, static_cast<int>(length_ / size));
    if (form == Form::scatter) {
      for (size_t i = 0; i < size; i += 3) counts_[i] = 0;
      counts_.back() += static_cast<int>(length_) - std::accumulate(counts_.begin(), counts_.end(), 0);
    }
    is_in_place_ = is_in_place && (form != Form::reduce || rank_ == root());
    in_.resize(length_);
    out_.resize(length_);
    if (is_persistent) begin(true);
  }

  void start(int round) override {
    round_ = round;
    for (size_t i = 0; i < length_; ++i) in_[i] = Kind::of(rank_, round, i);
    for (size_t i = 0; i < length_; ++i) out_[i] = is_in_place_ ? in_[i] : untouched();  // at the same address
    if (request != MPI_REQUEST_NULL)
      MPI_Start(&request);
    else
      begin(false);
  }

  void check() override {
    const auto part = [&](const std::vector<Element>& all, int from) {
      const auto first = all.begin() + std::accumulate(counts_.begin(), counts_.begin() + from, 0);
      return std::vector<Element>(first, first + counts_[static_cast<size_t>(from)]);
    };
    const bool is_scattered = form_ == Form::scatter || form_ == Form::scatter_block;
    if ((form_ == Form::reduce && rank_ != root()) || (form_ == Form::exscan && rank_ == 0)) {
      // MPI leaves open what rank 0 has of MPI_Exscan.
      if (form_ == Form::reduce || program_.is_strict())
        program_.holds(out_ == (is_in_place_ ? in_ : std::vector<Element>(length_, untouched())));
      return;
    }
    const int end = form_ == Form::scan ? rank_ + 1 : form_ == Form::exscan ? rank_ : size_;
    std::vector<Element> wanted = folded(end);
    std::vector<Element> got = out_;
    if (is_scattered) {
      wanted = part(wanted, rank_);
      got.resize(wanted.size());
    }
    program_.holds(got == wanted);
    for (const Element& each : got) {
      uint64_t number = 0;
      if constexpr (sizeof(Element) == 4)
        number = each;
      else if constexpr (std::is_same_v<Element, Line>)
        number = static_cast<uint64_t>(each.factor) << 32 | each.shift;
      else
        number = static_cast<uint64_t>(each.value) << 32 | static_cast<uint32_t>(each.place);
      digest = (digest ^ number) * 0x9e3779b97f4a7c15u;
    }
  }

 private:
  static Element untouched() { return Kind::of(77, 77, 77); }
  int root() const { return size_ / 2; }

  std::vector<Element> folded(int end) const {
    MPI_Op op = Kind::op();
    MPI_Datatype type = Kind::type();
    std::vector<Element> sum(length_), next(length_);
    for (int rank = 0; rank < end; ++rank) {
      for (size_t i = 0; i < length_; ++i) next[i] = Kind::of(rank, round_, i);
      if (rank > 0) MPI_Reduce_local(sum.data(), next.data(), static_cast<int>(length_), type, op);
      std::swap(sum, next);
    }
    end_of(type, op);
    return sum;
  }

  static void end_of(MPI_Datatype type, MPI_Op op) {
    if (!is_own_of_mpi(op)) MPI_Op_free(&op);
    if (!is_named(type)) MPI_Type_free(&type);
  }

  void begin(bool is_persistent) {
    MPI_Op op = Kind::op();
    MPI_Datatype type = Kind::type();
    const int count = static_cast<int>(length_);
    const void* in = is_in_place_ ? MPI_IN_PLACE : in_.data();
    void* out = out_.data();
    if (!is_persistent) {
      if (form_ == Form::reduce) MPI_Ireduce(in, out, count, type, op, root(), comm_, &request);
      if (form_ == Form::allreduce) MPI_Iallreduce(in, out, count, type, op, comm_, &request);
      if (form_ == Form::scan) MPI_Iscan(in, out, count, type, op, comm_, &request);
      if (form_ == Form::exscan) MPI_Iexscan(in, out, count, type, op, comm_, &request);
      if (form_ == Form::scatter_block) MPI_Ireduce_scatter_block(in, out, counts_[0], type, op, comm_, &request);
      if (form_ == Form::scatter) MPI_Ireduce_scatter(in, out, counts_.data(), type, op, comm_, &request);
    }
#ifdef SPILLWAY_TEST_HAS_MPI_4
    const MPI_Info info = MPI_INFO_NULL;
    if (is_persistent) {
      if (form_ == Form::reduce) MPI_Reduce_init(in, out, count, type, op, root(), comm_, info, &request);
      if (form_ == Form::allreduce) MPI_Allreduce_init(in, out, count, type, op, comm_, info, &request);
      if (form_ == Form::scan) MPI_Scan_init(in, out, count, type, op, comm_, info, &request);
      if (form_ == Form::exscan) MPI_Exscan_init(in, out, count, type, op, comm_, info, &request);
      if (form_ == Form::scatter_block)
        MPI_Reduce_scatter_block_init(in, out, counts_[0], type, op, comm_, info, &request);
      if (form_ == Form::scatter) MPI_Reduce_scatter_init(in, out, counts_.data(), type, op, comm_, info, &request);
    }
#endif
    end_of(type, op);
  }

  CheckedProgram& program_;
  MPI_Comm comm_;
  Form form_;
  size_t length_;
  bool is_in_place_;
  int rank_ = 0, size_ = 0, round_ = 0;
  std::vector<int> counts_;
  std::vector<Element> in_, out_;
};

using Reductions = std::vector<std::unique_ptr<Any>>;

void add_all_kinds(CheckedProgram& program, Reductions& all, MPI_Comm comm, Form form, size_t length, bool is_in_place,
                   bool is_persistent) {
  const auto add = [&]<typename Kind>(Kind) {
    all.push_back(std::make_unique<Reduction<Kind>>(program, comm, form, length, is_in_place, is_persistent));
  };
  add(Numbers());
  add(OwnSum());
  add(Pairs());
  add(Lines());
  add(PlainLines());
}

enum class Order { all, backwards, any, some, tested };

void end_all(Reductions& all, Order order) {
  std::vector<MPI_Request> requests;
  for (const auto& each : all) requests.push_back(each->request);
  const int count = static_cast<int>(requests.size());
  std::vector<int> done(requests.size());
  int ended = 0, index = 0;
  if (order == Order::backwards)
    for (auto request = requests.rbegin(); request != requests.rend(); ++request)
      MPI_Wait(&*request, MPI_STATUS_IGNORE);
  if (order == Order::any)
    for (int i = 0; i < count; ++i) MPI_Waitany(count, requests.data(), &index, MPI_STATUS_IGNORE);
  for (int left = count; order == Order::some && left > 0; left -= ended)
    MPI_Waitsome(count, requests.data(), &ended, done.data(), MPI_STATUSES_IGNORE);
  for (int left = count; order == Order::tested && left > 0; left -= ended)
    MPI_Testsome(count, requests.data(), &ended, done.data(), MPI_STATUSES_IGNORE);
  MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
  for (size_t i = 0; i < all.size(); ++i) all[i]->request = requests[i];
}

// All at a time on one communicator.
void many_open(CheckedProgram& program, MPI_Comm comm) {
  int round = 0;
  for (Order order : {Order::all, Order::backwards, Order::any, Order::some, Order::tested}) {
    for (size_t length : {size_t{0}, size_t{1}, size_t{12}, size_t{700}}) {
      Reductions all;
      for (Form form : kForms) {
        add_all_kinds(program, all, comm, form, length, false, false);
        if (program.is_strict()) add_all_kinds(program, all, comm, form, length, true, false);
      }
      for (auto& each : all) each->start(++round);
      end_all(all, order);
      for (auto& each : all) each->check();
    }
  }
}

// Also such as are the library's under Spillway.
void long_ones(CheckedProgram& program, MPI_Comm comm) {
  constexpr size_t kLong = 140001, kLonger = 270001;
  Reductions all;
  for (Form form : kForms) {
    all.push_back(std::make_unique<Reduction<Numbers>>(program, comm, form, kLonger, false, false));
    all.push_back(std::make_unique<Reduction<OwnSum>>(program, comm, form, kLonger, false, false));
    all.push_back(std::make_unique<Reduction<Pairs>>(program, comm, form, kLong, false, false));
    all.push_back(std::make_unique<Reduction<PlainLines>>(program, comm, form, kLong, false, false));
  }
  all.push_back(std::make_unique<Reduction<Lines>>(program, comm, Form::allreduce, kLong, false, false));
  int round = 0;
  for (auto& each : all) each->start(++round);
  end_all(all, Order::any);
  for (auto& each : all) each->check();
}

// Some start others than the rest do first.
void started_again(CheckedProgram& program, MPI_Comm comm) {
#ifdef SPILLWAY_TEST_HAS_MPI_4
  if (!program.is_strict()) return;  // MPICH 4.0 sends the same again
  Reductions all;
  for (Form form : kForms) {
    add_all_kinds(program, all, comm, form, 5, false, true);
    add_all_kinds(program, all, comm, form, 90, true, true);
  }
  for (int round = 0; round < 30; ++round) {
    for (auto& each : all) each->start(round);
    end_all(all, round % 2 == 0 ? Order::all : Order::any);
    for (auto& each : all) each->check();
  }
  for (auto& each : all) MPI_Request_free(&each->request);
#endif
  static_cast<void>(program);
  static_cast<void>(comm);
}

// Each half has the sum of the other one's.
void between_halves(CheckedProgram& program) {
  if (program.size() < 2) return;
  const int color = program.rank() % 2;
  MPI_Comm half, both;
  MPI_Comm_split(MPI_COMM_WORLD, color, program.rank(), &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - color, 5, &both);
  int here = 0, there = 0, rank = 0;
  MPI_Comm_size(both, &here);
  MPI_Comm_remote_size(both, &there);
  MPI_Comm_rank(both, &rank);
  for (int round = 0; round < 3; ++round) {
    const auto remote_rank = [&](int i) { return 2 * i + (1 - color); };
    int mine = program.rank() + round, sum = -1, reduced = -1, word = color == 0 && rank == 0 ? 40 + round : -1;
    std::vector<int> gathered(static_cast<size_t>(there), -1), given(gathered), taken(gathered);
    for (int i = 0; i < there; ++i) given[static_cast<size_t>(i)] = program.rank() * 100 + remote_rank(i) + round;
    const int root = color == 1 ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;  // rank 0 of the first half
    MPI_Request requests[6];
    MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, both, &requests[0]);
    MPI_Ireduce(&mine, &reduced, 1, MPI_INT, MPI_SUM, root, both, &requests[1]);
    MPI_Ibcast(&word, 1, MPI_INT, root, both, &requests[2]);
    MPI_Iallgather(&mine, 1, MPI_INT, gathered.data(), 1, MPI_INT, both, &requests[3]);
    MPI_Ialltoall(given.data(), 1, MPI_INT, taken.data(), 1, MPI_INT, both, &requests[4]);
    MPI_Ibarrier(both, &requests[5]);
    int index = 0;
    for (int i = 0; i < 6; ++i) MPI_Waitany(6, requests, &index, MPI_STATUS_IGNORE);
    int wanted = 0;
    for (int i = 0; i < there; ++i) {
      wanted += remote_rank(i) + round;
      program.equal(gathered[static_cast<size_t>(i)], remote_rank(i) + round);
      program.equal(taken[static_cast<size_t>(i)], remote_rank(i) * 100 + program.rank() + round);
    }
    program.equal(sum, wanted);
    program.equal(reduced, root == MPI_ROOT ? wanted : -1);
    program.equal(word, color == 1 || rank == 0 ? 40 + round : -1);
  }
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
}

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  MPI_Comm backwards, interleaved;  // and so not in the order of the nodes
  MPI_Comm_split(MPI_COMM_WORLD, 0, -program.rank(), &backwards);
  MPI_Comm_split(MPI_COMM_WORLD, 0, program.rank() % 2 * program.size() + program.rank(), &interleaved);
  for (MPI_Comm comm : {MPI_COMM_WORLD, backwards, interleaved}) many_open(program, comm);
  long_ones(program, MPI_COMM_WORLD);
  started_again(program, backwards);
  between_halves(program);
  MPI_Comm_free(&backwards);
  MPI_Comm_free(&interleaved);
  uint64_t all = 0;
  MPI_Reduce(&digest, &all, 1, MPI_UINT64_T, MPI_BXOR, 0, MPI_COMM_WORLD);
  if (program.rank() == 0) printf("digest %016llx\n", static_cast<unsigned long long>(all));
  return program.finish();
}
