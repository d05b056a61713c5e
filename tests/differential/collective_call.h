// One collective operation, blocking, nonblocking or persistent, with the buffers that it needs until it is complete.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "program.h"
#include "typed_block.h"

enum class Form { blocking, nonblocking, persistent };

// An operation's name, and the functions for each form of it; MPI 3 has no persistent one.
#if MPI_VERSION >= 4
#define FORMS(BLOCKING, NONBLOCKING) #BLOCKING, BLOCKING, NONBLOCKING, BLOCKING##_init
#else
#define FORMS(BLOCKING, NONBLOCKING) #BLOCKING, BLOCKING, NONBLOCKING, nullptr
#endif

class CollectiveCall {
 public:
  CollectiveCall(Program& program, Random& random, const Communicator& communicator, Form form)
      : program_(program),
        communicator_(communicator),
        own_(program.own_random(random)),
        shared_({random.next()}),
        form_(form) {}
  ~CollectiveCall() {
    for (MPI_Op& op : ops_) MPI_Op_free(&op);
  }
  CollectiveCall(const CollectiveCall&) = delete;
  CollectiveCall& operator=(const CollectiveCall&) = delete;

  Program& program() const { return program_; }
  const Communicator& communicator() const { return communicator_; }
  bool is_blocking() const { return form_ == Form::blocking; }
  Random& own() { return own_; }
  MPI_Request& request() { return request_; }

  // Memory for `items` items in an arrangement of this rank's choice; without gaps where MPICH 4.0 fills these with
  // whatever its own buffer holds (MALLOC_PERTURB_ shows it).
  Items& items(MPI_Datatype basic, int elements, int64_t items) {
    if (!is_blocking() && communicator_.is_inter()) return items_of(RandomType::contiguous(basic, elements), items);
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

  // A persistent one is prepared, and not started: start() does that, as often as is wanted, or starts the nonblocking
  // form in its place.
  template <typename Blocking, typename Nonblocking, typename Persistent, typename... Arguments>
  void run(const char* name, Blocking blocking, Nonblocking nonblocking, Persistent persistent,
           Arguments... arguments) {
    static const char* const kForms[] = {"", ", nonblocking", ", persistent"};
    program_.announce(std::string(name) + kForms[static_cast<int>(form_)]);
    program_.delay();
    if constexpr (!std::is_null_pointer_v<Persistent>)
      if (form_ == Form::persistent) {
        if (program_.replaces_persistent_collectives())
          start_ = [=, this] { nonblocking(arguments..., &request_); };
        else
          persistent(arguments..., MPI_INFO_NULL, &request_);
        return;
      }
    if (is_blocking()) {
      blocking(arguments...);
    } else {
      nonblocking(arguments..., &request_);
    }
  }

  void start() { start_ ? start_() : void(MPI_Start(&request_)); }

  // Other contents in all buffers.
  void refill() {
    for (const std::unique_ptr<Items>& items : buffers_) items->block.refill(own_.next());
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
  const Form form_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::function<void()> start_;
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
    if (!call.is_blocking()) ranks = std::min(ranks, communicator.size(communicator.other(group)));
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
