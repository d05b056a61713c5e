// A thread that sorts full send partition lists while the next one is filled and the last one is sent.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>

#include "shuffle/send_list.h"
#include "shuffle/sorted_list.h"

namespace spillway::shuffle {

// A list as it comes and as it goes.
struct SendLane {
  SendLane(size_t bytes, const KeyOrder& order, const Combiner& combiner) : list(bytes, order, combiner) {}
  SendList list;
  SortedList sorted;
  size_t unsent_pieces = 0;  // for whoever sends it
};

class ListSorter {
 public:
  ListSorter(const KeyOrder& order, uint32_t partition_count);
  ~ListSorter();
  ListSorter(const ListSorter&) = delete;
  ListSorter& operator=(const ListSorter&) = delete;

  void start(SendLane& lane);
  // The lane that was started first, when it is ready; nullptr while none is. With `waits`, waits for it. Its list is
  // empty then.
  SendLane* take_sorted(bool waits);
  // Lanes that have been started and not been taken.
  size_t lane_count() const { return lane_count_; }

 private:
  void work();

  const KeyOrder& order_;
  const uint32_t partition_count_;
  size_t lane_count_ = 0;  // the caller's thread alone
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<SendLane*> unsorted_;
  std::deque<SendLane*> sorted_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace spillway::shuffle
