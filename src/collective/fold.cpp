#include "collective/fold.h"

#include <utility>

#include "mpi/runtime.h"

namespace spillway::collective {

MPI_Count piece_length(MPI_Datatype type) {
  const auto size = static_cast<int64_t>(mpi::packed_bytes_of_one(type));
  const int64_t extent = std::abs(static_cast<int64_t>(mpi::extent_of(type)));
  return std::max<int64_t>(1, mpi::kPieceBytes / std::max<int64_t>({size, extent, 1}));
}

TypedBuffer piece_of(const TypedBuffer& buffer, MPI_Count begin, MPI_Count count) {
  TypedBuffer piece = mpi::shifted(buffer, begin);
  piece.count = count;
  return piece;
}

int receive_pieces(const Call& call, const char* operation, int root, const TypedBuffer& buffer) {
  Receives receives(call, operation);
  for_each_piece(buffer.count, buffer.type, [&](MPI_Count, MPI_Count) { receives.expect(root); });
  receives.will_fill(buffer);
  receives.wait();
  mpi::renew(call.runtime(), buffer, mpi::packed_bytes(buffer));
  size_t next = 0;
  int result = MPI_SUCCESS;
  for_each_piece(buffer.count, buffer.type, [&](MPI_Count begin, MPI_Count count) {
    const int error = receives.deliver_to(next++, piece_of(buffer, begin, count));
    if (error != MPI_SUCCESS) result = error;
  });
  return result;
}

Fold::Fold(const Call& call, const Receives& receives, const TypedBuffer& own, MPI_Op op)
    : call_(call),
      receives_(receives),
      own_(own),
      op_(op),
      longest_(std::min(own.count, piece_length(own.type))),
      temporaries_{{longest_, own.type}, {longest_, own.type}},
      accumulated_{temporaries_[0].address(), 0, own.type},
      incoming_{temporaries_[1].address(), 0, own.type} {
  const uint64_t most = mpi::packed_bytes(own);
  contributions_.reserve(receives.count());
  for (size_t i = 0; i < receives.count(); ++i) {
    contributions_.emplace_back(call.runtime(), receives.message(i));
    if (receives.message(i).bytes > most) error_ = MPI_ERR_TRUNCATE;
  }
}

Fold::~Fold() {
  for (size_t i = 0; i < receives_.count(); ++i) call_.runtime().store.release(receives_.message(i).payload);
}

void Fold::begin_piece(MPI_Count count) {
  own_ = mpi::shifted(own_, accumulated_.count);
  accumulated_.count = incoming_.count = own_.count = count;
  next_rank_ = 0;
}

void Fold::step() {
  const int rank = next_rank_++;
  if (rank == call_.comm().rank) {
    copy_local(own_, incoming_);
  } else {
    mpi::ArrivedStream& contribution = contributions_[static_cast<size_t>(rank < call_.comm().rank ? rank : rank - 1)];
    mpi::unpack(contribution, std::min(contribution.bytes_left(), mpi::packed_bytes(incoming_)), incoming_);
  }
  if (rank > 0 && error_ == MPI_SUCCESS && incoming_.count > 0)
    error_ = PMPI_Reduce_local(accumulated_.address, incoming_.address, static_cast<int>(incoming_.count),
                               incoming_.type, op_);
  std::swap(accumulated_, incoming_);
}

const TypedBuffer& Fold::fold_piece(MPI_Count count) {
  begin_piece(count);
  for (int rank = 0; rank < call_.comm().size; ++rank) step();
  return accumulated_;
}

namespace {

// Of buffers of one plain type; others are not renewed.
bool may_overlap(const TypedBuffer& a, const TypedBuffer& b) {
  const auto first = reinterpret_cast<uint64_t>(a.address), second = reinterpret_cast<uint64_t>(b.address);
  return first < second + mpi::packed_bytes(b) && second < first + mpi::packed_bytes(a);
}

}  // namespace

int fold_into(const Call& call, const Receives& come, const TypedBuffer& own, void* out, MPI_Op op) {
  Fold fold(call, come, own, op);
  const TypedBuffer result{out, own.count, own.type};
  if (!may_overlap(own, result)) mpi::renew(call.runtime(), result, mpi::packed_bytes(result));
  for_each_piece(own.count, own.type, [&](MPI_Count begin, MPI_Count count) {
    copy_local(fold.fold_piece(count), piece_of(result, begin, count));
  });
  return fold.error();
}

}  // namespace spillway::collective
