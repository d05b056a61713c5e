// What include/spillway/spillway.h lets a program ask for, beside figures.
//
//   requests_to_spillway critical FILE ROUNDS   all ranks enter the section; inside, FILE must not be there
//   requests_to_spillway die_inside             the last rank dies inside, while the others wait to enter
//   requests_to_spillway finalize_inside        rank 0 enters, and leaves with MPI_Finalize
//   requests_to_spillway circle                 rank 0 waits inside for a message of ranks that wait to enter
//   requests_to_spillway ranges MIB             loads, unloads and discards; rank 0 prints how much was written
//   requests_to_spillway pins MIB               with arrays of MIB, of which the budget has room for four on each rank
//   requests_to_spillway beside COUNT           unloads the first halves of COUNT arrays, to whose second halves
//   another
//                                               thread writes
//   requests_to_spillway in_use                 asks while the MPI library has a request open
//   requests_to_spillway without                what all of it gives under a plain mpiexec
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <spillway/spillway.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

int rank = 0;
int size = 1;

void check(bool holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "rank %d: %s does not hold\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 9);
}
#define CHECK(condition) check((condition), #condition)

void critical(const char* path, int rounds) {
  CHECK(spillway_exit_critical() == SPILLWAY_NOT_ALLOWED);
  for (int round = 0; round < rounds; ++round) {
    CHECK(spillway_enter_critical() == SPILLWAY_SUCCESS);
    CHECK(spillway_enter_critical() == SPILLWAY_NOT_ALLOWED);
    const int file = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600);
    CHECK(file >= 0);
    usleep(500);
    close(file);
    CHECK(unlink(path) == 0);
    CHECK(spillway_exit_critical() == SPILLWAY_SUCCESS);
  }
  int all = 0;
  MPI_Reduce(&rounds, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("entered %d times\n", all);
}

void without_spillway() {
  char small = 0;
  CHECK(spillway_enter_critical() == SPILLWAY_NOT_RUNNING);
  CHECK(spillway_exit_critical() == SPILLWAY_NOT_RUNNING);
  CHECK(spillway_load(&small, 1) == SPILLWAY_NOT_RUNNING);
  CHECK(spillway_unload(&small, 1) == SPILLWAY_NOT_RUNNING);
  CHECK(spillway_discard(&small, 1) == SPILLWAY_NOT_RUNNING);
  CHECK(spillway_pin(&small, 1) == SPILLWAY_NOT_RUNNING);
  CHECK(spillway_unpin(&small, 1) == SPILLWAY_NOT_RUNNING);
  CHECK(spillway_advise(&small, 1, SPILLWAY_ADVICE_COLD) == SPILLWAY_NOT_RUNNING);
  CHECK(spillway_list_allocations(nullptr, 0) == SPILLWAY_NOT_RUNNING);
  auto* memory = static_cast<char*>(spillway_allocate(100));
  CHECK(memory != nullptr);
  memset(memory, 1, 100);
  free(memory);
  if (rank == 0) puts("not under Spillway");
}

void die_inside() {
  if (rank == size - 1) spillway_enter_critical();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) {
    usleep(300000);  // the others are waiting
    kill(getpid(), SIGKILL);
  }
  spillway_enter_critical();
}

void finalize_inside() {
  if (rank == 0) spillway_enter_critical();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) return;
  CHECK(spillway_enter_critical() == SPILLWAY_SUCCESS);
  CHECK(spillway_exit_critical() == SPILLWAY_SUCCESS);
}

