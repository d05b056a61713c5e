// The tags of a communicator's collective operations.
//
// Messages of two ranks may overtake each other where they take different ways between nodes, so that their order says
// nothing of what they belong to: the tag does, by the number of the operation and the step within it. All members
// begin the operations of a lane in the same order, and so count alike. The operations of two lanes are begun in any
// order: the blocking ones, the nonblocking ones, and those of each persistent request.
//
//   bit 31      0: no tag is kAnyTag
//   bit 30      1: persistent. Bits 29-11: which request of the communicator; bits 10-1: which of its starts
//               0: bit 29: nonblocking or blocking; bits 28-1: which operation
//   bit 0       the step: 0 here
//
// Numbers begin anew: by far not so many operations are under way at once, nor are so many requests prepared.
#pragma once

#include <cstdint>

namespace spillway::mpi {

class CollectiveLane {
 public:
  static constexpr CollectiveLane blocking() { return CollectiveLane(0, kOperationBits); }
  static constexpr CollectiveLane nonblocking() { return CollectiveLane(1u << 29, kOperationBits); }
  static constexpr CollectiveLane persistent(uint32_t request) {
    constexpr uint32_t kRequestMask = (1u << kRequestBits) - 1;
    return CollectiveLane(1u << 30 | (request & kRequestMask) << (kStepBits + kStartBits), kStartBits);
  }

  // Of the next operation; the first step's.
  constexpr int32_t next_tag() {
    const uint32_t number = count_++ & number_mask_;
    return static_cast<int32_t>(lane_ | number << kStepBits);
  }

 private:
  static constexpr uint32_t kStepBits = 1, kOperationBits = 28, kStartBits = 10, kRequestBits = 19;

  constexpr CollectiveLane(uint32_t lane, uint32_t number_bits) : lane_(lane), number_mask_((1u << number_bits) - 1) {}

  uint32_t lane_;
  uint32_t number_mask_;
  uint32_t count_ = 0;
};

}  // namespace spillway::mpi
