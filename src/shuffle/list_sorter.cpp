#include "shuffle/list_sorter.h"

#include "base/error.h"
#include "shuffle/program_error.h"
#include "shuffle/quiet_thread.h"

namespace spillway::shuffle {

ListSorter::ListSorter(const KeyOrder& order, uint32_t partition_count)
    : order_(order), partition_count_(partition_count), thread_(quiet_thread("mpid-sort", [this] { work(); })) {}

ListSorter::~ListSorter() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ListSorter::start(SendLane& lane) {
  ++lane_count_;
  const std::lock_guard lock(mutex_);
  unsorted_.push_back(&lane);
  changed_.notify_all();
}

SendLane* ListSorter::take_sorted(bool waits) {
  if (lane_count_ == 0) return nullptr;
  std::unique_lock lock(mutex_);
  if (waits) changed_.wait(lock, [&] { return !sorted_.empty(); });
  if (sorted_.empty()) return nullptr;
  SendLane* lane = sorted_.front();
  sorted_.pop_front();
  --lane_count_;
  return lane;
}

void ListSorter::work() try {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return is_ending_ || !unsorted_.empty(); });
    if (is_ending_) return;
    SendLane* lane = unsorted_.front();
    unsorted_.pop_front();
    lock.unlock();
    sort_list(lane->list, order_, partition_count_, lane->sorted);
    lane->list.clear();
    lock.lock();
    sorted_.push_back(lane);
    changed_.notify_all();
  }
} catch (const ProgramError& error) {
  end_process(error);
} catch (const std::bad_alloc&) {
  base::fatal(
      "not enough memory to sort what is sent\n"
      "  Remedy: use fewer processes for each machine, or a smaller MPI_D_PARTITION_BYTES.");
}

}  // namespace spillway::shuffle
