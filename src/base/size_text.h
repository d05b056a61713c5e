// Sizes as people write them.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace spillway::base {

// Bytes, as in 64M or 67108864; nothing where the text is no size, or one beyond 64 bits.
inline std::optional<uint64_t> parse_size(std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  if (error != std::errc() || unit.size() > 1) return std::nullopt;
  const size_t power = unit.empty() ? 0 : kUnits.find(unit) + 1;
  if ((!unit.empty() && power == 0) || count > UINT64_MAX >> (10 * power)) return std::nullopt;
  return count << (10 * power);
}

}  // namespace spillway::base
