// The kinds of compressed files: how they begin, and what their names end with.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace spillway::compression {

enum class Codec { none, gzip, zstd };

// So many bytes of a file say what it is.
constexpr size_t kMarkBytes = 4;

// By the first bytes of a file: all that it has, or kMarkBytes.
Codec codec_of_beginning(std::string_view beginning);

// By the end of a file's name.
Codec codec_of_path(std::string_view path);

// "none", "gzip" or "zstd".
std::optional<Codec> codec_of_name(std::string_view name);
const char* name_of(Codec codec);

// "", ".gz" or ".zst"
const char* suffix_of(Codec codec);

// Of the part files of this process' job; none at first.
void set_part_codec(Codec codec);

}  // namespace spillway::compression
