#include "compression/codec.h"

#include <algorithm>

namespace spillway::compression {
namespace {

struct Kind {
  Codec codec;
  const char* name;
  const char* suffix;
};

constexpr Kind kKinds[] = {{Codec::none, "none", ""}, {Codec::gzip, "gzip", ".gz"}, {Codec::zstd, "zstd", ".zst"}};

const Kind& kind_of(Codec codec) {
  return *std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& kind) { return kind.codec == codec; });
}

// The two bytes of the mark, deflate as the method, and none of the flags that have no meaning: records that begin
// with any bytes are not to be taken for it. A file that is cut off within these is no less compressed.
bool begins_as_gzip(std::string_view bytes) {
  constexpr unsigned kReservedFlags = 0xe0;
  const bool has_method = bytes.size() < 3 || bytes[2] == 8;
  const bool has_flags = bytes.size() < 4 || (static_cast<unsigned char>(bytes[3]) & kReservedFlags) == 0;
  return bytes.starts_with("\x1f\x8b") && has_method && has_flags;
}

// A frame, or one that is to be skipped: pzstd's files begin with those.
bool begins_as_zstd(std::string_view bytes) {
  using namespace std::string_view_literals;
  const bool is_skipped = bytes.size() >= 4 && bytes.substr(1, 3) == "\x2a\x4d\x18"sv && (bytes[0] & 0xf0) == 0x50;
  return is_skipped || bytes.starts_with("\x28\xb5\x2f\xfd"sv);
}

}  // namespace

Codec codec_of_beginning(std::string_view beginning) {
  if (begins_as_gzip(beginning)) return Codec::gzip;
  return begins_as_zstd(beginning) ? Codec::zstd : Codec::none;
}

Codec codec_of_path(std::string_view path) {
  for (const Kind& kind : kKinds)
    if (kind.codec != Codec::none && path.ends_with(kind.suffix)) return kind.codec;
  return Codec::none;
}

std::optional<Codec> codec_of_name(std::string_view name) {
  for (const Kind& kind : kKinds)
    if (name == kind.name) return kind.codec;
  return std::nullopt;
}

const char* name_of(Codec codec) { return kind_of(codec).name; }

const char* suffix_of(Codec codec) { return kind_of(codec).suffix; }

}  // namespace spillway::compression
