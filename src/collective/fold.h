// Reduction of vectors, one of each rank or one of each node, in a given order.
//
// ((v0 op v1) op v2) op ...: the same association in every run and for every schedule, so that results are
// bit-identical and operations that do not commute are served. Vectors are folded a piece at a time, from where the
// contributions wait: two temporaries of a piece, whatever the number of ranks and the length of the vectors. A fold
// may be what another one takes in.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "collective/collective.h"
#include "collective/exchange.h"
#include "collective/selection.h"
#include "mpi/typed_buffer.h"

namespace spillway::collective {

// Elements of a piece; the same for all ranks.
MPI_Count piece_length(MPI_Datatype type);

// Calls visit(begin, count) for each piece of a vector, at least once.
template <typename Visit>
void for_each_piece(MPI_Count count, MPI_Datatype type, Visit visit) {
  const MPI_Count longest = piece_length(type);
  MPI_Count begin = 0;
  do {
    visit(begin, std::min(longest, count - begin));
    begin += longest;
  } while (begin < count);
}

// `count` elements of a buffer.
TypedBuffer piece_of(const TypedBuffer& buffer, MPI_Count begin, MPI_Count count);

// What a rank contributes with these arguments.
inline TypedBuffer own_contribution(const TypedBuffer& in, void* out) {
  return TypedBuffer{in.address == MPI_IN_PLACE ? out : in.address, in.count, in.type};
}

// Expects a vector like `buffer` that `rank` sends in pieces. Their number.
size_t expect_pieces(Receives& receives, int rank, Content content, const TypedBuffer& buffer);

// Receives a vector that `root` sends in pieces.
int receive_pieces(const Call& call, const char* operation, int root, const TypedBuffer& buffer);

// A vector that comes from front to back.
class Operand {
 public:
  Operand() = default;
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;
  virtual ~Operand() = default;

  // Puts the next elements into `piece`, which takes no more than a piece.
  virtual void read_into(const TypedBuffer& piece) = 0;

  // An MPI error class: of the first thing that went wrong.
  virtual int error() const { return MPI_SUCCESS; }
};

// Whether what is read of messages is read again later, from other operands: then they stay.
enum class Reading { first, last };

// The messages that a call has received, one after the other.
class Arrivals {
 public:
  Arrivals(const Call& call, const Receives& come, size_t first = 0, Reading reading = Reading::last)
      : call_(call), come_(come), next_(first), reading_(reading) {}

  // The vector that the next `messages` are, of the length of `buffer`. To be used while the receives live.
  std::unique_ptr<Operand> next(const TypedBuffer& buffer, size_t messages = 1);

 private:
  const Call& call_;
  const Receives& come_;
  size_t next_;
  Reading reading_;
};

class Fold final : public Operand {
 public:
  // Of vectors of the length of `buffer`.
  Fold(const TypedBuffer& buffer, MPI_Op op);

  void add(std::unique_ptr<Operand> last) { operands_.push_back(std::move(last)); }
  void add_own(const Parts& parts);
  // Those of `ranks`: of this one `own`, of the others the next that have arrived.
  void add_ranks(const std::vector<int>& ranks, int self, const Parts& own, Arrivals& arrivals);

  // Turns to the next `count` elements of all vectors, at most a piece.
  void begin_piece(MPI_Count count);

  // Takes the next vector's part of the piece in; the first call gives the first vector's.
  void step();

  // The fold of all that have been taken in.
  const TypedBuffer& value() const { return accumulated_; }

  // The same without the last one of at least two.
  const TypedBuffer& value_before() const { return incoming_; }

  // All of it.
  const TypedBuffer& fold_piece(MPI_Count count);

  void read_into(const TypedBuffer& piece) override { copy_local(fold_piece(piece.count), piece); }
  int error() const override;

  // The next elements, as many as `result` has, put there. `own`, which may be among the operands, may lie in the
  // memory of the result, but not before its beginning.
  void put_into(const Call& call, const TypedBuffer& result, const TypedBuffer& own);

  // The next `count` elements, sent in pieces.
  void send_to(const Call& call, int rank, MPI_Count count);

  // The next `count` elements, sent as one message.
  void send_to_ranks(const Call& call, const std::vector<int>& ranks, MPI_Count count);

 private:
  MPI_Op op_;
  MPI_Count longest_;  // of the pieces
  std::vector<std::unique_ptr<Operand>> operands_;
  int error_ = MPI_SUCCESS;
  size_t next_ = 0;  // of the operands
  mpi::TypedTemporary temporaries_[2];
  TypedBuffer accumulated_;
  TypedBuffer incoming_;
};

// What becomes of a fold, whose pieces it takes from front to back.
using Deliver = std::function<void(Fold&)>;

// Of what has arrived, in this order: the vectors of the other ranks of this rank's group, then those that are folds of
// other groups' already, of so many messages each. The fold of all, in the groups' order.
std::unique_ptr<Fold> fold_of_groups(const RankGroups& groups, int self, const TypedBuffer& own, MPI_Op op,
                                     Arrivals& arrivals, size_t messages);

// Leaves it in `out`. `own` may lie in the memory of the result, but not before its beginning. An MPI error class.
int fold_groups_into(const Call& call, const RankGroups& groups, const TypedBuffer& own, void* out, MPI_Op op,
                     Arrivals arrivals, size_t messages);

}  // namespace spillway::collective
