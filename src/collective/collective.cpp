#include "collective/collective.h"

#include "mpi/arguments.h"

namespace spillway::collective {
TypedBuffer PartedBuffer::part(int i) const {
  auto* first = static_cast<std::byte*>(address);
  return TypedBuffer{first + displacements[i] * mpi::extent_of(type), counts[i], type};
}

TypedBuffer regular_part(const TypedBuffer& first, int i) { return mpi::shifted(first, first.count * i); }

int run(const Communicator& comm, Operation operation) {
  operation.wait();
  return mpi::raise(comm.handle, operation.finish());
}

}  // namespace spillway::collective
