// Lines and numbers of text files of any size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "file_io.h"

namespace apps {

// How long a line may be, and what is said of one that is longer.
struct LineLimit {
  size_t bytes = size_t{1} << 20;
  const char* cause = "this is no text file of a graph or matrix";
};

class LineReader {
 public:
  explicit LineReader(const std::string& path, const LineLimit& limit = {});

  // The next line without its end ("\n" or "\r\n"); valid until the next call. False at the end of the file.
  bool next(std::string_view& line);
  // The next one that is not empty and does not start with one of the marks.
  bool next_content(std::string_view& line, std::string_view comment_marks);

  // Throws an exception whose message has the file and the number of the line last returned in front.
  [[noreturn]] void reject(const std::string& cause) const;

 private:
  const void* find_line_end() const;
  void refill();

  File file_;
  const LineLimit limit_;
  std::vector<char> buffer_;
  size_t begin_ = 0;  // of what is not returned yet
  size_t end_ = 0;
  uint64_t position_ = 0;  // in the file, of end_
  uint64_t line_number_ = 0;
  bool is_at_end_ = false;
};

// Cuts the first word, up to white space, off `line`; empty at its end.
std::string_view cut_word(std::string_view& line);

// The word in quotation marks, for messages.
std::string quote(std::string_view word);

// What a file counts: a vertex, a row. `missing` is what is said where there should be one.
struct IndexName {
  const char* singular;
  const char* plural;
  const char* missing;
};

// These reject what is wrong as the line's fault. parse_index takes an index in [first, first + count) and returns it
// as counted from 0; parse_number takes infinities too, which it makes of numbers too large for a double.
uint64_t parse_index(const LineReader& reader, std::string_view word, const IndexName& name, uint64_t first,
                     uint64_t count);
double parse_number(const LineReader& reader, std::string_view word);
void check_line_ends(const LineReader& reader, std::string_view rest);

}  // namespace apps
