// The rank's windows: what of its memory the MPI library may use at which time.
//
// Other ranks reach the memory of a window at any time until it is freed, some of them without this rank's doing (Open
// MPI copies from process to process), so it stays in memory. So do the buffers of operations that this rank has begun,
// until they are completed by a synchronisation (MPI 4.1, 12.5). Memory that the library has allocated for a window is
// not managed at all.
//
// A buffer that is given to the library for one call that many ranks take part in stays in the same way, and so does
// what the program has pinned.
//
// What is kept is addresses, not allocations: these come and go beside each other while a window has them.
//
// Calls that free windows or complete operations are told of before the library carries them out and after it. As soon
// as it has freed a window, another thread may make one with the same handle; and what another thread begins while the
// library completes operations may not be among them.
//
// Thread-safe. May be asked from within the arena, and does not call it: REQUIRES an UnmanagedScope of who tells it.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "mpi/address_ranges.h"

namespace spillway::mpi {

class Windows {
 public:
  Windows() = default;
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;

  // `window` is a handle's value. Memory may be empty.
  void made(uint64_t window, const void* base, uint64_t bytes);
  void attached(uint64_t window, const void* base, uint64_t bytes);
  void detached(uint64_t window, const void* base);

  // The first returns a number for the second, which says whether the window has been freed.
  uint64_t leaves(uint64_t window);
  void has_left(uint64_t number, bool is_freed);

  // An operation on rank `target` of the window's group has begun, which uses this buffer.
  void begun(uint64_t window, int target, const void* address, uint64_t bytes);

  // The first returns a number for the second: the operations that had been begun then on `target`, or on all, are
  // complete.
  uint64_t completes() const { return begun_; }
  void have_completed(uint64_t window, std::optional<int> target, uint64_t number);

  // Somebody uses this range, until it is taken back by the number that the first returns.
  uint64_t lent(const void* address, uint64_t bytes);
  void taken_back(uint64_t number);

  bool has_any() const;
  bool keeps_any() const;  // memory: has_any(), or something is lent
  bool is_in_use(uint64_t begin, uint64_t end) const;

  // Grows whenever is_in_use() may answer otherwise.
  uint64_t changes() const { return changes_; }

 private:
  struct Window {
    uint64_t handle = 0;
    uint64_t number = 0;
    std::map<uint64_t, uint64_t> memory;        // end by begin
    std::unordered_map<int, uint64_t> targets;  // with operations that have not been completed: the last one's number
    AddressRanges buffers;                      // of all these, in blocks that they touch

    bool uses(uint64_t begin, uint64_t end) const;
  };

  Window* find(uint64_t handle);
  Window& window_of(uint64_t handle);

  mutable std::mutex mutex_;  // no other lock is taken while it is held
  std::list<Window> windows_;
  std::unordered_map<uint64_t, Window*> by_handle_;
  struct Lent {
    uint64_t begin, end;
  };
  std::map<uint64_t, Lent> lent_;  // by number
  uint64_t last_number_ = 0;
  std::atomic<uint64_t> begun_ = 0;  // operations, ever
  std::atomic<uint64_t> changes_ = 0;
};

}  // namespace spillway::mpi
