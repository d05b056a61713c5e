// The functions of pgas.h: the state of the process, and what becomes of errors.
#include <mpi.h>
#include <spillway/pgas.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include "base/size_text.h"
#include "mpi_program/end_of_job.h"
#include "pgas/failure.h"
#include "pgas/one_sided.h"
#include "pgas/symmetric_heap.h"

#define SPILLWAY_EXPORT __attribute__((visibility("default")))

namespace spillway::pgas {
namespace {

constexpr uint64_t kUsualBytes = uint64_t{64} << 20;
constexpr uint64_t kLeastBytes = uint64_t{64} << 10;
constexpr uint64_t kMostBytes = uint64_t{1} << 46;

struct Job {
  Job(uint64_t heap_bytes, uint64_t most_of_node) : heap(MPI_COMM_WORLD, heap_bytes, most_of_node), operations(heap) {}
  SymmetricHeap heap;
  OneSided operations;
};

Job* job = nullptr;  // a program that exits without pgas_finalize() leaves it: MPI may be gone by then
bool finalizes_mpi = false;
int given_thread_level = PGAS_THREAD_SINGLE;
mpi_program::EndOfJob end_of_job("pgas");

Job& running() {
  if (job != nullptr) return *job;
  throw Failure("called before pgas_init() or after pgas_finalize()", "call it between the two");
}

// Runs a function's body. What it throws ends the job.
template <typename Body>
auto answer(const char* function, Body body) {
  try {
    return body();
  } catch (const std::exception& error) {
    end_of_job.end(std::string(function) + "(): " + error.what());
  }
}

uint64_t heap_bytes() {
  const char* text = std::getenv(PGAS_SYMMETRIC_SIZE);
  if (text == nullptr) return kUsualBytes;
  const std::optional<uint64_t> bytes = base::parse_size(text);
  if (!bytes || *bytes < kLeastBytes || *bytes > kMostBytes)
    throw Failure(std::string(PGAS_SYMMETRIC_SIZE) + "=" + text + " is no size from 64K to 64T", "say it as in 512M");
  return *bytes;
}

uint64_t pes_per_node() {
  const char* text = std::getenv(PGAS_PES_PER_NODE);
  if (text == nullptr) return std::numeric_limits<int>::max();
  const char* const end = text + std::strlen(text);
  int count = 0;
  if (const auto [after, error] = std::from_chars(text, end, count); after != end || error != std::errc() || count < 1)
    throw Failure(std::string(PGAS_PES_PER_NODE) + "=" + text + " is no number of PEs", "set it to 1 or more, or not");
  return static_cast<uint64_t>(count);
}

// What a program may do that has begun MPI by itself, too.
int level_of_mpi() {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level >= MPI_THREAD_SERIALIZED) return PGAS_THREAD_SERIALIZED;
  return level >= MPI_THREAD_FUNNELED ? PGAS_THREAD_FUNNELED : PGAS_THREAD_SINGLE;
}

void stop_thread() {
  if (job != nullptr) job->operations.stop_thread();
}

// MPI takes no more calls when it ends, nor can the thread go on while the process does, also where the program has not
// called pgas_finalize() before.
void stop_thread_at_the_end() {
  std::atexit(stop_thread);
  int keyval = MPI_KEYVAL_INVALID;
  const auto stop = [](MPI_Comm, int, void*, void*) -> int {
    stop_thread();
    return MPI_SUCCESS;
  };
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, stop, &keyval, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr);
  MPI_Comm_free_keyval(&keyval);
}

void init() {
  int is_initialized = 0;
  MPI_Initialized(&is_initialized);
  if (!is_initialized) {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    finalizes_mpi = true;
  }
  end_of_job.learn_place();
  if (job != nullptr) throw Failure("called twice", "call it once");
  // All PEs have the same heap: what the first one's environment says.
  uint64_t settings[] = {heap_bytes(), pes_per_node()};
  MPI_Bcast(settings, 2, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  job = std::make_unique<Job>(settings[0], settings[1]).release();
  stop_thread_at_the_end();
  MPI_Barrier(MPI_COMM_WORLD);
}

void barrier(bool is_quiet) {
  if (is_quiet) running().operations.quiet();
  running().operations.give_signals();  // others may wait for them before they come here
  std::atomic_thread_fence(std::memory_order_seq_cst);
  MPI_Barrier(running().heap.pes());
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

const char* name_of(pgas_operation operation) {
  switch (operation) {
    case PGAS_OPERATION_FETCH:
      return "pgas_atomic_fetch";
    case PGAS_OPERATION_SET:
      return "pgas_atomic_swap";
    case PGAS_OPERATION_COMPARE_SWAP:
      return "pgas_atomic_compare_swap";
    case PGAS_OPERATION_ADD:
      return "pgas_atomic_add";
    case PGAS_OPERATION_AND:
      return "pgas_atomic_and";
    case PGAS_OPERATION_OR:
      return "pgas_atomic_or";
    case PGAS_OPERATION_XOR:
      return "pgas_atomic_xor";
  }
  return "pgas_atomic";
}

void* allocate(uint64_t bytes, uint64_t alignment) {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > SymmetricHeap::kMostAlignment)
    throw Failure("an alignment of " + std::to_string(alignment) + " is no power of two up to 4096",
                  "take 16, 32 and so on up to 4096");
  running().operations.give_signals();
  return running().heap.allocate(bytes, alignment);
}

}  // namespace
}  // namespace spillway::pgas

