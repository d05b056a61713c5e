#include <algorithm>

#include "collective/combine_at_last.h"
#include "mpi/arguments.h"

namespace spillway::collective {
namespace {

constexpr const char* kAllreduce = "MPI_Allreduce";

// The blocking form. The first rank of each group folds what its ranks contribute, a block after the other, and has
// each folded by the first rank of another group with what comes of that block from all groups, which sends it to all.
class GroupedAllreduce {
 public:
  GroupedAllreduce(const Call& call, const RankGroups& groups, const TypedBuffer& own, void* out, MPI_Op op)
      : call_(call),
        groups_(groups),
        group_(groups.of(call.comm().rank)),
        is_first_(groups.first(group_) == call.comm().rank),
        blocks_(blocks_to_reduce(groups, own)),
        own_(own),
        result_{out, own.count, own.type},
        op_(op) {}

  // An MPI error class.
  int run() {
    if (is_first_)
      fold_group();
    else
      send_to(call_, groups_.first(group_), own_);
    const bool has_block = is_first_ && group_ < blocks_;
    if (has_block) {
      if (groups_.count() > 1) fold_block();
      send_to_others(call_, block(group_), Step::second);
    }
    if (!has_block || blocks_ > 1) take_results();
    return error_;
  }

 private:
  TypedBuffer block(int i) const {
    const auto begin = [&](MPI_Count block) {
      return result_.count / blocks_ * block + std::min<MPI_Count>(block, result_.count % blocks_);
    };
    return piece_of(result_, begin(i), begin(i + 1) - begin(i));
  }

  // Sends the blocks to those who fold them, and keeps its own.
  void fold_group() {
    Receives receives(call_, kAllreduce);
    for (int rank : groups_.ranks(group_))
      if (rank != call_.comm().rank) receives.expect(rank);
    if (own_.address != result_.address) receives.will_fill(result_);
    receives.wait();
    Arrivals arrivals(call_, receives);
    Fold fold(own_, op_);
    fold.add_ranks(groups_.ranks(group_), call_.comm().rank, {own_}, arrivals);
    for (int i = 0; i < blocks_; ++i)
      if (is_mine(i))
        fold.put_into(call_, block(i), own_);
      else
        fold.send_to(call_, groups_.first(i), block(i).count);
    note(fold.error());
  }

  // Of this rank, with what it has of its own group already.
  void fold_block() {
    const TypedBuffer mine = block(group_);
    Receives receives(call_, kAllreduce);
    size_t messages = 0;
    for (int group = 0; group < groups_.count(); ++group)
      if (group != group_) messages = expect_pieces(receives, groups_.first(group), Content::combined, mine);
    fill_other_blocks(receives);
    receives.wait();
    Arrivals arrivals(call_, receives);
    Fold fold(mine, op_);
    for (int group = 0; group < groups_.count(); ++group)
      if (group == group_)
        fold.add_own({mine});
      else
        fold.add(arrivals.next(mine, messages));
    fold.put_into(call_, mine, mine);
    note(fold.error());
  }

  void take_results() {
    Receives receives(call_, kAllreduce);
    for (int i = 0; i < blocks_; ++i)
      if (!is_mine(i)) receives.expect(groups_.first(i), Content::combined, Step::second);
    fill_other_blocks(receives);
    receives.wait();
    note(receives.deliver_all([&](int rank) { return block(groups_.of(rank)); }, MPI_SUCCESS));
  }

  // Block i is folded here.
  bool is_mine(int i) const { return is_first_ && i == group_; }

  void note(int error) {
    if (error_ == MPI_SUCCESS) error_ = error;
  }

  void fill_other_blocks(Receives& receives) {
    for (int i = 0; i < blocks_; ++i)
      if (!is_mine(i)) receives.will_fill(block(i));
  }

  const Call& call_;
  const RankGroups& groups_;
  int group_;  // this rank's
  bool is_first_;
  int blocks_;  // of the vector
  TypedBuffer own_;
  TypedBuffer result_;
  MPI_Op op_;
  int error_ = MPI_SUCCESS;
};

}  // namespace

int allreduce(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, void* out, MPI_Op op) {
  const Call call(runtime, comm);
  const RankGroups& groups = groups_to_reduce(runtime, comm, op);
  return mpi::raise(comm.handle, GroupedAllreduce(call, groups, own_contribution(in, out), out, op).run());
}

// Each rank takes what all ranks of its group contribute, or else, as of other groups, what the last of them makes of
// it: then no contribution stays until all have taken it.
Operation allreduce_of_all(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, void* out, MPI_Op op) {
  const Call call(runtime, comm);
  const RankGroups& groups = groups_to_reduce(runtime, comm, op);
  const int own_group = groups.of(comm.rank);
  const TypedBuffer own = own_contribution(in, out);
  Receives receives(call, "MPI_Iallreduce");
  if (is_folded_by_each(runtime, comm, own, op)) {
    contribute(call, groups, receives, {own});
    if (own.address != out) receives.will_fill(TypedBuffer{out, own.count, own.type});
    return Operation(std::move(receives), [call, &groups, own, out, op](Receives& come) {
      return fold_groups_into(call, groups, own, out, op, Arrivals(call, come), 1);
    });
  }
  const int error_of_group = combine_at_last(call, groups, receives, {own}, op, [&](Fold& fold) {
    fold.send_to_ranks(call.in_the_name_of(groups.first(own_group)), ranks_from(comm, 0), own.count);
  });
  receives.keep_signals();
  const size_t signals = receives.count();
  for (int group = 0; group < groups.count(); ++group) receives.expect(groups.first(group), Content::of_node);
  if (own.address != out) receives.will_fill(TypedBuffer{out, own.count, own.type});
  return Operation(std::move(receives), [=, &groups](Receives& come) {
    Arrivals arrivals(call, come, signals);
    Fold fold(own, op);
    for (int group = 0; group < groups.count(); ++group) fold.add(arrivals.next(own));
    fold.put_into(call, TypedBuffer{out, own.count, own.type}, own);
    return error_of_group != MPI_SUCCESS ? error_of_group : fold.error();
  });
}

}  // namespace spillway::collective
