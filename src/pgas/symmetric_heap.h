// The memory of all PEs: each has a heap of the same size, which those of its node map, and those of other nodes reach
// through an MPI window. What is where in it is a matter of offsets, which are the same in all PEs.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "pgas/bell.h"
#include "pgas/heap_blocks.h"

namespace spillway::pgas {

class SymmetricHeap {
 public:
  static constexpr uint64_t kMostAlignment = 4096;  // heaps begin on pages

  // Collective over `pes`. A node is a host, or that many PEs of one.
  SymmetricHeap(MPI_Comm pes, uint64_t bytes, uint64_t most_of_node);
  ~SymmetricHeap();
  SymmetricHeap(const SymmetricHeap&) = delete;
  SymmetricHeap& operator=(const SymmetricHeap&) = delete;

  int pe() const { return pe_; }
  int pe_count() const { return static_cast<int>(bases_.size()); }

  // Collective, also as a barrier. A null pointer where there is no room.
  void* allocate(uint64_t bytes, uint64_t alignment);
  void free(void* address);

  // Where the range begins in every PE's heap. Fails where it does not lie in what programs may use of this PE's.
  uint64_t offset_of(const void* address, uint64_t bytes) const;
  bool contains(const void* address, uint64_t bytes) const;

  // In this process; a null pointer for a PE of another node.
  char* direct(int pe, uint64_t offset) const {
    char* const base = bases_[static_cast<size_t>(pe)];
    return base == nullptr ? nullptr : base + offset;
  }
  // Who waits in that PE. Only of PEs that are direct.
  Bell& bell(int pe) const { return *reinterpret_cast<Bell*>(bases_[static_cast<size_t>(pe)]); }

  // All PEs are direct: memory itself is atomic. Else only the window is.
  bool is_all_direct() const { return window_ == MPI_WIN_NULL; }
  // Displacements are offsets. Locked by all for all.
  MPI_Win window() const { return window_; }
  MPI_Comm pes() const { return pes_; }

 private:
  MPI_Comm pes_ = MPI_COMM_NULL;
  MPI_Comm node_ = MPI_COMM_NULL;
  MPI_Win node_window_ = MPI_WIN_NULL;
  MPI_Win window_ = MPI_WIN_NULL;
  uint64_t bytes_;
  int pe_ = 0;
  std::vector<char*> bases_;  // by PE
  HeapBlocks blocks_;
};

}  // namespace spillway::pgas
