#include "compression/part_name.h"

#include <charconv>
#include <cstring>
#include <system_error>

#include "compression/codec.h"

namespace spillway::compression {

std::optional<PartName> part_name(std::string_view name) {
  constexpr std::string_view kBegin = "part-";
  if (!name.starts_with(kBegin)) return std::nullopt;
  PartName part{};
  const char* const end = name.data() + name.size();
  const auto [behind, error] = std::from_chars(name.data() + kBegin.size(), end, part.number);
  part.format = {behind, static_cast<size_t>(end - behind)};
  const bool is_part = error == std::errc() && (part.format.empty() || part.format.starts_with("."));
  if (!is_part || part.format.ends_with(".partial")) return std::nullopt;
  const size_t codec_bytes = std::strlen(suffix_of(codec_of_path(name)));
  part.codec = part.format.substr(part.format.size() - codec_bytes);
  part.format.remove_suffix(codec_bytes);
  return part;
}

}  // namespace spillway::compression
