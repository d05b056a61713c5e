// Which parts of a symmetric heap are taken, as offsets: the same calls give the same offsets in every process.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace spillway::pgas {

class HeapBlocks {
 public:
  static constexpr uint64_t kLeastAlignment = 16;

  HeapBlocks(uint64_t begin, uint64_t end);

  // The lowest part that is free and fits; nothing where there is none. `alignment`: a power of two.
  std::optional<uint64_t> take(uint64_t bytes, uint64_t alignment = kLeastAlignment);

  // False where no part that was taken begins there.
  [[nodiscard]] bool give_back(uint64_t offset);

 private:
  std::map<uint64_t, uint64_t> free_;   // begins and ends, never one at another's end
  std::map<uint64_t, uint64_t> taken_;  // the same, as they were asked for
};

}  // namespace spillway::pgas
