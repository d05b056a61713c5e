// How far the sort is, in a file that who started it looks into: the stage, what is done of it and of how much, in one
// line of one length, so that it is always whole.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "base/clock.h"
#include "base/descriptor.h"

namespace spillway::sort {

class Progress {
 public:
  Progress() = default;
  // Nobody is told if the file cannot be opened.
  explicit Progress(const std::string& path) : file_(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) {}

  // Whether somebody wants to know, and has not been told for a while.
  bool is_due() const { return file_ && base::now_ns() - shown_ns_ >= kEveryNs; }
  // `stage` is `d` while records are dealt out and `f` while buckets are finished.
  void show(char stage, uint64_t done, uint64_t total) {
    shown_ns_ = base::now_ns();
    char line[48];
    const int size = std::snprintf(line, sizeof line, "%c %020llu %020llu\n", stage,
                                   static_cast<unsigned long long>(done), static_cast<unsigned long long>(total));
    if (pwrite(file_.number(), line, static_cast<size_t>(size), 0) < 0) file_ = {};
  }

 private:
  static constexpr uint64_t kEveryNs = 100'000'000;

  base::Descriptor file_;
  uint64_t shown_ns_ = 0;
};

}  // namespace spillway::sort
