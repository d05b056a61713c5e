// An MPI program whose data are static arrays.
//
//   static_arrays sweep ROUNDS       every rank reads all its arrays and writes half of them, in each round
//   static_arrays touch MIB ROUNDS   the same with the first MIB of the large array alone; nobody touches the rest
//   static_arrays usage              rank 0 prints what Spillway says of its memory, before and after it wrote the
//   arrays static_arrays settle SECONDS     the same, before and after it took its time and touched nothing of them
//   static_arrays exchange ROUNDS    each rank sends its large array to the next one: into another static array, by the
//                                    calls that Spillway carries out and by those that the MPI library does
//   static_arrays read               each rank reads a file with read(2) into a static array
//   static_arrays threads ROUNDS     as sweep; another thread counts in a small variable all the time, also in the
//   sleep
//
// STATIC_MIB: size of the large array that begins with zeros. Rank 0 prints a line per round that depends on every byte
// of every rank, and is the same for the same ranks and arguments.
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <spillway/spillway.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

namespace {

constexpr size_t kWordsPerMiB = (1 << 20) / sizeof(uint64_t);
constexpr size_t kZeroedWords = STATIC_MIB * kWordsPerMiB;
constexpr size_t kInitialisedWords = 8 * kWordsPerMiB;
constexpr size_t kTableWords = 2 * kWordsPerMiB;

int rank = 0;
int size = 1;

uint64_t zeroed[kZeroedWords];
std::atomic<uint64_t> ticks = 0;  // small: lies between the arrays
uint64_t received[4 * kWordsPerMiB];

// With contents from the program's file, at both ends, and pointers that the dynamic linker has set.
struct Initialised {
  uint64_t first[4];
  uint64_t words[kInitialisedWords];
  const char* last[3];
};
Initialised initialised = {{1, 22, 333, 4444}, {5}, {"all", "is", "there"}};

// Never written.
struct Table {
  uint64_t words[kTableWords];
  uint64_t last;
};
Table table = {{7, 8, 9}, 10};

uint64_t mixed(uint64_t value) {
  value ^= value >> 31;
  value *= 0x9e3779b97f4a7c15u;
  return value ^ value >> 29;
}

void report(int round, uint64_t own) {
  uint64_t all = 0;
  MPI_Allreduce(&own, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (rank != 0) return;
  printf("round %d: %016llx\n", round, static_cast<unsigned long long>(all));
  fflush(stdout);
}

uint64_t digest(const uint64_t* words, size_t count, uint64_t sum = 0) {
  for (size_t i = 0; i < count; ++i) sum = sum * 31 + words[i];
  return sum;
}

uint64_t digest_of_initialised() {
  uint64_t sum = digest(initialised.first, 4);
  sum = digest(initialised.words, kInitialisedWords, sum);
  for (const char* text : initialised.last) sum = sum * 31 + strlen(text) + static_cast<uint64_t>(text[0]);
  return digest(table.words, kTableWords, sum) + table.last;
}

void change_half(uint64_t* words, size_t count, int round) {
  for (size_t i = static_cast<size_t>(round % 2); i < count / 2; i += 2)
    words[i] = mixed(words[i] + words[count - 1 - i]);
}

void sweep(size_t words, bool with_initialised, int rounds) {
  for (size_t i = 0; i < words; ++i) zeroed[i] = mixed(i + static_cast<uint64_t>(rank) * words);
  for (int round = 0; round <= rounds; ++round) {
    report(round, digest(zeroed, words) + (with_initialised ? digest_of_initialised() : 0));
    if (round == rounds) break;
    change_half(zeroed, words, round);
    if (with_initialised) change_half(initialised.words, kInitialisedWords, round);
  }
}

void print_usage() {
  spillway_usage now{};
  if (rank == 0 && spillway_get_usage(&now) == 0)
    printf("managed %llu resident %llu\n", static_cast<unsigned long long>(now.managed_bytes),
           static_cast<unsigned long long>(now.resident_bytes));
}

void exchange(int rounds) {
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  constexpr int kWords = sizeof received / sizeof received[0];
  for (size_t i = 0; i < kZeroedWords; ++i) zeroed[i] = mixed(i + static_cast<uint64_t>(rank));
  for (int round = 0; round < rounds; ++round) {
    MPI_Sendrecv(zeroed, kWords, MPI_UINT64_T, next, 0, received, kWords, MPI_UINT64_T, previous, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    report(round, digest(received, kWords) + digest(zeroed, kZeroedWords));
    MPI_Request request = MPI_REQUEST_NULL;
    memcpy(zeroed, received, sizeof received);
    MPI_Iallreduce(zeroed, received, kWords, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    report(round, digest(received, kWords));
    MPI_Win window = MPI_WIN_NULL;
    MPI_Win_create(received, sizeof received, sizeof(uint64_t), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(zeroed, kWords / 2, MPI_UINT64_T, next, 5, kWords / 2, MPI_UINT64_T, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
    report(round, digest(received, kWords));
    zeroed[kZeroedWords - 1 - static_cast<size_t>(round)] = mixed(received[7]);
  }
}

// The whole array is filled by the kernel, and unloaded in between.
void read_files() {
  for (size_t i = 0; i < kZeroedWords; ++i) zeroed[i] = mixed(i + static_cast<uint64_t>(rank));
  report(0, digest(zeroed, kZeroedWords));
  FILE* file = tmpfile();
  for (size_t i = 0; i < kZeroedWords; i += kWordsPerMiB) {
    if (pwrite(fileno(file), zeroed + i, 1 << 20, static_cast<off_t>(i * sizeof(uint64_t))) != 1 << 20)
      MPI_Abort(MPI_COMM_WORLD, 3);
  }
  memset(zeroed, 1, sizeof zeroed);
  report(1, digest(zeroed, kZeroedWords));
  for (size_t i = 0; i < kZeroedWords; i += kWordsPerMiB)
    if (pread(fileno(file), zeroed + i, 1 << 20, static_cast<off_t>(i * sizeof(uint64_t))) != 1 << 20)
      MPI_Abort(MPI_COMM_WORLD, 3);
  fclose(file);
  report(2, digest(zeroed, kZeroedWords));
}

// One major fault, which is no reason to take the whole time around it for loading.
void touch_page_on_disk() {
  // Beside the program, which lies on a disk, unlike /tmp perhaps.
  char self[PATH_MAX] = {};
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) MPI_Abort(MPI_COMM_WORLD, 3);
  std::string name = std::string(self) + "-pageXXXXXX";
  const int file = mkstemp(name.data());
  const uint64_t word = 1;
  if (file < 0 || unlink(name.c_str()) != 0 || pwrite(file, &word, sizeof word, 0) != sizeof word || fsync(file) != 0 ||
      posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) != 0)
    MPI_Abort(MPI_COMM_WORLD, 3);
  void* page = mmap(nullptr, sizeof word, PROT_READ, MAP_PRIVATE, file, 0);
  rusage before{}, after{};
  getrusage(RUSAGE_THREAD, &before);
  const bool is_read = *static_cast<volatile uint64_t*>(page) == word;
  getrusage(RUSAGE_THREAD, &after);
  if (!is_read || after.ru_majflt == before.ru_majflt) MPI_Abort(MPI_COMM_WORLD, 4);
  munmap(page, sizeof word);
  close(file);
}

void sweep_beside_a_counter(int rounds) {
  std::atomic<bool> done = false;
  uint64_t counted = 0;
  std::thread counter([&] {
    for (; !done; ++counted) {
      ++ticks;
      if (counted % 1000 == 0) usleep(100);
    }
  });
  sweep(kZeroedWords, true, rounds);
  done = true;
  counter.join();
  report(0, counted - ticks);  // 0, unless counts were lost
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* what = argc > 1 ? argv[1] : "";
  const int number = argc > 2 ? atoi(argv[2]) : 1;
  if (strcmp(what, "sweep") == 0) {
    sweep(kZeroedWords, true, number);
  } else if (strcmp(what, "touch") == 0 && argc > 3) {
    sweep(static_cast<size_t>(number) * kWordsPerMiB, false, atoi(argv[3]));
  } else if (strcmp(what, "usage") == 0) {
    print_usage();
    sweep(kZeroedWords, true, 1);
    print_usage();
  } else if (strcmp(what, "settle") == 0) {
    print_usage();
    touch_page_on_disk();
    sleep(static_cast<unsigned>(number));
    for (int wait = 0; wait < 2; ++wait) {  // what it computed is accounted for at the end of the first
      if (rank != 0) sleep(1);
      report(wait, 0);
    }
    print_usage();
  } else if (strcmp(what, "exchange") == 0) {
    exchange(number);
  } else if (strcmp(what, "read") == 0) {
    read_files();
  } else if (strcmp(what, "threads") == 0) {
    sweep_beside_a_counter(number);
  } else {
    fprintf(stderr, "static_arrays: unknown arguments\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
  return 0;
}
