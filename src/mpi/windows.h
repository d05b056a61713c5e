// The rank's windows: what of its memory the MPI library may use at which time.
//
// Other ranks reach the memory of a window at any time until it is freed, some of them without this rank's doing (Open
// MPI copies from process to process), so it stays in memory. So do the buffers of operations that this rank has begun,
// until they are completed by a synchronisation (MPI 4.1, 12.5). Memory that the library has allocated for a window is
// not managed at all.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>

namespace spillway::mpi {

class Runtime;

class Windows {
 public:
  explicit Windows(Runtime& runtime) : runtime_(runtime) {}
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;

  // `window` is a handle's value. Memory may be empty.
  void made(uint64_t window, const void* base, uint64_t bytes);
  void freed(uint64_t window);
  void attached(uint64_t window, const void* base, uint64_t bytes);
  void detached(uint64_t window, const void* base);

  // An operation on rank `target` of the window's group has begun, which uses this buffer; or all of them on it have
  // been completed.
  void begun(uint64_t window, int target, const void* address, uint64_t bytes);
  void completed(uint64_t window, int target);
  void completed_all(uint64_t window);

  bool has_any() const { return !windows_.empty(); }

 private:
  struct Window {
    std::unordered_map<const void*, uint64_t> memory;  // bytes by address
    std::unordered_set<int> targets;                   // with operations that have not been completed
    std::unordered_set<uint64_t> blocks;               // of addresses, that these operations use
  };

  void keep(Window& window, const void* base, uint64_t bytes);
  void pin(const void* base, uint64_t bytes);
  void unpin(const void* base, uint64_t bytes);
  void release_blocks(Window& window);

  Runtime& runtime_;
  std::unordered_map<uint64_t, Window> windows_;
};

}  // namespace spillway::mpi
