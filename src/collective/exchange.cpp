#include "collective/exchange.h"

#include <algorithm>

#include "mpi/runtime.h"

namespace spillway::collective {
namespace {

mpi::Address address_of(const Call& call, int rank, Step step) {
  return mpi::Address{call.comm().peers[static_cast<size_t>(rank)], call.context(), call.comm().rank, call.tag(step)};
}

}  // namespace

void send_to(const Call& call, int rank, const TypedBuffer& buffer, Step step) {
  mpi::PackedStream packed(buffer);
  mpi::send(call.runtime(), address_of(call, rank, step), packed);
}

void send_to_others(const Call& call, const TypedBuffer& buffer, Step step) {
  send_to_others_from(call, 0, buffer, step);
}

void send_to_others_from(const Call& call, int first, const TypedBuffer& buffer, Step step) {
  const Communicator& comm = call.comm();
  const int others = comm.size - first - (comm.rank >= first ? 1 : 0);
  if (others == 0) return;
  std::vector<uint32_t> receivers;
  receivers.reserve(static_cast<size_t>(others));
  for (int rank = first; rank < comm.size; ++rank)
    if (rank != comm.rank) receivers.push_back(comm.peers[static_cast<size_t>(rank)]);
  mpi::PackedStream packed(buffer);
  mpi::send_to_all(call.runtime(), address_of(call, comm.rank, step), receivers, packed);
}

int copy_local(const TypedBuffer& from, const TypedBuffer& to) {
  mpi::PackedStream packed(from);
  const uint64_t bytes = std::min(packed.bytes(), mpi::packed_bytes(to));
  mpi::unpack(packed, bytes, to);
  return packed.bytes() > bytes ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

}  // namespace spillway::collective
