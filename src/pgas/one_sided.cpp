#include "pgas/one_sided.h"

#include <spillway/spillway.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "pgas/failure.h"

namespace spillway::pgas {
namespace {

#ifndef SPILLWAY_PGAS_MOST_OF_ONE_CALL  // tests have less of it
#define SPILLWAY_PGAS_MOST_OF_ONE_CALL uint64_t{1} << 30
#endif
constexpr uint64_t kMostOfOneCall = SPILLWAY_PGAS_MOST_OF_ONE_CALL;  // MPI counts with int
constexpr uint64_t kMostElementsOfOneCall = uint64_t{1} << 24;
constexpr int kLooks = 200;  // before a PE that waits goes to sleep
constexpr uint64_t kShortestSleepNs = 20'000;
// What MPI brings from other nodes rings no bell, nor do stores of the program itself.
constexpr uint64_t kLongestSleepAmongNodesNs = 200'000;
constexpr uint64_t kLongestSleepNs = 10'000'000;
// Of the calls that programs repeat until they see what they want, without another call of MPI in between.
constexpr uint32_t kCallsBetweenLooks = 64;
constexpr uint32_t kChangesBetweenLooks = 64;  // at whose turn it is
constexpr MPI_Aint kTurn = offsetof(Bell, turn);

// Under Spillway, who sleeps here keeps its slot, which other ranks may be in want of.
bool shares_slots(int pe_count) {
  spillway_usage usage{};
  return spillway_get_usage(&usage) == SPILLWAY_SUCCESS && usage.slots < static_cast<uint32_t>(pe_count);
}

template <typename T>
uint64_t atomic_in_memory(pgas_operation operation, T* address, T operand, T expected) {
  switch (operation) {
    case PGAS_OPERATION_FETCH:
      return __atomic_load_n(address, __ATOMIC_SEQ_CST);
    case PGAS_OPERATION_SET:
      return __atomic_exchange_n(address, operand, __ATOMIC_SEQ_CST);
    case PGAS_OPERATION_COMPARE_SWAP:
      __atomic_compare_exchange_n(address, &expected, operand, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
      return expected;  // the value that was there, also where they were equal
    case PGAS_OPERATION_ADD:
      return __atomic_fetch_add(address, operand, __ATOMIC_SEQ_CST);
    case PGAS_OPERATION_AND:
      return __atomic_fetch_and(address, operand, __ATOMIC_SEQ_CST);
    case PGAS_OPERATION_OR:
      return __atomic_fetch_or(address, operand, __ATOMIC_SEQ_CST);
    case PGAS_OPERATION_XOR:
      return __atomic_fetch_xor(address, operand, __ATOMIC_SEQ_CST);
  }
  throw Failure("atomic operation " + std::to_string(operation) + " does not exist", "take a pgas_TYPE_atomic_...()");
}

// What an operation makes of a number.
template <typename T>
T changed(pgas_operation operation, T before, T operand) {
  switch (operation) {
    case PGAS_OPERATION_SET:
      return operand;
    case PGAS_OPERATION_ADD:
      return before + operand;
    case PGAS_OPERATION_AND:
      return before & operand;
    case PGAS_OPERATION_OR:
      return before | operand;
    case PGAS_OPERATION_XOR:
      return before ^ operand;
    case PGAS_OPERATION_FETCH:
    case PGAS_OPERATION_COMPARE_SWAP:
      break;
  }
  throw Failure("atomic operation " + std::to_string(operation) + " does not exist", "take a pgas_TYPE_atomic_...()");
}

template <typename T>
MPI_Datatype mpi_type() {
  return sizeof(T) == sizeof(uint32_t) ? MPI_UINT32_T : MPI_UINT64_T;
}

template <typename T>
bool compares(T found, int comparison, T value) {
  switch (comparison) {
    case PGAS_CMP_EQ:
      return found == value;
    case PGAS_CMP_NE:
      return found != value;
    case PGAS_CMP_GT:
      return found > value;
    case PGAS_CMP_GE:
      return found >= value;
    case PGAS_CMP_LT:
      return found < value;
    case PGAS_CMP_LE:
      return found <= value;
    default:
      throw Failure("comparison " + std::to_string(comparison) + " does not exist", "take one of PGAS_CMP_...");
  }
}

template <typename Unsigned, typename Signed>
std::optional<uint64_t> compare_in_memory(const void* address, int comparison, uint64_t value, bool is_signed) {
  const Unsigned found = __atomic_load_n(static_cast<const Unsigned*>(address), __ATOMIC_ACQUIRE);
  const bool holds = is_signed ? compares(static_cast<Signed>(found), comparison, static_cast<Signed>(value))
                               : compares(found, comparison, static_cast<Unsigned>(value));
  return holds ? std::optional<uint64_t>(found) : std::nullopt;
}

// Numbers at once, so that nobody who waits for one sees half of it.
void copy(char* dest, const void* source, uint64_t bytes) {
  const bool is_aligned = reinterpret_cast<uintptr_t>(dest) % bytes == 0;
  if (bytes == sizeof(uint64_t) && is_aligned) {
    uint64_t value = 0;
    std::memcpy(&value, source, sizeof value);
    __atomic_store_n(reinterpret_cast<uint64_t*>(dest), value, __ATOMIC_RELEASE);
  } else if (bytes == sizeof(uint32_t) && is_aligned) {
    uint32_t value = 0;
    std::memcpy(&value, source, sizeof value);
    __atomic_store_n(reinterpret_cast<uint32_t*>(dest), value, __ATOMIC_RELEASE);
  } else {
    std::memmove(dest, source, bytes);
  }
}

void check_aligned(const void* address, uint64_t bytes) {
  if (bytes != 4 && bytes != 8)
    throw Failure("values of " + std::to_string(bytes) + " bytes are not atomic", "take a type of 4 or 8 bytes");
  if (reinterpret_cast<uintptr_t>(address) % bytes != 0)
    throw Failure("a value of " + std::to_string(bytes) + " bytes does not begin on a multiple of that",
                  "take an address that is aligned as its type is");
}

}  // namespace

OneSided::OneSided(SymmetricHeap& heap)
    : heap_(&heap),
      is_open_(static_cast<size_t>(heap.pe_count())),
      losses_before_turn_(8 + 2 * heap.pe_count()),  // with fewer ones others are not faster each time
      changes_(static_cast<size_t>(heap.pe_count())),
      longest_sleep_ns_(shares_slots(heap.pe_count()) ? kShortestSleepNs
                        : heap.is_all_direct()        ? kLongestSleepNs
                                                      : kLongestSleepAmongNodesNs) {
  if (heap.is_all_direct()) return;
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  // In all PEs, or in none: it waits for theirs.
  MPI_Allreduce(MPI_IN_PLACE, &level, 1, MPI_INT, MPI_MIN, heap.pes());
  if (level >= MPI_THREAD_MULTIPLE) thread_ = std::make_unique<ProgressThread>([this] { help(); });
}

std::unique_lock<std::recursive_mutex> OneSided::lock() {
  return heap_->is_all_direct() ? std::unique_lock(mutex_, std::defer_lock) : std::unique_lock(mutex_);
}

// What the thread does. A call of the program's that is going on lets MPI go on by itself.
void OneSided::help() {
  if (const std::unique_lock own(mutex_, std::try_to_lock); own.owns_lock()) {
    is_helping_ = true;
    give_signals_to(kAllPes, false);
    is_helping_ = false;
  }
  int has_message = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, heap_->pes(), &has_message, MPI_STATUS_IGNORE);
}

void OneSided::check_pe(int pe) const {
  if (pe < 0 || pe >= heap_->pe_count())
    throw Failure("there is no PE " + std::to_string(pe), "PEs are 0 to " + std::to_string(heap_->pe_count() - 1));
}

char* OneSided::direct(const void* address, uint64_t bytes, int pe) const {
  check_pe(pe);
  return heap_->direct(pe, heap_->offset_of(address, bytes));
}

MPI_Aint OneSided::displacement(const void* address, uint64_t bytes) const {
  return static_cast<MPI_Aint>(heap_->offset_of(address, bytes));
}

void OneSided::note_open(int pe) {
  if (is_open_[static_cast<size_t>(pe)]) return;
  is_open_[static_cast<size_t>(pe)] = true;
  open_.push_back(pe);
}

void OneSided::flush(int pe) {
  MPI_Win_flush(pe, heap_->window());
  if (is_helping_ || !is_open_[static_cast<size_t>(pe)]) return;
  is_open_[static_cast<size_t>(pe)] = false;
  open_.erase(std::find(open_.begin(), open_.end(), pe));
}

void OneSided::quiet() {
  const auto own = lock();
  std::atomic_thread_fence(std::memory_order_seq_cst);
  give_signals();
  for (int pe : open_) {
    MPI_Win_flush(pe, heap_->window());
    is_open_[static_cast<size_t>(pe)] = false;
  }
  open_.clear();
}

void OneSided::put(void* dest, const void* source, uint64_t bytes, int pe, bool is_blocking) {
  check_pe(pe);
  if (bytes == 0) return;
  if (char* const memory = direct(dest, bytes, pe); memory != nullptr) {
    copy(memory, source, bytes);
    return heap_->bell(pe).ring();
  }
  const auto own = lock();
  begin_put(dest, source, bytes, pe, false);
  if (is_blocking) MPI_Win_flush_local(pe, heap_->window());
}

// To another node. The request is that of the last part.
MPI_Request OneSided::begin_put(void* dest, const void* source, uint64_t bytes, int pe, bool has_request) {
  const MPI_Aint begin = displacement(dest, bytes);
  MPI_Request request = MPI_REQUEST_NULL;
  for (uint64_t done = 0; done < bytes;) {
    const int part = static_cast<int>(std::min(bytes - done, kMostOfOneCall));
    const char* const from = static_cast<const char*>(source) + done;
    const MPI_Aint to = begin + static_cast<MPI_Aint>(done);
    done += static_cast<uint64_t>(part);
    if (has_request && done == bytes) {
      MPI_Rput(from, part, MPI_BYTE, pe, to, part, MPI_BYTE, heap_->window(), &request);
    } else {
      MPI_Put(from, part, MPI_BYTE, pe, to, part, MPI_BYTE, heap_->window());
    }
  }
  note_open(pe);
  return request;
}

void OneSided::get(void* dest, const void* source, uint64_t bytes, int pe, bool is_blocking) {
  check_pe(pe);
  if (bytes == 0) return;
  if (const char* const memory = direct(source, bytes, pe); memory != nullptr) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    std::memmove(dest, memory, bytes);
    return give_time_to_mpi_sometimes();
  }
  const auto own = lock();
  const MPI_Aint begin = displacement(source, bytes);
  for (uint64_t done = 0; done < bytes;) {
    const int part = static_cast<int>(std::min(bytes - done, kMostOfOneCall));
    MPI_Get(static_cast<char*>(dest) + done, part, MPI_BYTE, pe, begin + static_cast<MPI_Aint>(done), part, MPI_BYTE,
            heap_->window());
    done += static_cast<uint64_t>(part);
  }
  note_open(pe);
  if (!is_blocking) return;
  MPI_Win_flush_local(pe, heap_->window());
  give_time_to_mpi_sometimes();
}

