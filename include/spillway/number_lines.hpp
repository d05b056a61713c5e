// Lines of numbers as input of key-value jobs, and numbers as bytes of a value. Needs no MPI. What is wrong with a line
// is thrown as a std::runtime_error.
#ifndef SPILLWAY_NUMBER_LINES_HPP
#define SPILLWAY_NUMBER_LINES_HPP

#include <spillway/text_files.hpp>

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

namespace spillway::mpid {

// Numbers of a line, with spaces, tabs or commas between them: at least one, all finite.
template <typename Number>
std::vector<Number> numbers_of_line(std::string_view line) {
  const auto is_separator = [](char letter) {
    return letter == ' ' || letter == '\t' || letter == ',' || letter == '\r';
  };
  std::vector<Number> numbers;
  for (auto begin = line.begin(); (begin = std::find_if_not(begin, line.end(), is_separator)) != line.end();) {
    const std::string_view word(begin, std::find_if(begin, line.end(), is_separator));
    Number number{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error == std::errc::result_out_of_range)
      throw std::runtime_error("'" + std::string(word) + "' is out of the range of its type");
    if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(static_cast<double>(number)))
      throw std::runtime_error("'" + std::string(word) + "' is not a " +
                               (std::is_integral_v<Number> ? "whole number" : "number"));
    numbers.push_back(number);
    begin += static_cast<std::ptrdiff_t>(word.size());
  }
  if (numbers.empty()) throw std::runtime_error("there is no number");
  return numbers;
}

// A whole number from 1 on that is an argument of a program.
inline int64_t number_argument(const std::string& name, std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1)
    throw std::runtime_error(name + ": '" + std::string(text) + "' is not a whole number from 1 on");
  return number;
}

inline std::string bytes_of_numbers(const std::vector<double>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double)};
}

inline std::vector<double> numbers_of_bytes(std::string_view bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(double));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(double));
  return numbers;
}

// Adds what `bytes` has to `sums`, number by number.
inline void add_numbers(std::vector<double>& sums, std::string_view bytes) {
  const std::vector<double> numbers = numbers_of_bytes(bytes);
  sums.resize(std::max(sums.size(), numbers.size()));
  for (size_t i = 0; i < numbers.size(); ++i) sums[i] += numbers[i];
}

// The sums of values, as of groups, number by number.
template <typename Values>
std::vector<double> sums_of_values(Values values) {
  std::vector<double> sums;
  for (const std::string_view value : values) add_numbers(sums, value);
  return sums;
}

// The sums of both, number by number: for combine functions.
inline std::string sums_of_numbers(std::string_view first, std::string_view second) {
  std::vector<double> sums = numbers_of_bytes(first);
  add_numbers(sums, second);
  return bytes_of_numbers(sums);
}

