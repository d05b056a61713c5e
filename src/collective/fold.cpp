#include "collective/fold.h"

#include <optional>

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

size_t expect_pieces(Receives& receives, int rank, Content content, const TypedBuffer& buffer) {
  size_t pieces = 0;
  for_each_piece(buffer.count, buffer.type, [&](MPI_Count, MPI_Count) {
    receives.expect(rank, content);
    ++pieces;
  });
  return pieces;
}

int receive_pieces(const Call& call, const char* operation, int root, const TypedBuffer& buffer) {
  Receives receives(call, operation);
  expect_pieces(receives, root, Content::combined, buffer);
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

namespace {

class OwnVector final : public Operand {
 public:
  explicit OwnVector(Parts parts) : parts_(std::move(parts)) {}

  void read_into(const TypedBuffer& piece) override {
    for (MPI_Count done = 0; done < piece.count;) {
      TypedBuffer& rest = parts_[next_];
      const MPI_Count count = std::min(piece.count - done, rest.count);
      copy_local(piece_of(rest, 0, count), piece_of(piece, done, count));
      done += count;
      rest = piece_of(rest, count, rest.count - count);
      if (rest.count == 0) ++next_;
    }
  }

 private:
  Parts parts_;
  size_t next_ = 0;
};

// In one message or several.
class ArrivedVector final : public Operand, private message::ByteStream {
 public:
  ArrivedVector(Runtime& runtime, const Receives& come, size_t first, size_t count, uint64_t most_bytes,
                Reading reading)
      : runtime_(runtime), come_(come), first_(first), end_(first + count), next_(first), reading_(reading) {
    for (size_t i = first; i < end_; ++i) bytes_left_ += come.message(i).bytes;
    if (bytes_left_ > most_bytes) error_ = MPI_ERR_TRUNCATE;
  }
  ~ArrivedVector() override {
    if (reading_ == Reading::first) return;
    for (size_t i = first_; i < end_; ++i) runtime_.store.release(come_.message(i).payload);
  }

  void read_into(const TypedBuffer& piece) override {
    mpi::unpack(*this, std::min(bytes_left_, mpi::packed_bytes(piece)), piece);
  }
  int error() const override { return error_; }

 private:
  void read(void* out, uint64_t bytes) override {
    bytes_left_ -= bytes;
    for (auto* to = static_cast<std::byte*>(out); bytes != 0;) {
      if (!message_ || message_->bytes_left() == 0) message_.emplace(runtime_, come_.message(next_++));
      const uint64_t part = std::min(bytes, message_->bytes_left());
      message_->read(to, part);
      to += part;
      bytes -= part;
    }
  }

  Runtime& runtime_;
  const Receives& come_;
  size_t first_, end_, next_;  // messages
  Reading reading_;
  std::optional<mpi::ArrivedStream> message_;
  uint64_t bytes_left_ = 0;  // of all
  int error_ = MPI_SUCCESS;
};

// Of buffers of one plain type; others are not renewed.
bool may_overlap(const TypedBuffer& a, const TypedBuffer& b) {
  const auto first = reinterpret_cast<uint64_t>(a.address), second = reinterpret_cast<uint64_t>(b.address);
  return first < second + mpi::packed_bytes(b) && second < first + mpi::packed_bytes(a);
}

}  // namespace

std::unique_ptr<Operand> Arrivals::next(const TypedBuffer& buffer, size_t messages) {
  const size_t first = std::exchange(next_, next_ + messages);
  return std::make_unique<ArrivedVector>(call_.runtime(), come_, first, messages, mpi::packed_bytes(buffer), reading_);
}

Fold::Fold(const TypedBuffer& buffer, MPI_Op op)
    : op_(op),
      longest_(std::min(buffer.count, piece_length(buffer.type))),
      temporaries_{{longest_, buffer.type}, {longest_, buffer.type}},
      accumulated_{temporaries_[0].address(), 0, buffer.type},
      incoming_{temporaries_[1].address(), 0, buffer.type} {}

void Fold::add_own(const Parts& parts) { add(std::make_unique<OwnVector>(parts)); }

void Fold::add_ranks(const std::vector<int>& ranks, int self, const Parts& own, Arrivals& arrivals) {
  operands_.reserve(operands_.size() + ranks.size());
  for (int rank : ranks)
    if (rank == self)
      add_own(own);
    else
      add(arrivals.next(length_of(own)));
}

void Fold::begin_piece(MPI_Count count) {
  accumulated_.count = incoming_.count = count;
  next_ = 0;
}

void Fold::step() {
  const bool is_first = next_ == 0;
  operands_[next_++]->read_into(incoming_);
  if (!is_first && error_ == MPI_SUCCESS && incoming_.count > 0)
    error_ = PMPI_Reduce_local(accumulated_.address, incoming_.address, static_cast<int>(incoming_.count),
                               incoming_.type, op_);
  std::swap(accumulated_, incoming_);
}

const TypedBuffer& Fold::fold_piece(MPI_Count count) {
  begin_piece(count);
  while (next_ < operands_.size()) step();
  return accumulated_;
}

int Fold::error() const {
  for (const auto& operand : operands_)
    if (operand->error() != MPI_SUCCESS) return operand->error();
  return error_;
}

void Fold::put_into(const Call& call, const TypedBuffer& result, const TypedBuffer& own) {
  if (!may_overlap(own, result)) mpi::renew(call.runtime(), result, mpi::packed_bytes(result));
  for_each_piece(result.count, result.type, [&](MPI_Count begin, MPI_Count count) {
    copy_local(fold_piece(count), piece_of(result, begin, count));
  });
}

void Fold::send_to(const Call& call, int rank, MPI_Count count) {
  for_each_piece(count, accumulated_.type,
                 [&](MPI_Count, MPI_Count length) { collective::send_to(call, rank, fold_piece(length)); });
}

void Fold::send_to_ranks(const Call& call, const std::vector<int>& ranks, MPI_Count count) {
  if (count <= longest_) return collective::send_to_ranks(call, ranks, {fold_piece(count)});
  const mpi::TypedTemporary memory(count, accumulated_.type);
  const TypedBuffer whole{memory.address(), count, accumulated_.type};
  for_each_piece(count, whole.type, [&](MPI_Count begin, MPI_Count length) {
    copy_local(fold_piece(length), piece_of(whole, begin, length));
  });
  collective::send_to_ranks(call, ranks, {whole});
}

std::unique_ptr<Fold> fold_of_groups(const RankGroups& groups, int self, const TypedBuffer& own, MPI_Op op,
                                     Arrivals& arrivals, size_t messages) {
  const int own_group = groups.of(self);
  auto of_group = std::make_unique<Fold>(own, op);
  of_group->add_ranks(groups.ranks(own_group), self, {own}, arrivals);
  if (groups.count() == 1) return of_group;
  auto of_all = std::make_unique<Fold>(own, op);
  for (int group = 0; group < groups.count(); ++group)
    of_all->add(group == own_group ? std::move(of_group) : arrivals.next(own, messages));
  return of_all;
}

int fold_groups_into(const Call& call, const RankGroups& groups, const TypedBuffer& own, void* out, MPI_Op op,
                     Arrivals arrivals, size_t messages) {
  const std::unique_ptr<Fold> fold = fold_of_groups(groups, call.comm().rank, own, op, arrivals, messages);
  fold->put_into(call, TypedBuffer{out, own.count, own.type}, own);
  return fold->error();
}

}  // namespace spillway::collective