// Where the elements end.
void OneSided::check_strided(const void* symmetric, ptrdiff_t stride, const Strided& elements) const {
  if (elements.dest < 1 || elements.source < 1)
    throw Failure(
        "elements at distances of " + std::to_string(elements.dest) + " and " + std::to_string(elements.source),
        "take distances of 1 or more");
  uint64_t bytes = 0;
  const bool is_too_large = __builtin_mul_overflow(elements.count - 1, static_cast<uint64_t>(stride), &bytes) ||
                            __builtin_add_overflow(bytes, uint64_t{1}, &bytes) ||
                            __builtin_mul_overflow(bytes, elements.bytes, &bytes);
  heap_->offset_of(symmetric, is_too_large ? SIZE_MAX : bytes);
}

void OneSided::copy_strided(char* dest, const char* source, const Strided& elements) {
  const auto bytes = static_cast<ptrdiff_t>(elements.bytes);
  for (uint64_t i = 0; i < elements.count; ++i) {
    copy(dest, source, elements.bytes);
    dest += elements.dest * bytes;
    source += elements.source * bytes;
  }
}

// To or from another node; `call` is MPI_Put or MPI_Get.
template <typename Call>
void OneSided::transfer_strided(char* own, const void* symmetric, ptrdiff_t own_stride, ptrdiff_t stride,
                                const Strided& elements, int pe, Call call) {
  const auto own_lock = lock();
  const auto bytes = static_cast<MPI_Aint>(elements.bytes);
  MPI_Aint at = displacement(symmetric, elements.bytes);
  for (uint64_t done = 0; done < elements.count;) {
    const int count = static_cast<int>(std::min(elements.count - done, kMostElementsOfOneCall));
    MPI_Datatype here = MPI_DATATYPE_NULL;
    MPI_Datatype there = MPI_DATATYPE_NULL;
    MPI_Type_create_hvector(count, static_cast<int>(bytes), own_stride * bytes, MPI_BYTE, &here);
    MPI_Type_create_hvector(count, static_cast<int>(bytes), stride * bytes, MPI_BYTE, &there);
    MPI_Type_commit(&here);
    MPI_Type_commit(&there);
    call(own, 1, here, pe, at, 1, there, heap_->window());
    MPI_Type_free(&here);
    MPI_Type_free(&there);
    done += static_cast<uint64_t>(count);
    own += count * own_stride * bytes;
    at += count * stride * bytes;
  }
  note_open(pe);
  MPI_Win_flush_local(pe, heap_->window());
}

