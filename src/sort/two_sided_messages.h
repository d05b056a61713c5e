// What readers, receivers and sorters say to each other where delivery is two-sided.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace spillway::sort::two_sided {

// In the transfer communicator.
inline constexpr int kSizeTag = 1;
inline constexpr int kDataTag = 2;  // the records of a block
inline constexpr int kTokenTag = 3;
// In the node's communicator.
inline constexpr int kFullTag = 1;
inline constexpr int kEmptyTag = 2;

// From a reader to a receiver, before the data.
struct Size {
  uint64_t block;
  uint64_t bytes;
};
constexpr int kSizeWords = 2;

// From receiver to receiver: how many bytes all have heard of.
inline constexpr uint64_t kEndToken = UINT64_MAX;

// From a receiver to a sorter: the block that is in a staging buffer. The sorter sends the buffer's number back.
struct Full {
  uint64_t slot;
  uint64_t block;
};
constexpr int kFullWords = 2;
inline constexpr uint64_t kNoMore = UINT64_MAX;  // as a slot

// Whether it has ended; then it is MPI_REQUEST_NULL.
bool test(MPI_Request& request);

}  // namespace spillway::sort::two_sided
