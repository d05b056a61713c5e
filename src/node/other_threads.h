// Stops the rank's other threads while the caller unloads memory, so that no store of theirs is lost in the middle of
// it.
//
// It is the rank's parent that does it (launch/thread_stopper.h). The caller must not take a lock meanwhile that a
// stopped thread may hold: it allocates nothing from malloc, and holds before the stop what it needs. Of the node's
// lock stop() makes sure that none of them holds it, as all other ranks would wait for them.
#pragma once

#include <string>
#include <utility>

#include "node/attach_protocol.h"
#include "node/segment.h"

namespace spillway::node {

class OtherThreads {
 public:
  // `parent` is the name of the parent's socket, from the environment that the process began with.
  OtherThreads(SegmentHeader& header, std::string parent) : header_(header), parent_(std::move(parent)) {}
  OtherThreads(const OtherThreads&) = delete;
  OtherThreads& operator=(const OtherThreads&) = delete;

  // `stopped` also when there are none. By one thread at a time; let_go() follows whatever it returns.
  ThreadStop stop();
  void let_go();

 private:
  ThreadStop ask_parent();

  SegmentHeader& header_;
  std::string parent_;
  int socket_ = -1;  // to the parent, while they are stopped
};

}  // namespace spillway::node