void OneSided::put_strided(void* dest, const void* source, const Strided& elements, int pe) {
  check_pe(pe);
  if (elements.count == 0) return;
  check_strided(dest, elements.dest, elements);
  if (char* const memory = direct(dest, elements.bytes, pe); memory != nullptr) {
    copy_strided(memory, static_cast<const char*>(source), elements);
    return heap_->bell(pe).ring();
  }
  transfer_strided(static_cast<char*>(const_cast<void*>(source)), dest, elements.source, elements.dest, elements, pe,
                   MPI_Put);
}

void OneSided::get_strided(void* dest, const void* source, const Strided& elements, int pe) {
  check_pe(pe);
  if (elements.count == 0) return;
  check_strided(source, elements.source, elements);
  if (const char* const memory = direct(source, elements.bytes, pe); memory != nullptr) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    copy_strided(static_cast<char*>(dest), memory, elements);
    return give_time_to_mpi_sometimes();
  }
  transfer_strided(static_cast<char*>(dest), source, elements.dest, elements.source, elements, pe, MPI_Get);
  give_time_to_mpi_sometimes();
}

uint64_t OneSided::put_signal(void* dest, const void* source, uint64_t bytes, uint64_t* signal_address, uint64_t signal,
                              int operation, int pe, bool is_blocking) {
  if (operation != PGAS_SIGNAL_SET && operation != PGAS_SIGNAL_ADD)
    throw Failure("signal operation " + std::to_string(operation) + " does not exist",
                  "take PGAS_SIGNAL_SET or PGAS_SIGNAL_ADD");
  check_aligned(signal_address, sizeof signal);
  const bool is_direct = direct(signal_address, sizeof signal, pe) != nullptr;  // fails before anything is put
  const auto own = lock();
  Signal given{operation == PGAS_SIGNAL_SET ? PGAS_OPERATION_SET : PGAS_OPERATION_ADD,
               signal_address,
               signal,
               pe,
               ++last_signal_,
               MPI_REQUEST_NULL};
  if (is_direct || bytes == 0) {
    put(dest, source, bytes, pe, false);
  } else {
    given.data = begin_put(dest, source, bytes, pe, !is_blocking);
  }
  if (heap_->is_all_direct()) {
    atomic(given.operation, given.address, given.operand, 0, sizeof signal, pe);
  } else {
    signals_.push_back(given);
    if (is_blocking || is_direct) give_signals_to(pe, true);
  }
  return given.number;
}

