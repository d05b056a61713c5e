#include "collective/exchange.h"

#include <algorithm>

#include "mpi/runtime.h"

namespace spillway::collective {
namespace {

mpi::Address address_of(const Communicator& comm, int rank) {
  return mpi::Address{comm.peers[static_cast<size_t>(rank)], comm.context(mpi::Traffic::collective), comm.rank,
                      comm.collective_tag};
}

}  // namespace

void send_to(Runtime& runtime, const Communicator& comm, int rank, const TypedBuffer& buffer) {
  mpi::PackedStream packed(buffer);
  mpi::send(runtime, address_of(comm, rank), packed);
}

void send_to_others(Runtime& runtime, const Communicator& comm, const TypedBuffer& buffer, int first) {
  const int others = comm.size - first - (comm.rank >= first ? 1 : 0);
  if (others == 0) return;
  std::vector<uint32_t> receivers;
  receivers.reserve(static_cast<size_t>(others));
  for (int rank = first; rank < comm.size; ++rank)
    if (rank != comm.rank) receivers.push_back(comm.peers[static_cast<size_t>(rank)]);
  mpi::PackedStream packed(buffer);
  mpi::send_to_all(runtime, address_of(comm, comm.rank), receivers, packed);
}

int copy_local(const TypedBuffer& from, const TypedBuffer& to) {
  mpi::PackedStream packed(from);
  const uint64_t bytes = std::min(packed.bytes(), mpi::packed_bytes(to));
  mpi::unpack(packed, bytes, to);
  return packed.bytes() > bytes ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

}  // namespace spillway::collective
