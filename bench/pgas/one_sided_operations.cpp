// one-sided-operations KIND BYTES ROUNDS [BATCHES]: how long operations of PE 0 on PE 1 take, in microseconds, done
// with spillway/pgas.h, with MPI's one-sided operations, and where PE 1 is on the same node with the processor alone. A
// batch has so many rounds of each, one after the other, and who is first changes; a figure is the median of the
// batches (11). What has come to PE 1, or back, is looked at after each batch. PE 1 is in MPI_Barrier meanwhile, which
// delivers.
//
//   put          BYTES, until they are there           MPI_Put, MPI_Win_flush              memcpy
//   put-signal   the same, and a signal behind them    and MPI_Accumulate, MPI_Win_flush   memcpy, store
//   get          BYTES, until they are here            MPI_Get, MPI_Win_flush              memcpy
//   fetch-add    of 8 bytes                            MPI_Fetch_and_op, MPI_Win_flush     std::atomic
//   fetch-add-both  the same, while PE 1 does so, too
//   compare-swap the same, which always succeeds       MPI_Compare_and_swap, ...           std::atomic
//
// MPI's window is one of MPI_Win_allocate within a node. Where pgas has its PEs on several nodes, it is one of
// MPI_Win_create, as it is there.
#include <mpi.h>
#include <spillway/pgas.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

