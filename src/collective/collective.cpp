#include "collective/collective.h"

#include <algorithm>

#include "mpi/arguments.h"

namespace spillway::collective {
namespace {

constexpr int kMostRanksOfAll = 256;                         // with n ranks n * (n - 1) messages are under way
constexpr uint64_t kMostBytesOfAll = 16 * mpi::kPieceBytes;  // that each rank takes

}  // namespace

TypedBuffer PartedBuffer::part(int i) const {
  auto* first = static_cast<std::byte*>(address);
  return TypedBuffer{first + displacements[i] * mpi::extent_of(type), counts[i], type};
}

TypedBuffer regular_part(const TypedBuffer& first, int i) { return mpi::shifted(first, first.count * i); }

int run(const Communicator& comm, Operation operation) {
  operation.wait();
  return mpi::raise(comm.handle, operation.finish());
}

bool is_small(const Communicator& comm, const TypedBuffer& contribution) {
  if (comm.size > kMostRanksOfAll) return false;
  const uint64_t bytes = contribution.count > 0 ? mpi::packed_bytes(contribution) : 0;
  return bytes <= std::min(mpi::kPieceBytes, kMostBytesOfAll / static_cast<uint64_t>(comm.size));
}

}  // namespace spillway::collective
