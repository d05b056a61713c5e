#include "collective/exchange.h"

#include <cstdio>

#include "mpi/arguments.h"
#include "mpi/runtime.h"

namespace spillway::collective {
namespace {

mpi::Address address_of(const Communicator& comm, int rank) {
  return mpi::Address{comm.peers[static_cast<size_t>(rank)], comm.context(mpi::Traffic::collective), comm.rank, 0};
}

}  // namespace

TypedBuffer PartedBuffer::part(int i) const {
  auto* first = static_cast<std::byte*>(address);
  return TypedBuffer{first + displacements[i] * mpi::extent_of(type), counts[i], type};
}

TypedBuffer regular_part(const TypedBuffer& first, int i) { return mpi::shifted(first, first.count * i); }

void send_to(Runtime& runtime, const Communicator& comm, int rank, const TypedBuffer& buffer) {
  mpi::PackedStream packed(buffer);
  mpi::send(runtime, address_of(comm, rank), packed);
}

void send_to_others(Runtime& runtime, const Communicator& comm, const TypedBuffer& buffer) {
  if (comm.size == 1) return;
  mpi::PackedStream packed(buffer);
  mpi::SharedSend shared(runtime, packed, static_cast<uint32_t>(comm.size - 1));
  for (int rank = 0; rank < comm.size; ++rank)
    if (rank != comm.rank) shared.to(address_of(comm, rank));
}

int copy_local(const TypedBuffer& from, const TypedBuffer& to) {
  mpi::PackedStream packed(from);
  const uint64_t bytes = std::min(packed.bytes(), mpi::packed_bytes(to));
  mpi::unpack(packed, bytes, to);
  return packed.bytes() > bytes ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}

Receives::Receives(Runtime& runtime, const Communicator& comm, const char* operation)
    : runtime_(runtime), comm_(comm), operation_(operation) {
  runtime_.take_news();
}

void Receives::expect(int rank) {
  message::PostedReceive& receive = receives_.emplace_back();
  receive.context = comm_.context(mpi::Traffic::collective);
  receive.source = rank;
  receive.tag = 0;
  runtime_.matching.post(&receive);
}

void Receives::expect_all_but(int rank) {
  for (int i = 0; i < comm_.size; ++i)
    if (i != rank) expect(i);
}

void Receives::wait() {
  const auto missing = [&] {
    uint64_t count = 0;
    for (const auto& receive : receives_)
      if (receive.matched == nullptr) ++count;
    return count;
  };
  runtime_.block_until(
      node::RankState::blocked_collective, [&] { return missing() == 0; }, missing,
      [&](char* text, size_t size) {
        int first = 0;
        for (const auto& receive : receives_)
          if (receive.matched == nullptr) {
            first = receive.source;
            break;
          }
        snprintf(text, size, "%s on a communicator of %d: %llu ranks have not come, rank %d first", operation_,
                 comm_.size, static_cast<unsigned long long>(missing()), first);
      });
}

int Receives::deliver_to(size_t i, const TypedBuffer& buffer) {
  const mpi::Outcome outcome = mpi::deliver(runtime_, *receives_[i].matched, buffer);
  receives_[i].matched.reset();
  return outcome.error;
}

}  // namespace spillway::collective