using namespace spillway::pgas;

extern "C" {

SPILLWAY_EXPORT void pgas_init(void) {
  answer(__func__, [] {
    init();
    given_thread_level = level_of_mpi();
  });
}

SPILLWAY_EXPORT int pgas_init_thread(int requested, int* provided) {
  return answer(__func__, [&] {
    if (requested < PGAS_THREAD_SINGLE || requested > PGAS_THREAD_MULTIPLE)
      throw Failure("there is no thread level " + std::to_string(requested),
                    "take PGAS_THREAD_SINGLE, _FUNNELED, _SERIALIZED or _MULTIPLE");
    init();
    *provided = std::min(requested, level_of_mpi());
    given_thread_level = *provided;
    return 0;
  });
}

SPILLWAY_EXPORT void pgas_query_thread(int* provided) { *provided = given_thread_level; }

SPILLWAY_EXPORT void pgas_finalize(void) {
  answer(__func__, [] {
    barrier(true);
    delete &running();
    job = nullptr;
    if (finalizes_mpi) MPI_Finalize();
  });
}

SPILLWAY_EXPORT void pgas_global_exit(int status) {
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, status);
}

SPILLWAY_EXPORT int pgas_my_pe(void) {
  return answer(__func__, [] { return running().heap.pe(); });
}

SPILLWAY_EXPORT int pgas_n_pes(void) {
  return answer(__func__, [] { return running().heap.pe_count(); });
}

SPILLWAY_EXPORT void* pgas_malloc(size_t bytes) {
  return answer(__func__, [&] { return allocate(bytes, HeapBlocks::kLeastAlignment); });
}

SPILLWAY_EXPORT void* pgas_calloc(size_t count, size_t bytes) {
  return answer(__func__, [&]() -> void* {
    size_t all = 0;
    if (__builtin_mul_overflow(count, bytes, &all)) return allocate(SIZE_MAX, HeapBlocks::kLeastAlignment);
    void* const memory = allocate(all, HeapBlocks::kLeastAlignment);
    if (memory == nullptr) return nullptr;
    std::memset(memory, 0, all);
    barrier(false);  // before others write
    return memory;
  });
}

SPILLWAY_EXPORT void* pgas_align(size_t alignment, size_t bytes) {
  return answer(__func__, [&] { return allocate(bytes, alignment); });
}

SPILLWAY_EXPORT void pgas_free(void* address) {
  if (address == nullptr) return;
  answer(__func__, [&] {
    running().operations.quiet();  // what this PE has put there
    running().heap.free(address);
  });
}

SPILLWAY_EXPORT void* pgas_ptr(const void* address, int pe) {
  return answer(__func__, [&]() -> void* {
    const SymmetricHeap& heap = running().heap;
    if (!pgas_addr_accessible(address, pe)) return nullptr;
    return heap.direct(pe, heap.offset_of(address, 0));
  });
}

SPILLWAY_EXPORT int pgas_addr_accessible(const void* address, int pe) {
  return answer(__func__, [&] { return pgas_pe_accessible(pe) && running().heap.contains(address, 1) ? 1 : 0; });
}

SPILLWAY_EXPORT int pgas_pe_accessible(int pe) {
  return answer(__func__, [&] { return pe >= 0 && pe < running().heap.pe_count() ? 1 : 0; });
}

SPILLWAY_EXPORT void pgas_putmem(void* dest, const void* source, size_t bytes, int pe) {
  answer(__func__, [&] { running().operations.put(dest, source, bytes, pe, true); });
}

SPILLWAY_EXPORT void pgas_putmem_nbi(void* dest, const void* source, size_t bytes, int pe) {
  answer(__func__, [&] { running().operations.put(dest, source, bytes, pe, false); });
}

SPILLWAY_EXPORT void pgas_getmem(void* dest, const void* source, size_t bytes, int pe) {
  answer(__func__, [&] { running().operations.get(dest, source, bytes, pe, true); });
}