bool OneSided::is_complete(uint64_t put_with_signal) {
  const auto own = lock();
  if (put_with_signal == 0 || put_with_signal > last_signal_)
    throw Failure("no put with signal has the handle " + std::to_string(put_with_signal),
                  "take what pgas_putmem_signal_begin() has returned");
  const auto is_it = [&](const Signal& signal) { return signal.number == put_with_signal; };
  if (std::none_of(signals_.begin(), signals_.end(), is_it)) return true;
  give_time_to_mpi();
  return std::none_of(signals_.begin(), signals_.end(), is_it);
}

bool OneSided::has_left(Signal& signal) {
  int has = 0;
  if (is_helping_)
    MPI_Request_get_status(signal.data, &has, MPI_STATUS_IGNORE);
  else
    MPI_Test(&signal.data, &has, MPI_STATUS_IGNORE);
  return has != 0;
}

void OneSided::release_requests() {
  for (MPI_Request& request : over_) MPI_Wait(&request, MPI_STATUS_IGNORE);
  over_.clear();
}

// To each PE in the order of the calls; where it does not wait, up to the first one whose data have not left this PE.
void OneSided::give_signals_to(int pe, bool waits) {
  const auto own = lock();
  if (!is_helping_) release_requests();
  if (signals_.empty() || (is_giving_signals_ && !waits)) return;
  std::vector<Signal> due;
  std::vector<Signal> later;
  std::vector<bool> has_later(is_open_.size());  // by PE
  for (Signal& signal : signals_) {
    const auto to = static_cast<size_t>(signal.pe);
    bool is_due = false;
    if (waits) {
      is_due = pe == kAllPes || signal.pe == pe;
      if (is_due) MPI_Wait(&signal.data, MPI_STATUS_IGNORE);
    } else if (!has_later[to]) {
      is_due = has_left(signal);
    }
    has_later[to] = !is_due;
    (is_due ? due : later).push_back(signal);
  }
  if (due.empty()) return;
  signals_ = std::move(later);
  is_giving_signals_ = true;                    // an atomic operation below may look for more, which come behind these
  std::vector<bool> is_there(is_open_.size());  // by PE: what has been put before
  for (const Signal& signal : due) {
    const auto to = static_cast<size_t>(signal.pe);
    if (is_open_[to] && !is_there[to]) flush(signal.pe);
    is_there[to] = true;
    if (signal.data != MPI_REQUEST_NULL) over_.push_back(signal.data);
  }
  for (const Signal& signal : due)
    atomic(signal.operation, signal.address, signal.operand, 0, sizeof signal.operand, signal.pe);
  is_giving_signals_ = false;
}

