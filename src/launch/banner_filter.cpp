#include "launch/banner_filter.h"

#include <algorithm>

namespace spillway::launch {
namespace {

constexpr size_t kShortestRule = 60;      // Open MPI's have 74 characters, Hydra's 83
constexpr size_t kMostErrorBytes = 4000;  // one error of Hydra's has some ten lines
constexpr unsigned kLongestBox = 40;      // lines; a box that does not close is none

constexpr std::string_view kSingleLines[] = {
    "YOUR APPLICATION TERMINATED WITH THE EXIT STRING:",
    "This typically refers to a problem with your application.",
    "Please see the FAQ page for debugging suggestions",
    "[proxy:",  // this and the next are the beginnings of Hydra's own errors
    "[mpiexec@",
};
constexpr std::string_view kFirstLinesOfBoxes[] = {
    "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
    "Primary job  terminated normally, but",
    " noticed that process rank ",
    " has exited due to process rank ",
    " detected that one or more processes exited with non-zero status",
};

bool is_made_of_one(std::string_view line) {
  return !line.empty() && (line[0] == '=' || line[0] == '-') &&
         line.find_first_not_of(line[0]) == std::string_view::npos;
}

bool is_rule(std::string_view line) { return line.size() >= kShortestRule && is_made_of_one(line); }

bool is_single_notice(std::string_view line) {
  return std::any_of(std::begin(kSingleLines), std::end(kSingleLines),
                     [&](std::string_view start) { return line.substr(0, start.size()) == start; });
}

bool may_become_notice(std::string_view partial) {
  return is_made_of_one(partial) ||
         std::any_of(std::begin(kSingleLines), std::end(kSingleLines), [&](std::string_view start) {
           const size_t length = std::min(start.size(), partial.size());
           return start.substr(0, length) == partial.substr(0, length);
         });
}

bool opens_box(std::string_view line) {
  return std::any_of(std::begin(kFirstLinesOfBoxes), std::end(kFirstLinesOfBoxes),
                     [&](std::string_view part) { return line.find(part) != std::string_view::npos; });
}

}  // namespace

void BannerFilter::feed(std::string_view text, std::string& output) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const bool is_whole = end != std::string_view::npos;
    line_ += text.substr(0, is_whole ? end + 1 : text.size());
    text.remove_prefix(is_whole ? end + 1 : text.size());
    if (is_whole) take_line(output);
  }
  if (!line_.empty()) pass_partial_line(output);
}

void BannerFilter::flush(std::string& output) {
  const bool is_partial = !line_.empty();
  if (state_ == State::inside_box) return;  // what is held of a box is not wanted
  held_ += line_;
  line_.clear();
  release(output);
  is_line_passing_ = is_line_passing_ || is_partial;
}

void BannerFilter::take_line(std::string& output) {
  const std::string_view content = std::string_view(line_).substr(0, line_.size() - 1);
  if (is_line_passing_) {
    is_line_passing_ = false;
    held_ += line_;
    release(output);
  } else if (state_ == State::inside_box) {
    if (++box_lines_ > kLongestBox || (is_rule(content) && content[0] == box_)) state_ = State::outside;
  } else if (state_ == State::after_rule && opens_box(content)) {
    held_.clear();
    box_lines_ = 0;
    state_ = State::inside_box;
  } else {
    open_or_pass(output);
  }
  line_.clear();
}

// A line outside of a box: perhaps the first one of a notice.
void BannerFilter::open_or_pass(std::string& output) {
  const std::string_view content = std::string_view(line_).substr(0, line_.size() - 1);
  const bool follows_blank = state_ == State::after_blank;
  if (!follows_blank) release(output);
  if (is_rule(content)) {
    box_ = content[0];
    held_ += line_;
    state_ = State::after_rule;
  } else if (is_single_notice(content)) {
    if (content[0] == '[' && errors_of_launcher_.size() + line_.size() <= kMostErrorBytes) errors_of_launcher_ += line_;
    release(output);
  } else if (content.empty()) {
    release(output);
    held_ = line_;
    state_ = State::after_blank;
  } else {
    held_ += line_;
    release(output);
  }
}

void BannerFilter::pass_partial_line(std::string& output) {
  if (!is_line_passing_ && (state_ == State::after_rule || state_ == State::inside_box || may_become_notice(line_)))
    return;
  held_ += line_;
  line_.clear();
  release(output);
  is_line_passing_ = true;
}

void BannerFilter::release(std::string& output) {
  output += held_;
  held_.clear();
  state_ = State::outside;
}

}  // namespace spillway::launch