SPILLWAY_EXPORT void pgas_getmem_nbi(void* dest, const void* source, size_t bytes, int pe) {
  answer(__func__, [&] { running().operations.get(dest, source, bytes, pe, false); });
}

SPILLWAY_EXPORT void pgas_putmem_signal(void* dest, const void* source, size_t bytes, uint64_t* signal_address,
                                        uint64_t signal, int operation, int pe) {
  answer(__func__,
         [&] { running().operations.put_signal(dest, source, bytes, signal_address, signal, operation, pe, true); });
}

SPILLWAY_EXPORT void pgas_putmem_signal_nbi(void* dest, const void* source, size_t bytes, uint64_t* signal_address,
                                            uint64_t signal, int operation, int pe) {
  answer(__func__,
         [&] { running().operations.put_signal(dest, source, bytes, signal_address, signal, operation, pe, false); });
}

SPILLWAY_EXPORT uint64_t pgas_putmem_signal_begin(void* dest, const void* source, size_t bytes,
                                                  uint64_t* signal_address, uint64_t signal, int operation, int pe) {
  return answer(__func__, [&] {
    return running().operations.put_signal(dest, source, bytes, signal_address, signal, operation, pe, false);
  });
}

SPILLWAY_EXPORT int pgas_put_is_complete(uint64_t handle) {
  return answer(__func__, [&] { return running().operations.is_complete(handle) ? 1 : 0; });
}

SPILLWAY_EXPORT uint64_t pgas_signal_fetch(const uint64_t* signal_address) {
  return answer(__func__, [&] {
    Job& here = running();
    return here.operations.atomic(PGAS_OPERATION_FETCH, const_cast<uint64_t*>(signal_address), 0, 0,
                                  sizeof *signal_address, here.heap.pe());
  });
}

SPILLWAY_EXPORT uint64_t pgas_signal_wait_until(uint64_t* signal_address, int comparison, uint64_t value) {
  return answer(__func__, [&] {
    return *running().operations.compare(signal_address, comparison, value, sizeof value, false, true);
  });
}

SPILLWAY_EXPORT void pgas_fence(void) {
  answer(__func__, [] { running().operations.quiet(); });
}

SPILLWAY_EXPORT void pgas_quiet(void) {
  answer(__func__, [] { running().operations.quiet(); });
}

SPILLWAY_EXPORT void pgas_barrier_all(void) {
  answer(__func__, [] { barrier(true); });
}

SPILLWAY_EXPORT void pgas_sync_all(void) {
  answer(__func__, [] { barrier(false); });
}

SPILLWAY_EXPORT uint64_t pgas_atomic_bytes(enum pgas_operation operation, void* address, uint64_t operand,
                                           uint64_t expected, size_t bytes, int pe) {
  return answer(name_of(operation),
                [&] { return running().operations.atomic(operation, address, operand, expected, bytes, pe); });
}

SPILLWAY_EXPORT void pgas_iput_bytes(void* dest, const void* source, ptrdiff_t dest_stride, ptrdiff_t source_stride,
                                     size_t count, size_t bytes, int pe) {
  answer("pgas_iput", [&] {
    running().operations.put_strided(dest, source, {dest_stride, source_stride, count, bytes}, pe);
  });
}

SPILLWAY_EXPORT void pgas_iget_bytes(void* dest, const void* source, ptrdiff_t dest_stride, ptrdiff_t source_stride,
                                     size_t count, size_t bytes, int pe) {
  answer("pgas_iget", [&] {
    running().operations.get_strided(dest, source, {dest_stride, source_stride, count, bytes}, pe);
  });
}

SPILLWAY_EXPORT size_t pgas_compare_many_bytes(const void* addresses, size_t count, const int* excluded, int comparison,
                                               const void* values, int has_value_each, size_t bytes, int is_signed,
                                               size_t* found, size_t most, int waits) {
  return answer(waits ? "pgas_wait_until_..." : "pgas_test_...", [&] {
    return running().operations.compare_many(
        {static_cast<const char*>(addresses), count, excluded, static_cast<const char*>(values), has_value_each != 0,
         bytes, is_signed != 0},
        comparison, found, most, waits != 0);
  });
}

SPILLWAY_EXPORT int pgas_compare_bytes(const void* address, int comparison, uint64_t value, size_t bytes, int is_signed,
                                       int waits) {
  return answer(waits ? "pgas_wait_until" : "pgas_test", [&] {
    return running().operations.compare(address, comparison, value, bytes, is_signed != 0, waits != 0) ? 1 : 0;
  });
}

}  // extern "C"