uint64_t OneSided::turn_of(int pe) {
  if (heap_->direct(pe, 0) != nullptr) return __atomic_load_n(&heap_->bell(pe).turn, __ATOMIC_ACQUIRE);
  const uint64_t none = 0;
  uint64_t turn = 0;
  MPI_Fetch_and_op(&none, &turn, MPI_UINT64_T, pe, kTurn, MPI_NO_OP, heap_->window());
  flush(pe);
  return turn;
}

// Returns whose it was.
uint64_t OneSided::change_turn(int pe, uint64_t from, uint64_t to) {
  uint64_t before = 0;
  MPI_Compare_and_swap(&to, &from, &before, MPI_UINT64_T, pe, kTurn, heap_->window());
  flush(pe);
  return before;
}

void OneSided::take_turn(int pe) {
  while (change_turn(pe, 0, own_turn()) != 0) give_time_to_mpi();
}

void OneSided::let_others_have_their_turn(int pe) {
  if (heap_->direct(pe, 0) == nullptr && ++changes_[static_cast<size_t>(pe)] % kChangesBetweenLooks != 0) return;
  while (turn_of(pe) != 0) give_time_to_mpi();
}

template <typename T>
T OneSided::atomic_by_mpi(pgas_operation operation, MPI_Aint at, T operand, T expected, int pe) {
  T before = 0;
  if (operation == PGAS_OPERATION_FETCH) {
    MPI_Fetch_and_op(&operand, &before, mpi_type<T>(), pe, at, MPI_NO_OP, heap_->window());
    flush(pe);
    return before;
  }
  let_others_have_their_turn(pe);
  uint64_t& guess = guesses_[(static_cast<uint64_t>(at) / sizeof(T) + static_cast<uint64_t>(pe)) % kGuesses];
  const bool is_swap = operation == PGAS_OPERATION_COMPARE_SWAP;
  if (!is_swap) expected = static_cast<T>(guess);
  for (int losses = 0;;) {
    const T value = is_swap ? operand : changed(operation, expected, operand);
    MPI_Compare_and_swap(&value, &expected, &before, mpi_type<T>(), pe, at, heap_->window());
    flush(pe);
    guess = before == expected ? value : before;
    if (is_swap || before == expected) {
      if (losses >= losses_before_turn_) change_turn(pe, own_turn(), 0);
      return before;
    }
    expected = before;  // another PE was faster, or the guess wrong
    if (++losses == losses_before_turn_) take_turn(pe);
  }
}