void circle() {
  if (rank == 0) spillway_enter_critical();
  MPI_Barrier(MPI_COMM_WORLD);
  int word = 0;
  if (rank == 0) MPI_Recv(&word, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  spillway_enter_critical();
  MPI_Send(&word, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
}

uint64_t unloaded_bytes() {
  spillway_usage usage{};
  CHECK(spillway_get_usage(&usage) == 0);
  return usage.unloaded_bytes;
}

void ranges(size_t bytes) {
  std::vector<unsigned char> data(bytes);
  for (size_t i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>(i * 31 + i / 4096);
  const uint64_t before = unloaded_bytes();
  CHECK(spillway_unload(data.data(), bytes) == SPILLWAY_SUCCESS);
  const uint64_t unloaded = unloaded_bytes() - before;
  CHECK(spillway_load(data.data(), bytes) == SPILLWAY_SUCCESS);
  for (size_t i = 0; i < bytes; ++i) CHECK(data[i] == static_cast<unsigned char>(i * 31 + i / 4096));
  memset(data.data(), 1, bytes);
  CHECK(spillway_discard(data.data(), bytes) == SPILLWAY_SUCCESS);
  CHECK(spillway_unload(data.data(), bytes) == SPILLWAY_SUCCESS);
  const uint64_t after_discard = unloaded_bytes() - before - unloaded;
  CHECK(spillway_load(&rank, sizeof rank) == SPILLWAY_NOT_MANAGED);
  auto* small = static_cast<unsigned char*>(spillway_allocate(100));
  memset(small, 5, 100);
  CHECK(spillway_unload(small, 100) == SPILLWAY_SUCCESS);
  CHECK(small[99] == 5);
  free(small);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0)
    printf("unloaded %llu, after discard %llu\n", static_cast<unsigned long long>(unloaded),
           static_cast<unsigned long long>(after_discard));
}

uint64_t resident_bytes_of(const void* memory) {
  spillway_allocation list[64];
  const long count = spillway_list_allocations(list, 64);
  CHECK(count > 0 && count <= 64);
  for (long i = 0; i < count; ++i)
    if (memory == list[i].address) return list[i].resident_bytes;
  CHECK(!"listed");
  return 0;
}

// Two arrays, of which one is pinned, while ranks together have more than fits.
void pins(size_t bytes) {
  auto* pinned = static_cast<unsigned char*>(spillway_allocate(bytes));
  auto* other = static_cast<unsigned char*>(spillway_allocate(4 * bytes));
  memset(pinned, rank + 1, bytes);
  memset(other, rank + 2, 4 * bytes);
  CHECK(spillway_pin(pinned, bytes) == SPILLWAY_SUCCESS);
  CHECK(spillway_pin(pinned, bytes) == SPILLWAY_SUCCESS);
  CHECK(spillway_unpin(pinned, bytes) == SPILLWAY_SUCCESS);
  CHECK(spillway_pin(&rank, sizeof rank) == SPILLWAY_NOT_MANAGED);
  CHECK(spillway_unpin(other, bytes) == SPILLWAY_NOT_MANAGED);
  CHECK(spillway_advise(other, bytes, SPILLWAY_ADVICE_COLD) == SPILLWAY_SUCCESS);
  CHECK(spillway_advise(&rank, sizeof rank, SPILLWAY_ADVICE_COLD) == SPILLWAY_NOT_MANAGED);
  for (int round = 0; round < 5; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(resident_bytes_of(pinned) == bytes);
    CHECK(pinned[bytes / 2] == rank + 1 && other[bytes / 2] == rank + 2);
    memset(other, rank + 2, 4 * bytes);
  }
  CHECK(spillway_unload(pinned, bytes) == SPILLWAY_IN_USE);
  CHECK(spillway_unpin(pinned, bytes) == SPILLWAY_SUCCESS);
  CHECK(spillway_unpin(pinned, bytes) == SPILLWAY_NOT_MANAGED);
  CHECK(spillway_unload(pinned, bytes) == SPILLWAY_SUCCESS);
  CHECK(resident_bytes_of(pinned) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  int refused = spillway_pin(other, 4 * bytes) == SPILLWAY_NO_ROOM, any_refused = 0;
  MPI_Allreduce(&refused, &any_refused, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (refused == 0) CHECK(spillway_unpin(other, 4 * bytes) == SPILLWAY_SUCCESS);
  CHECK(any_refused == 1);
  free(pinned);
  free(other);
  if (rank == 0) puts("pinned and free again");
}

// Each array is one unit of Spillway's, which is unloaded as a whole for the first time.
void beside(int count) {
  constexpr size_t kWords = (4 << 20) / sizeof(uint64_t);
  for (int i = 0; i < count; ++i) {
    auto* words = static_cast<uint64_t*>(spillway_allocate(2 * kWords * sizeof(uint64_t)));
    memset(words, 0, 2 * kWords * sizeof(uint64_t));
    std::atomic<uint64_t> rounds = 0;
    std::atomic<bool> is_over = false;
    std::thread other([&] {
      while (!is_over) {
        for (size_t word = kWords; word < 2 * kWords; ++word) ++words[word];
        ++rounds;
      }
    });
    while (rounds == 0) usleep(100);
    CHECK(spillway_unload(words, kWords * sizeof(uint64_t)) == SPILLWAY_SUCCESS);
    is_over = true;
    other.join();
    for (size_t word = 0; word < kWords; ++word) CHECK(words[word] == 0 && words[kWords + word] == rounds);
    free(words);
  }
  if (rank == 0) puts("nothing is lost");
}

void in_use() {
  std::vector<unsigned char> data(1 << 20, 3);
  MPI_Op own = MPI_OP_NULL;
  MPI_Op_create([](void*, void*, int*, MPI_Datatype*) {}, 1, &own);
  MPI_Datatype derived = MPI_DATATYPE_NULL;  // a reduction of it is the MPI library's
  MPI_Type_contiguous(1, MPI_INT, &derived);
  MPI_Type_commit(&derived);
  const int one = 1;
  int result = 0;
  MPI_Request request;
  MPI_Iallreduce(&one, &result, 1, derived, own, MPI_COMM_WORLD, &request);
  CHECK(spillway_unload(data.data(), data.size()) == SPILLWAY_IN_USE);
  CHECK(spillway_discard(data.data(), data.size()) == SPILLWAY_IN_USE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(spillway_unload(data.data(), data.size()) == SPILLWAY_SUCCESS);
  MPI_Type_free(&derived);
  MPI_Op_free(&own);
  if (rank == 0) puts("free again");
}

bool is_kept(void* memory, size_t bytes) {
  const int code = spillway_unload(memory, bytes);
  CHECK(code == SPILLWAY_IN_USE || code == SPILLWAY_SUCCESS);
  return code == SPILLWAY_IN_USE;
}

// What windows use stays, whatever is allocated beside it meanwhile, and for no longer.
void windows() {
  constexpr int kBytes = 1 << 20;
  const auto allocated = [] {
    void* memory = spillway_allocate(kBytes);
    memset(memory, rank + 1, kBytes);
    return memory;
  };
  void *target = allocated(), *origin = allocated();
  MPI_Win window, other;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_attach(window, target, kBytes);
  MPI_Aint place;
  MPI_Get_address(target, &place);
  MPI_Win_lock_all(0, window);
  CHECK(is_kept(target, kBytes) && !is_kept(origin, kBytes));

  MPI_Put(origin, kBytes, MPI_BYTE, rank, place, kBytes, MPI_BYTE, window);
  CHECK(is_kept(origin, kBytes));
  void* attached = allocated();
  MPI_Win_attach(window, attached, kBytes);
  MPI_Win_flush_all(window);
  CHECK(is_kept(attached, kBytes) && !is_kept(origin, kBytes));

  MPI_Put(origin, kBytes, MPI_BYTE, rank, place, kBytes, MPI_BYTE, window);
  void* result = allocated();
  MPI_Get(result, kBytes, MPI_BYTE, rank, place, kBytes, MPI_BYTE, window);
  CHECK(is_kept(origin, kBytes) && is_kept(result, kBytes));
  MPI_Win_flush(rank, window);
  CHECK(!is_kept(origin, kBytes) && !is_kept(result, kBytes));

  void* created = allocated();
  MPI_Put(origin, kBytes, MPI_BYTE, rank, place, kBytes, MPI_BYTE, window);
  MPI_Win_create(created, kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &other);
  MPI_Win_unlock_all(window);
  CHECK(is_kept(created, kBytes) && !is_kept(origin, kBytes));
  MPI_Win_detach(window, attached);
  CHECK(!is_kept(attached, kBytes));
  MPI_Win_free(&other);
  CHECK(is_kept(target, kBytes) && !is_kept(created, kBytes));
  MPI_Win_detach(window, target);
  MPI_Win_free(&window);
  CHECK(!is_kept(target, kBytes));
  for (void* memory : {target, origin, attached, result, created}) {
    CHECK(static_cast<unsigned char*>(memory)[kBytes - 1] == rank + 1);
    free(memory);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) puts("kept");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "without") without_spillway();
  if (what == "critical" && argc > 3) critical(argv[2], atoi(argv[3]));
  if (what == "die_inside") die_inside();
  if (what == "finalize_inside") finalize_inside();
  if (what == "circle") circle();
  if (what == "pins" && argc > 2) pins(static_cast<size_t>(atoi(argv[2])) << 20);
  if (what == "ranges" && argc > 2) ranges(static_cast<size_t>(atoi(argv[2])) << 20);
  if (what == "beside" && argc > 2) beside(atoi(argv[2]));
  if (what == "in_use") in_use();
  if (what == "windows") windows();
  if (what == "spill_directories") puts(spillway_get_spill_directories());
  MPI_Finalize();
  return 0;
}
