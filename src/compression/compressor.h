// Compresses what is written to a file. The file is whole when finish() has returned.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compression/codec.h"

namespace spillway::compression {

// How a codec does its work.
class Encoder {
 public:
  virtual ~Encoder() = default;
  // Takes some of the input, which it shortens, and fills some of the output: how many bytes.
  virtual size_t encode(std::string_view& input, char* output, size_t bytes) = 0;
  // Writes out what it holds, and the end. How many bytes it has made; `is_over` when there are no more.
  virtual size_t finish(char* output, size_t bytes, bool& is_over) = 0;
};

// Throws std::runtime_error with a message that names the file.
class Compressor {
 public:
  // The descriptor stays the caller's.
  Compressor(Codec codec, std::string path, int descriptor);

  // Both throw after finish(), and after a failure: what is missing then is not to be forgotten.
  void write(std::string_view bytes);
  void finish();

 private:
  enum class State { open, broken, finished };

  void begin();
  void put(size_t bytes);

  const std::string path_;
  const int descriptor_;
  State state_ = State::open;
  std::unique_ptr<Encoder> encoder_;
  std::vector<char> buffer_;
};

}  // namespace spillway::compression