uint64_t OneSided::atomic(pgas_operation operation, void* address, uint64_t operand, uint64_t expected, uint64_t bytes,
                          int pe) {
  check_aligned(address, bytes);
  char* const memory = direct(address, bytes, pe);
  uint64_t before = 0;
  const bool is_own_fetch = operation == PGAS_OPERATION_FETCH && pe == heap_->pe();  // as compare() has it
  if (heap_->is_all_direct() || is_own_fetch) {
    before = bytes == 4 ? atomic_in_memory(operation, reinterpret_cast<uint32_t*>(memory),
                                           static_cast<uint32_t>(operand), static_cast<uint32_t>(expected))
                        : atomic_in_memory(operation, reinterpret_cast<uint64_t*>(memory), operand, expected);
  } else {
    const auto own = lock();
    const MPI_Aint at = displacement(address, bytes);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // what has been copied comes first
    before = bytes == 4
                 ? atomic_by_mpi(operation, at, static_cast<uint32_t>(operand), static_cast<uint32_t>(expected), pe)
                 : atomic_by_mpi(operation, at, operand, expected, pe);
  }
  if (memory != nullptr && operation != PGAS_OPERATION_FETCH) heap_->bell(pe).ring();
  give_time_to_mpi_sometimes();
  return before;
}

// MPI delivers what comes from other nodes while it is called, and Spillway gives the slot to others.
void OneSided::give_time_to_mpi() {
  give_signals_to(kAllPes, false);
  int has_message = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, heap_->pes(), &has_message, MPI_STATUS_IGNORE);
  // Not where it would wait for what this PE has begun.
  if (!heap_->is_all_direct() && open_.empty()) MPI_Win_flush_local_all(heap_->window());
}

void OneSided::give_time_to_mpi_sometimes() {
  if (++calls_ % kCallsBetweenLooks == 0) give_time_to_mpi();
}

// Until look() has seen it; without `waits`, once more at most.
template <typename Look>
bool OneSided::see(Look look, bool waits) {
  bool is_seen = look();
  for (int looks = 0; waits && !is_seen && looks < kLooks; ++looks) is_seen = look();
  if (!waits && !is_seen) {
    give_time_to_mpi();
    return look();
  }
  for (uint64_t sleep_ns = kShortestSleepNs; !is_seen; sleep_ns = std::min(2 * sleep_ns, longest_sleep_ns_)) {
    give_time_to_mpi();
    heap_->bell(heap_->pe()).sleep([&] { return is_seen = look(); }, sleep_ns);
    if (!is_seen) is_seen = look();
  }
  return is_seen;
}

std::optional<uint64_t> OneSided::compare(const void* address, int comparison, uint64_t value, uint64_t bytes,
                                          bool is_signed, bool waits) {
  check_aligned(address, bytes);
  heap_->offset_of(address, bytes);
  std::optional<uint64_t> found;
  const auto look = [&] {
    found = bytes == 4 ? compare_in_memory<uint32_t, int32_t>(address, comparison, value, is_signed)
                       : compare_in_memory<uint64_t, int64_t>(address, comparison, value, is_signed);
    return found.has_value();
  };
  see(look, waits);
  return found;
}

uint64_t OneSided::compare_many(const Values& values, int comparison, size_t* found, uint64_t most, bool waits) {
  if (values.count == 0) return 0;
  if (found == nullptr && most != 0)
    throw Failure("no place for the numbers of those found", "pass an array of as many");
  check_aligned(values.at, values.bytes);
  uint64_t all_bytes = 0;
  heap_->offset_of(values.at, __builtin_mul_overflow(values.count, values.bytes, &all_bytes) ? SIZE_MAX : all_bytes);
  const auto compares_so = [&](uint64_t i) {
    const char* const at = values.at + i * values.bytes;
    const char* const with = values.compared_with + (values.has_each ? i * values.bytes : 0);
    uint64_t value = 0;
    std::memcpy(&value, with, values.bytes);
    return (values.bytes == 4 ? compare_in_memory<uint32_t, int32_t>(at, comparison, value, values.is_signed)
                              : compare_in_memory<uint64_t, int64_t>(at, comparison, value, values.is_signed))
        .has_value();
  };
  uint64_t counted = 0;
  const auto look = [&] {
    uint64_t candidates = 0;
    counted = 0;
    for (uint64_t i = 0; i < values.count && (found == nullptr || counted < most); ++i) {
      if (values.excluded != nullptr && values.excluded[i] != 0) continue;
      ++candidates;
      if (compares_so(i) == (found == nullptr)) continue;
      if (found != nullptr) found[counted] = i;
      ++counted;
    }
    return found == nullptr ? counted == 0 : counted != 0 || candidates == 0;
  };
  see(look, waits);
  return counted;
}

}  // namespace spillway::pgas
