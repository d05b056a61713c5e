// The statistics of a finished job, as lines for the front end, which makes the summary from them:
//
//   key value
//   rank <world rank> key=value key=value ...
//
// Written after a failure too. Values are numbers, or text with "\n" for a newline.
#pragma once

#include <optional>
#include <string>

#include "launch/failure.h"
#include "node/segment.h"

namespace spillway::launch {

struct JobOutcome {
  std::string host;
  std::optional<Failure> failure;
  int exit_status = 0;
  uint64_t wall_ns = 0;
};

void write_report(int descriptor, const node::Segment& segment, const JobOutcome& outcome);

}  // namespace spillway::launch
