// The state of a staging buffer as one word (hybrid-sort.txt, section 4.3): how often the buffer has been used before,
// its lap, and in the lower half what holds of it. Readers change it by compare-and-swap and put with signal, its
// sorter by swap.
#pragma once

#include <cstdint>
#include <optional>

namespace spillway::sort {

class SlotState {
 public:
  static uint64_t empty(uint64_t lap) { return word(lap, kEmpty); }
  static uint64_t full(uint64_t lap) { return word(lap, kFull); }
  // `pe` waits until it is empty in the next lap.
  static uint64_t waited_for(uint64_t lap, int pe) { return word(lap, kWaiting + static_cast<uint64_t>(pe)); }

  // What a reader finds that wants to fill the buffer in `lap`, not the first one, and has put waited_for(lap - 1, pe)
  // in the place of full(lap - 1). `later`: it is rung for when it is free. `too_early`: the block before has not come.
  enum class Claim { free, later, too_early };
  static Claim claim(uint64_t before, uint64_t lap, int pe) {
    if (before == empty(lap)) return Claim::free;
    return before == full(lap - 1) || before == waited_for(lap - 1, pe) ? Claim::later : Claim::too_early;
  }
  static bool has_arrived(uint64_t now, uint64_t lap) { return now >> kLapBits == lap && now != empty(lap); }
  // Who waits for it.
  static std::optional<int> waiter(uint64_t before) {
    const uint64_t what = before & ((uint64_t{1} << kLapBits) - 1);
    return what >= kWaiting ? std::optional(static_cast<int>(what - kWaiting)) : std::nullopt;
  }

 private:
  static constexpr int kLapBits = 32;
  static constexpr uint64_t kEmpty = 0;
  static constexpr uint64_t kFull = 1;
  static constexpr uint64_t kWaiting = 2;

  static uint64_t word(uint64_t lap, uint64_t what) { return lap << kLapBits | what; }
};

}  // namespace spillway::sort