// Adds up in four sums, which a processor can do at once.
inline double squared_distance(std::span<const double> first, std::span<const double> second) {
  constexpr size_t kSums = 4;
  double sums[kSums] = {};
  const auto add = [&](size_t sum, size_t i) { sums[sum] += (first[i] - second[i]) * (first[i] - second[i]); };
  size_t i = 0;
  for (; i + kSums <= first.size(); i += kSums)
    for (size_t sum = 0; sum < kSums; ++sum) add(sum, i + sum);
  for (; i < first.size(); ++i) add(i % kSums, i);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Rows of numbers, as many in each line, one row behind the other.
class NumberRows {
 public:
  explicit NumberRows(size_t columns = 0) : columns_(columns) {}

  // Where the number of columns is not known, the first row says it.
  void append(std::string_view line) {
    const auto row = numbers_of_line<double>(line);
    if (columns_ == 0) columns_ = row.size();
    if (row.size() != columns_)
      throw std::runtime_error(std::to_string(row.size()) + " columns, where the first line has " +
                               std::to_string(columns_));
    numbers_.insert(numbers_.end(), row.begin(), row.end());
  }

  [[nodiscard]] size_t columns() const { return columns_; }
  [[nodiscard]] size_t size() const { return columns_ == 0 ? 0 : numbers_.size() / columns_; }
  [[nodiscard]] std::span<const double> operator[](size_t row) const {
    return std::span(numbers_).subspan(row * columns_, columns_);
  }
  [[nodiscard]] std::span<double> operator[](size_t row) {
    return std::span(numbers_).subspan(row * columns_, columns_);
  }
  [[nodiscard]] std::vector<double>& numbers() { return numbers_; }

  // As lines of a new file.
  void write(const std::string& path) const {
    OutputFile output(path);
    for (size_t i = 0; i < numbers_.size(); ++i) output << numbers_[i] << ((i + 1) % columns_ == 0 ? "\n" : " ");
    output.finish();
  }

  // The first of the rows that are closest to a point, and the square of its distance.
  [[nodiscard]] std::pair<size_t, double> closest_to(std::span<const double> point) const {
    std::pair<size_t, double> closest{0, std::numeric_limits<double>::infinity()};
    for (size_t row = 0; row < size(); ++row) {
      const double distance = squared_distance((*this)[row], point);
      if (distance < closest.second) closest = {row, distance};
    }
    return closest;
  }

 private:
  size_t columns_;
  std::vector<double> numbers_;
};

namespace detail {

// Calls with the first lines of a split, in its process.
template <typename Function>
void call_with_first_lines(const LineSplits& splits, size_t split, size_t count, Function function) {
  splits.for_each_split(static_cast<int>(split), static_cast<int>(splits.size()), [&](const Split& part) {
    LineReader lines(part);
    std::string_view line;
    for (size_t taken = 0; taken < count && lines.next(line); ++taken) lines.call(function, line);
  });
}

// The first lines of each split, for which the processes of a job (mpid.hpp) look together, until a process has `count`
// of them: collective. `check` throws what is wrong with a line. With the number of its split, in their order.
template <typename Processes, typename Check>
std::vector<std::pair<size_t, std::string>> first_lines(const LineSplits& splits, size_t count, size_t most_of_split,
                                                        const Processes& processes, Check check) {
  std::vector<std::string> own;
  for (size_t i = 0; i < splits.size() && own.size() < count; ++i) {
    if (!processes.looks_at(i)) continue;
    call_with_first_lines(splits, i, std::min(most_of_split, count - own.size()), [&](std::string_view line) {
      check(line);
      own.push_back(std::to_string(i) + " " + std::string(line));
    });
  }
  std::vector<std::pair<size_t, std::string>> lines;
  for (const std::string& item : processes.all(own)) {
    const size_t space = item.find(' ');
    lines.emplace_back(std::stoull(item.substr(0, space)), item.substr(space + 1));
  }
  std::ranges::stable_sort(lines, {}, &std::pair<size_t, std::string>::first);
  return lines;
}

}  // namespace detail

// Collective, in `begin` of a job: the rows that its input begins with.
template <typename Processes>
NumberRows first_rows(const LineSplits& splits, size_t count, const Processes& processes) {
  NumberRows own;  // which have as many columns
  NumberRows rows;
  const auto lines =
      detail::first_lines(splits, count, count, processes, [&](std::string_view line) { own.append(line); });
  for (size_t i = 0; i < lines.size() && rows.size() < count; ++i) try {
      rows.append(lines[i].second);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(splits[lines[i].first].name() + ": " + error.what());
    }
  if (rows.size() < count)
    throw std::runtime_error("the files have " + std::to_string(rows.size()) + " lines, fewer than the " +
                             std::to_string(count) + " that are needed");
  return rows;
}

// Of lines sorted by their first number, which is theirs alone: which task has the line of a number. It refers to the
// splits.
class SortedNumberLines {
 public:
  SortedNumberLines() = default;
  // Collective, in `begin` of a job.
  template <typename Processes>
  SortedNumberLines(const LineSplits& splits, const Processes& processes) : splits_(&splits) {
    const auto check = [](std::string_view line) { numbers_of_line<int64_t>(line); };
    for (const auto& [split, line] : detail::first_lines(splits, SIZE_MAX, 1, processes, check)) {
      const int64_t number = numbers_of_line<int64_t>(line).front();
      if (!firsts_.empty() && firsts_.back().number >= number && processes.looks_at(split))  // which says where
        detail::call_with_first_lines(splits, split, 1, [](std::string_view) { fail(); });
      firsts_.push_back({number, split});
    }
  }

  [[nodiscard]] int task_of(int64_t number, int tasks) const {
    return static_cast<int>(split_of(number) % static_cast<size_t>(tasks));
  }

  // Where the line of a number is, if there is one.
  [[nodiscard]] std::string file_of(int64_t number) const { return (*splits_)[split_of(number)].name(); }

  // Throws where a task's line of `number` is not behind its previous one, or among those of another task.
  void check(int64_t number, int64_t previous, int task, int tasks) const {
    if (previous >= number || task_of(number, tasks) != task) fail();
  }

 private:
  struct First {
    int64_t number;
    size_t split;
  };

  [[nodiscard]] size_t split_of(int64_t number) const {
    const auto behind = std::ranges::upper_bound(firsts_, number, {}, &First::number);
    return behind == firsts_.begin() ? 0 : std::prev(behind)->split;
  }

  [[noreturn]] static void fail() {
    throw std::runtime_error("lines are not sorted by their first number, or two have the same");
  }

  const LineSplits* splits_ = nullptr;
  std::vector<First> firsts_;  // of each split that has a line
};

// Nodes of a graph and their neighbours: a task's lines of `node neighbour neighbour ...`, sorted by node. It refers to
// both.
class NeighbourLines {
 public:
  NeighbourLines(const LineSplits&, SortedNumberLines&&, int, int) = delete;
  NeighbourLines(const LineSplits& splits, const SortedNumberLines& sorted, int task, int tasks) : sorted_(&sorted) {
    splits.for_each_line(task, tasks, [&](std::string_view line) {
      const auto numbers = numbers_of_line<int64_t>(line);
      if (std::ranges::min(numbers) < 0) throw std::runtime_error("numbers of nodes must not be negative");
      sorted.check(numbers[0], nodes_.empty() ? -1 : nodes_.back(), task, tasks);
      nodes_.push_back(numbers[0]);
      neighbours_.insert(neighbours_.end(), numbers.begin() + 1, numbers.end());
      ends_.push_back(neighbours_.size());
    });
  }

  [[nodiscard]] size_t size() const { return nodes_.size(); }
  [[nodiscard]] int64_t node(size_t index) const { return nodes_[index]; }
  [[nodiscard]] std::span<const int64_t> neighbours(size_t index) const {
    const size_t begin = index == 0 ? 0 : ends_[index - 1];
    return std::span(neighbours_).subspan(begin, ends_[index] - begin);
  }
  [[nodiscard]] size_t index_of(int64_t node) const {
    const auto place = std::ranges::lower_bound(nodes_, node);
    if (place == nodes_.end() || *place != node)
      throw std::runtime_error("node " + std::to_string(node) + " is a neighbour, but has no line of its own in " +
                               sorted_->file_of(node));
    return static_cast<size_t>(place - nodes_.begin());
  }

 private:
  const SortedNumberLines* sorted_;
  std::vector<int64_t> nodes_;
  std::vector<int64_t> neighbours_;
  std::vector<size_t> ends_;  // of each node's neighbours
};

}  // namespace spillway::mpid

#endif
