// Lines and numbers of text files of any size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "file_io.h"

namespace pagerank {

class LineReader {
 public:
  explicit LineReader(const std::string& path);

  // The next line without its end ("\n" or "\r\n"); valid until the next call. False at the end of the file.
  bool next(std::string_view& line);

  // Throws an exception whose message has the file and the number of the line last returned in front.
  [[noreturn]] void reject(const std::string& cause) const;

 private:
  // A line has to fit: what is longer is no graph but a binary file.
  static constexpr size_t kBufferBytes = size_t{1} << 20;

  void refill();

  File file_;
  std::vector<char> buffer_;
  size_t begin_ = 0;  // of what is not returned yet
  size_t end_ = 0;
  uint64_t position_ = 0;  // in the file, of end_
  uint64_t line_number_ = 0;
  bool is_at_end_ = false;
};

// Cuts the first word, up to white space, off `line`; empty at its end.
std::string_view cut_word(std::string_view& line);

}  // namespace pagerank
