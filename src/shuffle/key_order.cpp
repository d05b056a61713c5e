#include "shuffle/key_order.h"

namespace spillway::shuffle {
namespace {
constexpr uint64_t kSign = uint64_t{1} << 63;
}  // namespace

uint64_t KeyOrder::prefix_of_number(std::string_view key) const {
  if (item_class_ == ItemClass::int32) {
    int32_t number = 0;
    std::memcpy(&number, key.data(), sizeof number);
    return static_cast<uint64_t>(static_cast<int64_t>(number)) ^ kSign;
  }
  uint64_t bits = 0;
  std::memcpy(&bits, key.data(), sizeof bits);
  if (item_class_ == ItemClass::int64) return bits ^ kSign;
  return (bits & kSign) != 0 ? ~bits : bits | kSign;  // the larger a negative double's bits, the smaller it is
}

int KeyOrder::compare_by_program(std::string_view first, std::string_view second) const {
  ItemSlot slots[2];
  return compare_(slots[0].decode(item_class_, first), slots[1].decode(item_class_, second), user_);
}

int KeyOrder::compare(std::string_view first, std::string_view second) const {
  const uint64_t prefixes[2] = {prefix(first), prefix(second)};
  if (prefixes[0] != prefixes[1]) return prefixes[0] < prefixes[1] ? -1 : 1;
  return compare_further(first, second);
}

}  // namespace spillway::shuffle
