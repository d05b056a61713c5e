#include "collective/exchange.h"

#include <algorithm>
#include <numeric>

#include "mpi/runtime.h"

namespace spillway::collective {
namespace {

mpi::Address address_of(const Call& call, int rank, Step step) {
  return mpi::Address{call.comm().peers[static_cast<size_t>(rank)], call.context(), call.sender(), call.tag(step)};
}

// The bytes of all parts as they travel.
class PackedParts final : public message::ByteStream {
 public:
  explicit PackedParts(const Parts& parts) {
    streams_.reserve(parts.size());
    for (const TypedBuffer& part : parts) bytes_ += streams_.emplace_back(part).bytes();
  }
  uint64_t bytes() const { return bytes_; }

  void read(void* out, uint64_t bytes) override {
    for (auto* to = static_cast<std::byte*>(out); bytes != 0;) {
      mpi::PackedStream& stream = streams_[part_];
      const uint64_t some = std::min(bytes, stream.bytes() - read_of_part_);
      stream.read(to, some);
      to += some;
      bytes -= some;
      read_of_part_ += some;
      if (read_of_part_ < stream.bytes()) continue;
      ++part_;
      read_of_part_ = 0;
    }
  }

 private:
  std::vector<mpi::PackedStream> streams_;  // made before anything is read: they may have to wait for room
  uint64_t bytes_ = 0;
  size_t part_ = 0;
  uint64_t read_of_part_ = 0;
};

}  // namespace

TypedBuffer length_of(const Parts& parts) {
  TypedBuffer all{nullptr, 0, parts[0].type};
  for (const TypedBuffer& part : parts) all.count += part.count;
  return all;
}

void send_to(const Call& call, int rank, const TypedBuffer& buffer, Step step) {
  mpi::PackedStream packed(buffer);
  mpi::send(call.runtime(), address_of(call, rank, step), packed);
}

void send_to_ranks(const Call& call, const std::vector<int>& ranks, const Parts& data, Step step) {
  const Communicator& comm = call.comm();
  std::vector<uint32_t> receivers;
  receivers.reserve(ranks.size());
  for (int rank : ranks) receivers.push_back(comm.peers[static_cast<size_t>(rank)]);
  if (receivers.empty()) return;
  PackedParts packed(data);
  mpi::send_to_all(call.runtime(), address_of(call, comm.rank, step), receivers, packed, packed.bytes());
}

void send_to_others(const Call& call, const TypedBuffer& buffer, Step step) {
  send_to_ranks(call, without(call.comm().rank, ranks_from(call.comm(), 0)), {buffer}, step);
}

std::vector<int> ranks_from(const Communicator& comm, int first) {
  std::vector<int> ranks(static_cast<size_t>(comm.size - first));
  std::iota(ranks.begin(), ranks.end(), first);
  return ranks;
}

std::vector<int> without(int rank, std::vector<int> ranks) {
  std::erase(ranks, rank);
  return ranks;
}

int copy_local(const TypedBuffer& from, const TypedBuffer& to) {
  mpi::PackedStream packed(from);
  const uint64_t bytes = std::min(packed.bytes(), mpi::packed_bytes(to));
  mpi::unpack(packed, bytes, to);
  return packed.bytes() > bytes ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

}  // namespace spillway::collective
