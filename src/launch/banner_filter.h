// Takes the MPI launcher's own notices of a failed job out of its output.
//
// Hydra and Open MPI comment on every rank that ends badly, some dozen lines that name neither cause nor remedy; the
// agent has the one message that does. Everything else passes byte for byte. A notice is a box (a line of `=` or `-`, a
// first line that is known, more lines, the same line again) or one of a few single lines. Text is held back only while
// it may still become one of these. What Hydra's processes say of their own errors is kept, for the case that they are
// the cause.
#pragma once

#include <string>
#include <string_view>

namespace spillway::launch {

class BannerFilter {
 public:
  // Appends to `output` what of the text so far is surely no notice.
  void feed(std::string_view text, std::string& output);

  // Appends what is held back: at the end, or when nothing has come for a while.
  void flush(std::string& output);

  // Lines that Hydra's own processes have written about themselves.
  const std::string& errors_of_launcher() const { return errors_of_launcher_; }

  bool holds_text() const { return !held_.empty() || !line_.empty(); }

 private:
  enum class State { outside, after_blank, after_rule, inside_box };

  void take_line(std::string& output);
  void open_or_pass(std::string& output);
  void pass_partial_line(std::string& output);
  void release(std::string& output);

  State state_ = State::outside;
  std::string held_;  // whole lines that may be the start of a notice
  std::string line_;  // the current line, not yet passed
  char box_ = 0;      // what the lines around the current box are made of
  unsigned box_lines_ = 0;
  std::string errors_of_launcher_;
  bool is_line_passing_ = false;  // the start of the current line has been passed on already
};

}  // namespace spillway::launch
