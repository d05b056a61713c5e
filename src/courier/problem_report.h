// What has gone wrong in a courier, for the thread that looks after the job.
#pragma once

#include <mutex>
#include <string>

#include "base/descriptor.h"

namespace spillway::courier {

struct Problem {
  int node = -1;  // that has been lost; -1: it is this one that cannot go on
  std::string text;
};

// Thread-safe. Only the first problem counts: the others mostly follow from it.
class ProblemReport {
 public:
  ProblemReport();

  void report(int node, const std::string& text);

  // Becomes readable with the first problem, and stays so.
  int descriptor() const { return event_.number(); }
  Problem problem() const;

 private:
  base::Descriptor event_;
  mutable std::mutex mutex_;
  bool has_any_ = false;
  Problem first_;
};

}  // namespace spillway::courier
