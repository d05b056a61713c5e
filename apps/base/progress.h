// Progress of the iterations, on stderr: a bar that is drawn over itself on a terminal, otherwise lines.
#pragma once

#include <cstdint>
#include <string>

namespace apps {

enum class ProgressStyle {
  none,
  automatic,  // a bar if stderr is a terminal; under most MPI launchers it is a pipe
  bar,
  lines,
};

// The value of an option --progress; without one (nullptr) it is "auto". Throws UsageError.
ProgressStyle parse_progress_style(const char* text);

class Progress {
 public:
  Progress(ProgressStyle style, uint64_t iteration_count);

  // After `done` iterations in `seconds`.
  void show(uint64_t done, double seconds) const;
  // Leaves the bar's line.
  void finish() const;

 private:
  bool shows_bar_;
  bool shows_lines_;
  uint64_t iteration_count_;
};

}  // namespace apps
