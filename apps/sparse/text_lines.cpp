#include "text_lines.h"

#include <fcntl.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace apps {

namespace {

bool is_space(char letter) { return letter == ' ' || letter == '\t' || letter == '\v' || letter == '\f'; }
bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

[[noreturn]] void reject_index(const LineReader& reader, std::string_view word, const IndexName& name, uint64_t first,
                               uint64_t count) {
  if (word.empty()) {
    reader.reject(name.missing);
  }
  if (word.size() > 1 && word[0] == '-' && is_digit(word[1])) {
    reader.reject(std::string("negative ") + name.singular + " " + quote(word));
  }
  if (!std::all_of(word.begin(), word.end(), is_digit)) {
    reader.reject(quote(word) + " is not a " + name.singular);
  }
  reader.reject(std::string(name.singular) + " " + quote(word) + " is out of range: " +
                (count == 0 ? std::string("there are no ") + name.plural
                            : std::string(name.plural) + " are " + std::to_string(first) + " to " +
                                  std::to_string(first + count - 1)));
}

}  // namespace

LineReader::LineReader(const std::string& path, const LineLimit& limit)
    : file_(path, O_RDONLY), limit_(limit), buffer_(LineLimit().bytes) {}

bool LineReader::next(std::string_view& line) {
  const void* end = find_line_end();
  while (end == nullptr && !is_at_end_ && end_ - begin_ < limit_.bytes) {
    refill();
    end = find_line_end();
  }
  if (begin_ == end_) {
    return false;
  }
  ++line_number_;
  if (end == nullptr && !is_at_end_) {
    reject("the line is longer than " + std::to_string(limit_.bytes) + " bytes: " + limit_.cause);
  }
  const size_t length = end == nullptr ? end_ - begin_ : static_cast<const char*>(end) - (buffer_.data() + begin_);
  line = {buffer_.data() + begin_, length};
  begin_ += end == nullptr ? length : length + 1;
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return true;
}

bool LineReader::next_content(std::string_view& line, std::string_view comment_marks) {
  while (next(line)) {
    std::string_view rest = line;
    const std::string_view word = cut_word(rest);
    if (!word.empty() && comment_marks.find(word[0]) == std::string_view::npos) {
      return true;
    }
  }
  return false;
}

void LineReader::reject(const std::string& cause) const {
  throw std::runtime_error(file_.path() + ", line " + std::to_string(line_number_) + ": " + cause);
}

const void* LineReader::find_line_end() const { return std::memchr(buffer_.data() + begin_, '\n', end_ - begin_); }

// Moves what is left to the front and fills up the rest; where that is nothing, the line needs a larger buffer.
void LineReader::refill() {
  if (end_ - begin_ == buffer_.size()) {
    buffer_.resize(std::min(2 * buffer_.size(), limit_.bytes));
  }
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
  size_t begin = 0;
  while (begin < line.size() && is_space(line[begin])) {
    ++begin;
  }
  size_t end = begin;
  while (end < line.size() && !is_space(line[end])) {
    ++end;
  }
  const std::string_view word = line.substr(begin, end - begin);
  line.remove_prefix(end);
  return word;
}

std::string quote(std::string_view word) { return std::string(1, '\'').append(word).append(1, '\''); }

uint64_t parse_index(const LineReader& reader, std::string_view word, const IndexName& name, uint64_t first,
                     uint64_t count) {
  uint64_t index = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), index);
  if (error != std::errc() || end != word.data() + word.size() || index < first || index - first >= count) {
    reject_index(reader, word, name, first, count);
  }
  return index - first;
}

double parse_number(const LineReader& reader, std::string_view word) {
  double value = 0;
  const std::string_view digits = word.starts_with('+') ? word.substr(1) : word;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool has_two_signs = digits.size() < word.size() && digits.starts_with('-');
  if (has_two_signs || error == std::errc::invalid_argument || end != digits.data() + digits.size()) {
    reader.reject(quote(word) + " is not a number");
  }
  // Tells numbers too large, infinite, from those too small, 0, which from_chars does not.
  return error == std::errc() ? value : std::strtod(std::string(digits).c_str(), nullptr);
}

void check_line_ends(const LineReader& reader, std::string_view rest) {
  const std::string_view word = cut_word(rest);
  if (!word.empty()) {
    reader.reject("unexpected " + quote(word));
  }
}

}  // namespace apps
