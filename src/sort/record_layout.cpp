#include "sort/record_layout.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <sstream>
#include <vector>

#include "sort/failure.h"

namespace spillway::sort {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr int kLeastCountDigits = 7;  // as uniq -c

uint64_t parse_number(const std::string& text, const std::string& key) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    throw UsageFailure("--key " + key + ": '" + text + "' is no number", "say where the key is, as in 0:10");
  return number;
}

std::vector<std::string> parts_of(const std::string& key) {
  std::vector<std::string> parts;
  std::istringstream text(key);
  for (std::string part; std::getline(text, part, ':');) parts.push_back(part);
  return parts;
}

struct TypeName {
  const char* name;
  KeyType type;
};

// From the `first` part on.
KeyOrder parse_order(const std::vector<std::string>& parts, size_t first, const std::string& key,
                     const std::vector<TypeName>& names) {
  KeyType type = KeyType::bytes;
  bool is_descending = false;
  for (size_t i = first; i < parts.size(); ++i) {
    const auto found =
        std::find_if(names.begin(), names.end(), [&](const TypeName& name) { return name.name == parts[i]; });
    if (found != names.end()) {
      type = found->type;
    } else if (parts[i] == "desc") {
      is_descending = true;
    } else {
      std::string all;
      for (const TypeName& name : names) all += all.empty() ? name.name : std::string(", ") + name.name;
      throw UsageFailure("--key " + key + ": '" + parts[i] + "' is neither a type nor an order",
                         "types are " + all + "; the order is ascending, or desc");
    }
  }
  return {type, is_descending};
}

size_t count_text(uint64_t count, char (&text)[32]) {
  return static_cast<size_t>(
      std::snprintf(text, sizeof text, "%*llu ", kLeastCountDigits, static_cast<unsigned long long>(count)));
}

}  // namespace

RecordLayout::RecordLayout(uint64_t record_bytes, uint64_t key_offset, uint64_t key_bytes, KeyOrder order,
                           EqualKeys equal_keys)
    : record_bytes_(record_bytes),
      key_offset_(key_offset),
      key_bytes_(key_bytes),
      order_(order),
      equal_keys_(equal_keys) {
  if (record_bytes == 0 || record_bytes > kMostRecordBytes)
    throw UsageFailure("records of " + std::to_string(record_bytes) + " bytes", "they have 1 byte to 1 MiB");
  if (key_bytes == 0 || key_offset >= record_bytes || key_bytes > record_bytes - key_offset)
    throw UsageFailure("a key of " + std::to_string(key_bytes) + " bytes at byte " + std::to_string(key_offset) +
                           " does not lie in records of " + std::to_string(record_bytes) + " bytes",
                       "count from 0");
  const bool is_float = order.type() == KeyType::real;
  const bool has_size = std::has_single_bit(key_bytes) && key_bytes <= 8 && (!is_float || key_bytes >= 4);
  if (order.type() != KeyType::bytes && order.type() != KeyType::decimal && !has_size)
    throw UsageFailure("a number of " + std::to_string(key_bytes) + " bytes as the key",
                       is_float ? "floats have 4 or 8" : "integers have 1, 2, 4 or 8");
}

RecordLayout::RecordLayout(uint64_t field, std::optional<char> separator, KeyOrder order, EqualKeys equal_keys)
    : field_(field), separator_(separator), order_(order), equal_keys_(equal_keys) {
  const bool may_differ = field != 0 || order.type() != KeyType::bytes;
  if (may_differ) equal_keys_ = std::max(equal_keys_, EqualKeys::stable);
}

RecordLayout RecordLayout::parse(uint64_t record_bytes, const std::string& key, EqualKeys equal_keys) {
  const std::vector<std::string> parts = parts_of(key);
  if (parts.size() < 2)
    throw UsageFailure("--key " + key + ": where is it, and how long?", "say both, as in 0:10 or 8:4:int:desc");
  const KeyOrder order = parse_order(parts, 2, key,
                                     {{"bytes", KeyType::bytes},
                                      {"int", KeyType::signed_integer},
                                      {"uint", KeyType::unsigned_integer},
                                      {"float", KeyType::real},
                                      {"number", KeyType::decimal}});
  return {record_bytes, parse_number(parts[0], key), parse_number(parts[1], key), order, equal_keys};
}

RecordLayout RecordLayout::parse_lines(const std::string& key, const std::string& separator, EqualKeys equal_keys) {
  const std::vector<std::string> parts = parts_of(key);
  if (parts.empty())
    throw UsageFailure("--key " + key + ": which field is it?", "say its number from 1, or 0 for the whole line");
  const KeyOrder order = parse_order(parts, 1, key, {{"bytes", KeyType::bytes}, {"number", KeyType::decimal}});
  std::optional<char> byte;
  if (separator == "\\t") {
    byte = '\t';
  } else if (separator.size() == 1 && separator != "\n") {
    byte = separator[0];
  } else if (!separator.empty()) {
    throw UsageFailure("--separator " + separator + ": it is no single byte", "say one, as in , or \\t");
  }
  return {parse_number(parts[0], key), byte, order, equal_keys};
}

std::string_view RecordLayout::field(std::string_view line) const {
  size_t begin = 0;
  for (uint64_t number = 1;; ++number) {
    if (!separator_) begin = std::min(line.find_first_not_of(kBlanks, begin), line.size());
    const size_t end =
        std::min(separator_ ? line.find(*separator_, begin) : line.find_first_of(kBlanks, begin), line.size());
    if (number == field_) return line.substr(begin, end - begin);
    if (end == line.size()) return line.substr(end);
    begin = end + 1;
  }
}

bool RecordLayout::is_before(std::string_view first, std::string_view second) const {
  const int result = order_.compare(key(first), key(second));
  if (result != 0) return result < 0;
  return has_positions() && position(first) < position(second);
}

uint64_t RecordLayout::written_bytes(std::string_view record, uint64_t count) const {
  if (!is_lines()) return record.size() + (is_counted() ? sizeof count : 0);
  char text[32];
  return record.size() + 1 + (is_counted() ? count_text(count, text) : 0);
}

void RecordLayout::write(std::string_view record, uint64_t count, char* to) const {
  if (is_lines() && is_counted()) {
    char text[32];
    const size_t bytes = count_text(count, text);
    std::memcpy(to, text, bytes);
    to += bytes;
  }
  std::memcpy(to, record.data(), record.size());
  to += record.size();
  if (is_lines()) {
    *to = '\n';
  } else if (is_counted()) {
    std::memcpy(to, &count, sizeof count);
  }
}

}  // namespace spillway::sort
