// Whether a process that this one has forked still lives and has not called exec: it sees what is unloaded of its
// parent's memory in the same file.
//
// A pipe tells. Each child gets a descriptor of its writing end, which is closed when it calls exec or ends, and the
// parent keeps none; so do the child's own children. A child that closes descriptors which it has not opened counts as
// gone.
//
// Not thread-safe. Allocates nothing.
#pragma once

namespace spillway::memory {

class ForkedChildren {
 public:
  // Around a fork, in the parent.
  void before_fork();
  void after_fork_in_parent();

  // In the child, which has no children yet.
  void after_fork_in_child();

  bool is_any_alive() const;

 private:
  int reading_end_ = -1;  // from the first fork on
  int writing_end_ = -1;  // during a fork
  bool cannot_tell_ = false;
};

}  // namespace spillway::memory
