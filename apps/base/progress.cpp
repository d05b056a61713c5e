#include "progress.h"

#include <unistd.h>

#include <cstdio>

#include "option_values.h"

namespace apps {

namespace {
constexpr uint64_t kBarWidth = 40;
}  // namespace

ProgressStyle parse_progress_style(const char* text) {
  const std::string style = text == nullptr ? "auto" : text;
  if (style != "auto" && style != "bar" && style != "lines") {
    throw UsageError("option --progress: '" + style + "' is none of auto, bar, lines");
  }
  return style == "auto" ? ProgressStyle::automatic : style == "bar" ? ProgressStyle::bar : ProgressStyle::lines;
}

Progress::Progress(ProgressStyle style, uint64_t iteration_count)
    : shows_bar_(style == ProgressStyle::bar || (style == ProgressStyle::automatic && ::isatty(STDERR_FILENO) == 1)),
      shows_lines_(!shows_bar_ && style != ProgressStyle::none),
      iteration_count_(iteration_count) {}

void Progress::show(uint64_t done, double seconds) const {
  const double each = seconds / static_cast<double>(done);
  const double left = each * static_cast<double>(iteration_count_ - done);
  const auto iteration = static_cast<unsigned long long>(done);
  const auto iterations = static_cast<unsigned long long>(iteration_count_);
  if (shows_bar_) {
    const uint64_t filled = done * kBarWidth / iteration_count_;
    const std::string bar = std::string(filled, '#') + std::string(kBarWidth - filled, '.');
    std::fprintf(stderr, "\r[%s] iteration %llu of %llu, %.2f s each, %.0f s left \x1b[K", bar.c_str(), iteration,
                 iterations, each, left);
    std::fflush(stderr);
  } else if (shows_lines_) {
    std::fprintf(stderr, "iteration %llu of %llu, %.2f s each, %.0f s left\n", iteration, iterations, each, left);
  }
}

void Progress::finish() const {
  if (shows_bar_) {
    std::fputc('\n', stderr);
  }
}

}  // namespace apps
