#include "text_lines.h"

#include <fcntl.h>

#include <cstring>
#include <stdexcept>

namespace pagerank {

LineReader::LineReader(const std::string& path) : file_(path, O_RDONLY), buffer_(kBufferBytes) {}

bool LineReader::next(std::string_view& line) {
  const void* end = std::memchr(buffer_.data() + begin_, '\n', end_ - begin_);
  if (end == nullptr && !is_at_end_) {
    refill();
    end = std::memchr(buffer_.data() + begin_, '\n', end_ - begin_);
  }
  if (begin_ == end_) {
    return false;
  }
  ++line_number_;
  if (end == nullptr && !is_at_end_) {
    reject("the line is longer than " + std::to_string(kBufferBytes) + " bytes: this is no text file of a graph");
  }
  const size_t length = end == nullptr ? end_ - begin_ : static_cast<const char*>(end) - (buffer_.data() + begin_);
  line = {buffer_.data() + begin_, length};
  begin_ += end == nullptr ? length : length + 1;
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return true;
}

void LineReader::reject(const std::string& cause) const {
  throw std::runtime_error(file_.path() + ", line " + std::to_string(line_number_) + ": " + cause);
}

// Moves what is left to the front and fills up the rest.
void LineReader::refill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  const size_t wanted = buffer_.size() - end_;
  const size_t got = file_.read_some_at(position_, buffer_.data() + end_, wanted);
  is_at_end_ = got < wanted;
  position_ += got;
  end_ += got;
}

std::string_view cut_word(std::string_view& line) {
  constexpr std::string_view kSpace = " \t\v\f";
  size_t begin = 0;
  while (begin < line.size() && kSpace.find(line[begin]) != std::string_view::npos) {
    ++begin;
  }
  size_t end = begin;
  while (end < line.size() && kSpace.find(line[end]) == std::string_view::npos) {
    ++end;
  }
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

}  // namespace pagerank