namespace {

constexpr int kTarget = 1;
constexpr size_t kWords = 8;  // in front of the data: the number of atomic operations, and the signal

// A place of each way's own in PE 1's memory: words, and then data.
struct Place {
  uint64_t* words;
  char* data() const { return reinterpret_cast<char*>(words + kWords); }
};

size_t bytes = 0;
std::vector<char> own;
Place symmetric{};  // of pgas
Place direct{};     // PE 1's, a second one, for the processor alone
Place window_memory{};
MPI_Win window = MPI_WIN_NULL;
uint64_t count = 0;  // of the operations of a way: what a compare-and-swap finds, and a signal is

void pgas_put() {
  pgas_putmem_nbi(symmetric.data(), own.data(), bytes, kTarget);
  pgas_quiet();
}
void pgas_put_with_signal() {
  pgas_putmem_signal(symmetric.data(), own.data(), bytes, symmetric.words, ++count, PGAS_SIGNAL_SET, kTarget);
}
void pgas_get() { pgas_getmem(own.data(), symmetric.data(), bytes, kTarget); }
void pgas_fetch_add() {
  (void)pgas_uint64_atomic_fetch_add(symmetric.words, 1, kTarget);
  ++count;
}
void pgas_compare_swap() {
  if (pgas_uint64_atomic_compare_swap(symmetric.words, count, count + 1, kTarget) == count) ++count;
}

constexpr MPI_Aint kData = kWords * sizeof(uint64_t);

void mpi_put() {
  MPI_Put(own.data(), static_cast<int>(bytes), MPI_BYTE, kTarget, kData, static_cast<int>(bytes), MPI_BYTE, window);
  MPI_Win_flush(kTarget, window);
}
void mpi_put_with_signal() {
  mpi_put();
  ++count;
  MPI_Accumulate(&count, 1, MPI_UINT64_T, kTarget, 0, 1, MPI_UINT64_T, MPI_REPLACE, window);
  MPI_Win_flush(kTarget, window);
}
void mpi_get() {
  MPI_Get(own.data(), static_cast<int>(bytes), MPI_BYTE, kTarget, kData, static_cast<int>(bytes), MPI_BYTE, window);
  MPI_Win_flush(kTarget, window);
}
void mpi_fetch_add() {
  const uint64_t one = 1;
  uint64_t before = 0;
  MPI_Fetch_and_op(&one, &before, MPI_UINT64_T, kTarget, 0, MPI_SUM, window);
  MPI_Win_flush(kTarget, window);
  ++count;
}
void mpi_compare_swap() {
  const uint64_t next = count + 1;
  uint64_t before = 0;
  MPI_Compare_and_swap(&next, &count, &before, MPI_UINT64_T, kTarget, 0, window);
  MPI_Win_flush(kTarget, window);
  if (before == count) ++count;
}

void memory_put() {
  std::memcpy(direct.data(), own.data(), bytes);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
void memory_put_with_signal() {
  std::memcpy(direct.data(), own.data(), bytes);
  std::atomic_ref(*direct.words).store(++count);
}
void memory_get() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::memcpy(own.data(), direct.data(), bytes);
}
void memory_fetch_add() {
  std::atomic_ref(*direct.words).fetch_add(1);
  ++count;
}
void memory_compare_swap() {
  uint64_t expected = count;
  if (std::atomic_ref(*direct.words).compare_exchange_strong(expected, count + 1)) ++count;
}

struct Way {
  const char* name;
  void (*perform)();
};
struct Kind {
  const char* name;
  Way ways[3];
  bool has_data;
  bool has_words;
  bool brings_back;
  bool is_of_both;  // PE 1 does the same at the same time
};

const Kind kKinds[] = {
    {"put", {{"pgas", pgas_put}, {"mpi", mpi_put}, {"memory", memory_put}}, true, false, false, false},
    {"put-signal",
     {{"pgas", pgas_put_with_signal}, {"mpi", mpi_put_with_signal}, {"memory", memory_put_with_signal}},
     true,
     true,
     false,
     false},
    {"get", {{"pgas", pgas_get}, {"mpi", mpi_get}, {"memory", memory_get}}, true, false, true, false},
    {"fetch-add",
     {{"pgas", pgas_fetch_add}, {"mpi", mpi_fetch_add}, {"memory", memory_fetch_add}},
     false,
     true,
     false,
     false},
    {"fetch-add-both",
     {{"pgas", pgas_fetch_add}, {"mpi", mpi_fetch_add}, {"memory", memory_fetch_add}},
     false,
     true,
     false,
     true},
    {"compare-swap",
     {{"pgas", pgas_compare_swap}, {"mpi", mpi_compare_swap}, {"memory", memory_compare_swap}},
     false,
     true,
     false,
     false},
};

// Each batch and way has other data, in a period that is no power of two.
char value(size_t place, int batch) { return static_cast<char>((place + static_cast<size_t>(batch)) % 251); }

void fill(char* data, int batch) {
  for (size_t place = 0; place < bytes; ++place) data[place] = value(place, batch);
}

bool holds(const char* data, int batch) {
  for (size_t place = 0; place < bytes; ++place)
    if (data[place] != value(place, batch)) return false;
  return true;
}

void check(bool is_right, const Kind& kind, const Way& way) {
  if (is_right) return;
  std::fprintf(stderr, "one-sided-operations: %s of %s has a wrong result\n", kind.name, way.name);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

// Of one round, in PE 0. In PE 1, `place` is its own memory of this way.
double batch_us(const Kind& kind, const Way& way, const Place& place, int rounds, int batch) {
  const bool is_target = pgas_my_pe() == kTarget;
  count = 0;
  if (is_target) *place.words = 0;
  if (is_target && kind.brings_back) fill(place.data(), batch);
  if (!is_target) fill(own.data(), kind.brings_back ? batch + 1 : batch);
  MPI_Win_sync(window);
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  if (!is_target || kind.is_of_both)
    for (int round = 0; round < rounds; ++round) way.perform();
  const double elapsed = MPI_Wtime() - begin;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_sync(window);
  if (is_target && kind.has_words)
    check(*place.words == static_cast<uint64_t>(kind.is_of_both ? 2 * rounds : rounds), kind, way);
  if (is_target && kind.has_data) check(holds(place.data(), batch), kind, way);
  if (!is_target && kind.brings_back) check(holds(own.data(), batch), kind, way);
  return elapsed / rounds * 1e6;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void measure(const Kind& kind, int rounds, int batches, const std::vector<Place>& places) {
  const size_t ways = places.size();
  std::vector<std::vector<double>> times(ways);
  for (int batch = 0; batch <= batches; ++batch)
    for (size_t turn = 0; turn < ways; ++turn) {
      const size_t number = (turn + static_cast<size_t>(batch)) % ways;
      const double us = batch_us(kind, kind.ways[number], places[number], rounds,
                                 batch * static_cast<int>(ways) + static_cast<int>(number));
      if (batch > 0) times[number].push_back(us);  // the first one brings in code, memory and connections
    }
  if (pgas_my_pe() == kTarget) return;
  for (size_t number = 0; number < ways; ++number)
    std::printf("%s: %.4f\n", kind.ways[number].name, median(times[number]));
}

}  // namespace

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  pgas_init();
  const std::string name = argument_count > 1 ? arguments[1] : "";
  const Kind* const kind =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& each) { return name == each.name; });
  const int rounds = argument_count > 3 ? std::atoi(arguments[3]) : 0;
  const int batches = argument_count > 4 ? std::atoi(arguments[4]) : 11;
  if (kind == std::end(kKinds) || rounds < 1 || batches < 1 || pgas_n_pes() != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  bytes = std::strtoull(arguments[2], nullptr, 10);
  own.resize(bytes);
  // Whole pages: MPICH 4.0's MPI_Win_allocate takes another PE's memory to begin elsewhere where it is less.
  const size_t all = (bytes + kData + 4095) / 4096 * 4096;
  symmetric.words = static_cast<uint64_t*>(pgas_align(4096, all));
  Place second{static_cast<uint64_t*>(pgas_align(4096, all))};
  if (symmetric.words == nullptr || second.words == nullptr) {
    std::fprintf(stderr, "one-sided-operations: %zu bytes do not fit twice; set PGAS_SYMMETRIC_SIZE to more\n", all);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  direct.words = static_cast<uint64_t*>(pgas_ptr(second.words, kTarget));
  const bool is_on_a_node = direct.words != nullptr && pgas_ptr(second.words, 0) != nullptr;
  void* memory = nullptr;
  if (is_on_a_node) {
    MPI_Win_allocate(static_cast<MPI_Aint>(all), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  } else {
    MPI_Alloc_mem(static_cast<MPI_Aint>(all), MPI_INFO_NULL, &memory);
    MPI_Win_create(memory, static_cast<MPI_Aint>(all), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  }
  window_memory.words = static_cast<uint64_t*>(memory);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
  std::vector<Place> places{symmetric, window_memory};
  if (is_on_a_node) places.push_back(second);
  measure(*kind, rounds, batches, places);
  std::fflush(stdout);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  if (!is_on_a_node) MPI_Free_mem(memory);
  pgas_free(second.words);
  pgas_free(symmetric.words);
  pgas_finalize();
  MPI_Finalize();
  return 0;
}
