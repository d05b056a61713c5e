// The contents of a compressed file, from its beginning to its end. All that the file has must be whole: members of
// gzip or frames of zstd, one after another, and nothing behind them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compression/codec.h"

namespace spillway::compression {

// How a codec undoes its work.
class Decoder {
 public:
  struct Buffers {
    const char* input;
    size_t input_bytes;
    char* output;
    size_t output_bytes;
  };

  virtual ~Decoder() = default;
  // Uses up and fills as much of the buffers as it can within one member or frame. What is wrong, or null.
  virtual const char* decode(Buffers& buffers) = 0;
  // Whether the last call has completed a member or frame.
  [[nodiscard]] virtual bool is_complete() const = 0;
  // Whether what was wrong in the last call is damage. Otherwise the data need something that this decoder has not.
  [[nodiscard]] virtual bool is_damage() const { return true; }
};

// Throws std::runtime_error with a message that names the file.
class Decompressor {
 public:
  explicit Decompressor(std::string path);
  ~Decompressor();
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;

  // Fewer bytes only at the end.
  size_t read(char* to, size_t bytes);

 private:
  bool fill();
  size_t decode(char* to, size_t bytes);
  [[nodiscard]] uint64_t position() const { return read_bytes_ - (filled_ - taken_); }
  [[noreturn]] void fail(const std::string& cause) const;

  const std::string path_;
  int descriptor_;
  Codec codec_ = Codec::none;
  std::unique_ptr<Decoder> decoder_;
  std::vector<char> buffer_;
  size_t taken_ = 0;
  size_t filled_ = 0;
  uint64_t read_bytes_ = 0;  // of the file, up to what the buffer has
  uint64_t begin_ = 0;       // of the current member or frame in the file
};

// By its first bytes, of which codec_of() is told as many as there are, or kMarkBytes. They throw where the file cannot
// be read, or its name promises something else.
Codec codec_of_file(const std::string& path);
Codec codec_of(const std::string& path, std::string_view beginning);

}  // namespace spillway::compression
