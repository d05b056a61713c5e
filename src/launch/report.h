// The statistics of a finished job, as lines for the front end, which makes the summary from them:
//
//   key value                                of the job
//   node <host>                              what follows is of this node, until the next line of this kind
//   address <ip>                             where there are several: by which the others reach it
//   key value
//   rank <world rank> key=value key=value ...
//   link <node index> bytes=... busy_us=... min_rtt_us=...
//                                            to that node, when something has been sent there; 0: not known
//
// Written after a failure too. Values are numbers, or text with "\n" for a newline.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "courier/link_figures.h"
#include "launch/failure.h"
#include "node/segment.h"

namespace spillway::launch {

struct JobOutcome {
  std::optional<Failure> failure;
  int exit_status = 0;
  uint64_t wall_ns = 0;
};

// The lines of one node. Where there are several, each has an address.
std::string node_report(const node::Segment& segment, const std::string& host, const std::string& address = "");

// The line of a link from a node to node `to`; empty when nothing is known of it.
std::string link_report(uint32_t to, const courier::LinkFigures& figures);

void write_report(int descriptor, const JobOutcome& outcome, const std::vector<std::string>& nodes);

}  // namespace spillway::launch
