// Reduction of what all ranks contribute, in rank order, by one rank.
//
// ((v0 op v1) op v2) op ...: the same association in every run and for every schedule, so that results are
// bit-identical and operations that do not commute are served. Vectors are folded a piece at a time, from where the
// contributions wait: two temporaries of a piece, whatever the number of ranks and the length of the vectors.
#pragma once

#include <algorithm>
#include <vector>

#include "collective/collective.h"
#include "collective/exchange.h"
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

// Receives a vector that `root` sends in pieces.
int receive_pieces(const Call& call, const char* operation, int root, const TypedBuffer& buffer);

class Fold {
 public:
  // `own` is this rank's contribution. REQUIRES: `receives` expects other ranks, in rank order, all that come
  // before any that step() will take in, and all have come.
  Fold(const Call& call, const Receives& receives, const TypedBuffer& own, MPI_Op op);
  Fold(const Fold&) = delete;
  Fold& operator=(const Fold&) = delete;
  ~Fold();

  // Turns to the next `count` elements of all contributions, at most a piece.
  void begin_piece(MPI_Count count);

  // Takes the next rank's contribution to the piece in; the first call gives rank 0's.
  void step();

  // The fold of all contributions to the piece so far.
  const TypedBuffer& value() const { return accumulated_; }

  // All of it.
  const TypedBuffer& fold_piece(MPI_Count count);

  // An MPI error class: of the first thing that went wrong.
  int error() const { return error_; }

 private:
  Call call_;
  const Receives& receives_;
  std::vector<mpi::ArrivedStream> contributions_;
  TypedBuffer own_;  // from the current piece on
  MPI_Op op_;
  MPI_Count longest_;  // of the pieces
  int error_ = MPI_SUCCESS;
  int next_rank_ = 0;
  mpi::TypedTemporary temporaries_[2];
  TypedBuffer accumulated_;
  TypedBuffer incoming_;
};

// The contributions of all others have come: folds them with `own`, and leaves the result in `out`. `own` may lie in
// the memory of the result, but not before its beginning. An MPI error class.
int fold_into(const Call& call, const Receives& come, const TypedBuffer& own, void* out, MPI_Op op);

}  // namespace spillway::collective
