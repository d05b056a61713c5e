// One collective operation, blocking or nonblocking, with the buffers that it needs until it is complete.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "program.h"
#include "typed_block.h"

class CollectiveCall {
 public:
  CollectiveCall(Program& program, Random& random, const Communicator& communicator, bool is_nonblocking)
      : program_(program),
        communicator_(communicator),
        own_(program.own_random(random)),
        shared_({random.next()}),
        is_nonblocking_(is_nonblocking) {}
  ~CollectiveCall() {
    for (MPI_Op& op : ops_) MPI_Op_free(&op);
  }
  CollectiveCall(const CollectiveCall&) = delete;
  CollectiveCall& operator=(const CollectiveCall&) = delete;

  Program& program() const { return program_; }
  const Communicator& communicator() const { return communicator_; }
  bool is_nonblocking() const { return is_nonblocking_; }
  Random& own() { return own_; }
  MPI_Request& request() { return request_; }

  // Memory for `items` items in an arrangement of this rank's choice; without gaps where MPICH 4.0 fills these with
  // whatever its own buffer holds (MALLOC_PERTURB_ shows it).
  Items& items(MPI_Datatype basic, int elements, int64_t items) {
    if (is_nonblocking_ && communicator_.is_inter()) return items_of(RandomType::contiguous(basic, elements), items);
    return items_of(arranged(own_, basic, elements, items), items);
  }
  // The same on all ranks.
  Items& items_alike(MPI_Datatype basic, int elements, int64_t items) {
    return items_of(arranged(shared_, basic, elements, items), items);
  }
  Items& items_of(RandomType&& type, int64_t items) {
    return keep(std::make_unique<Items>(std::move(type), items, own_.next()));
  }
  // Numbers that MPI reads until the operation is complete.
  std::vector<int>& numbers(std::vector<int> values) { return numbers_.emplace_back(std::move(values)); }
  std::vector<MPI_Aint>& addresses(std::vector<MPI_Aint> values) { return addresses_.emplace_back(std::move(values)); }
  std::vector<MPI_Datatype>& types(size_t count, MPI_Datatype type) { return types_.emplace_back(count, type); }
  MPI_Op op(MPI_User_function* function, bool commutes) {
    MPI_Op_create(function, commutes ? 1 : 0, &ops_.emplace_back());
    return ops_.back();
  }
  // What counts in the digest.
  void result(const Items& items) { results_.push_back(&items); }

  template <typename Blocking, typename Nonblocking, typename... Arguments>
  void run(const char* name, Blocking blocking, Nonblocking nonblocking, Arguments... arguments) {
    program_.announce(std::string(name) + (is_nonblocking_ ? ", nonblocking" : ""));
    program_.delay();
    if (is_nonblocking_) {
      nonblocking(arguments..., &request_);
    } else {
      blocking(arguments...);
    }
  }

  void add_results() const {
    for (const Items* items : results_) program_.add(items->block.digest());
  }

 private:
  // Of what a rank has for itself, Open MPI 4.1 puts the pieces of types with gaps into wrong places beyond 64 KiB.
  static RandomType arranged(Random& random, MPI_Datatype basic, int elements, int64_t items) {
    RandomType type(random, basic, elements);
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION == 4
    if (type.has_gaps() && items * type.extent() > 65536) return RandomType::contiguous(basic, elements);
#endif
    static_cast<void>(items);
    return type;
  }
  Items& keep(std::unique_ptr<Items> items) { return *buffers_.emplace_back(std::move(items)); }

  Program& program_;
  const Communicator& communicator_;
  Random own_;
  Random shared_;
  const bool is_nonblocking_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::vector<std::unique_ptr<Items>> buffers_;
  std::vector<const Items*> results_;
  std::deque<std::vector<int>> numbers_;
  std::deque<std::vector<MPI_Aint>> addresses_;
  std::deque<std::vector<MPI_Datatype>> types_;
  std::deque<MPI_Op> ops_;
};

// Who is the root, in the words of this rank.
struct Root {
  Root(Random& random, const CollectiveCall& call) {
    const Communicator& communicator = call.communicator();
    const int group = communicator.is_inter() ? random.below(2) : 0;
    int ranks = communicator.size(group);
    // MPI_Ibcast of MPICH 4.3 takes the root for one of its own group.
    if (call.is_nonblocking()) ranks = std::min(ranks, communicator.size(communicator.other(group)));
    const int rank = random.below(ranks);
    is_here = communicator.my_group == group && communicator.my_rank == rank;
    is_leaf = !communicator.is_inter() || communicator.my_group != group;
    argument = is_leaf ? rank : is_here ? MPI_ROOT : MPI_PROC_NULL;
    leaves = communicator.size(communicator.other(group));
  }

  bool is_here;
  bool is_leaf;  // of those whom the root sends to or receives from
  int argument;
  int leaves;
};

// Starts a reduction of some kind.
void start_reduction(CollectiveCall& call, Random& random);
