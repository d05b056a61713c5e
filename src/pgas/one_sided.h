// Puts, gets, atomic operations and waiting on a symmetric heap.
//
// Between PEs of a node: copies and the processor's atomic operations. To other nodes: MPI's one-sided operations in a
// window that is always locked (passive target). Atomic are operations only with others of their kind, so as soon as a
// PE is on another node, all of them are MPI's, also within a node. And of MPI's, different ones on a number are not
// atomic with each other, but for reading (accumulate_ops=same_op_no_op, MPI 4.0, 12.2.1 and 12.7.1): so every one that
// changes a number is a compare-and-swap. Who comes from another node may find another value each time, as those that
// are nearer are faster: one that has lost often takes the turn of the PE whose number it is, a word of that PE's heap
// at which all look before they change numbers there, those on other nodes now and then.
//
// What is to be signalled to another node follows its data, and only a flush, which waits for the other side, says that
// these are there. Signals that must not wait for that are queued: until their data have left this PE, as far as MPI
// says so (MPI_Rput; of more than 1 GiB only the last part's), or until a call that must have them given.
#pragma once

#include <spillway/pgas.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "pgas/progress_thread.h"
#include "pgas/symmetric_heap.h"

namespace spillway::pgas {

class OneSided {
 public:
  explicit OneSided(SymmetricHeap& heap);

  // With `is_blocking`, `source` is free again at the return.
  void put(void* dest, const void* source, uint64_t bytes, int pe, bool is_blocking);
  // With `is_blocking`, `dest` has it at the return.
  void get(void* dest, const void* source, uint64_t bytes, int pe, bool is_blocking);
  // With `is_blocking`, `source` is free again at the return, and the signal given. Returns what is_complete() takes.
  uint64_t put_signal(void* dest, const void* source, uint64_t bytes, uint64_t* signal_address, uint64_t signal,
                      int operation, int pe, bool is_blocking);
  // Whether that put with signal is over: its signal has been given.
  bool is_complete(uint64_t put_with_signal);
  // Gives all signals that are queued, when their data are there. For calls that end when others have come there, too.
  void give_signals() { give_signals_to(kAllPes, true); }

  // The value before. `bytes`: 4 or 8.
  uint64_t atomic(pgas_operation operation, void* address, uint64_t operand, uint64_t expected, uint64_t bytes, int pe);

  // This PE's value, where it compares so; with `waits`, it does at last.
  std::optional<uint64_t> compare(const void* address, int comparison, uint64_t value, uint64_t bytes, bool is_signed,
                                  bool waits);

  // As pgas_compare_many_bytes() has it.
  struct Values {
    const char* at;
    uint64_t count;
    const int* excluded;
    const char* compared_with;
    bool has_each;
    uint64_t bytes;
    bool is_signed;
  };
  uint64_t compare_many(const Values& values, int comparison, size_t* found, uint64_t most, bool waits);

  // Elements of `bytes` at distances of so many elements.
  struct Strided {
    ptrdiff_t dest;
    ptrdiff_t source;
    uint64_t count;
    uint64_t bytes;
  };
  void put_strided(void* dest, const void* source, const Strided& elements, int pe);
  void get_strided(void* dest, const void* source, const Strided& elements, int pe);

  // What has been put is there.
  void quiet();

  // The process ends, or MPI does.
  void stop_thread() {
    if (thread_ != nullptr) thread_->stop();
  }

 private:
  static constexpr int kAllPes = -1;
  static constexpr size_t kGuesses = 64;

  struct Signal {
    pgas_operation operation;
    uint64_t* address;
    uint64_t operand;
    int pe;
    uint64_t number;
    MPI_Request data;  // over when they have left this PE
  };

  std::unique_lock<std::recursive_mutex> lock();
  void help();
  void check_pe(int pe) const;
  char* direct(const void* address, uint64_t bytes, int pe) const;
  MPI_Aint displacement(const void* address, uint64_t bytes) const;
  void note_open(int pe);
  void flush(int pe);
  MPI_Request begin_put(void* dest, const void* source, uint64_t bytes, int pe, bool has_request);
  void give_signals_to(int pe, bool waits);
  bool has_left(Signal& signal);
  void release_requests();
  uint64_t own_turn() const { return static_cast<uint64_t>(heap_->pe()) + 1; }
  uint64_t turn_of(int pe);
  uint64_t change_turn(int pe, uint64_t from, uint64_t to);
  void take_turn(int pe);
  void let_others_have_their_turn(int pe);
  template <typename T>
  T atomic_by_mpi(pgas_operation operation, MPI_Aint at, T operand, T expected, int pe);
  void check_strided(const void* symmetric, ptrdiff_t stride, const Strided& elements) const;
  static void copy_strided(char* dest, const char* source, const Strided& elements);
  template <typename Call>
  void transfer_strided(char* own, const void* symmetric, ptrdiff_t own_stride, ptrdiff_t stride,
                        const Strided& elements, int pe, Call call);
  template <typename Look>
  bool see(Look look, bool waits);
  void give_time_to_mpi();
  void give_time_to_mpi_sometimes();

  SymmetricHeap* heap_;
  std::vector<bool> is_open_;  // by PE: has operations that have not been flushed
  std::vector<int> open_;
  std::vector<Signal> signals_;  // queued, in the order of the calls
  uint64_t last_signal_ = 0;
  bool is_giving_signals_ = false;
  std::vector<MPI_Request> over_;  // of signals that the thread has given
  std::recursive_mutex mutex_;     // where there is a thread: of all above and below
  bool is_helping_ = false;        // the thread is at it
  // What numbers of other PEs may be: those that this PE has seen last. A wrong guess costs another round trip.
  std::array<uint64_t, kGuesses> guesses_{};
  int losses_before_turn_;
  std::vector<uint32_t> changes_;  // by PE, of its numbers, where it is on another node
  uint64_t longest_sleep_ns_;
  std::atomic<uint32_t> calls_ = 0;         // of both threads
  std::unique_ptr<ProgressThread> thread_;  // ends before the rest does
};

}  // namespace spillway::pgas
