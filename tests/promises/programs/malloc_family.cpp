// Calls every function of the malloc family with small and large sizes, and checks what the C library promises of them.
// Prints "done" on rank 0 when all is right; exits with status 1 and says what is wrong otherwise.
#include <malloc.h>
#include <mpi.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace {

constexpr size_t kSizes[] = {1, 1000, 5000, 100 << 10, 300 << 10, (1 << 20) + 1, 5 << 20};
volatile size_t hidden_zero = 0;  // so that the compiler cannot see what is asked for

void check(bool holds, const char* what, size_t bytes) {
  if (holds) return;
  fprintf(stderr, "malloc_family: %s, %zu bytes: errno %d\n", what, bytes, errno);
  exit(1);
}

unsigned char* filled(void* memory, size_t bytes) {
  memset(memory, 0x5a, bytes);
  return static_cast<unsigned char*>(memory);
}

bool holds(const unsigned char* memory, size_t bytes, unsigned char value) {
  for (size_t i = 0; i < bytes; ++i)
    if (memory[i] != value) return false;
  return true;
}

void check_sizes(size_t bytes) {
  void* memory = malloc(bytes);
  check(memory != nullptr && malloc_usable_size(memory) >= bytes, "malloc", bytes);
  errno = EBADF;
  free(filled(memory, bytes));
  check(errno == EBADF, "free leaves errno alone", bytes);
  auto* zeros = static_cast<unsigned char*>(calloc(bytes, 1));  // perhaps what has just been freed
  check(zeros != nullptr && holds(zeros, bytes, 0), "calloc gives zeros", bytes);
  filled(zeros, bytes);
  for (size_t target : kSizes) {
    auto* moved = static_cast<unsigned char*>(realloc(zeros, target));
    check(moved != nullptr && holds(moved, target < bytes ? target : bytes, 0x5a), "realloc keeps the contents",
          target);
    zeros = filled(moved, target);
    bytes = target;
  }
  check(realloc(zeros, hidden_zero) == nullptr, "realloc to nothing frees", bytes);
}

void check_alignments(size_t bytes) {
  for (size_t alignment : {size_t{16}, size_t{64}, size_t{4096}, size_t{1} << 16, size_t{1} << 22}) {
    void* memory = nullptr;
    check(posix_memalign(&memory, alignment, bytes) == 0, "posix_memalign", bytes);
    void* all[] = {memory, aligned_alloc(alignment, bytes), memalign(alignment, bytes)};
    for (void* each : all)
      check(each != nullptr && reinterpret_cast<uintptr_t>(each) % alignment == 0, "is aligned", bytes);
    for (void* each : all) free(filled(each, bytes));
  }
  // The C library rounds up what is no power of two, and none at all is no reason to fail.
  for (size_t alignment : {hidden_zero, hidden_zero + 1, hidden_zero + 48, hidden_zero + 5000}) {
    void* memory = memalign(alignment, bytes);
    check(memory != nullptr && reinterpret_cast<uintptr_t>(memory) % (alignment > 48 ? 8192 : 16) == 0, "memalign",
          bytes);
    free(filled(memory, bytes));
  }
  void* memory = nullptr;
  check(posix_memalign(&memory, 48, bytes) == EINVAL, "posix_memalign refuses what is no power of two", bytes);
  memory = valloc(bytes);
  check(memory != nullptr && reinterpret_cast<uintptr_t>(memory) % 4096 == 0, "valloc", bytes);
  free(memory);
  memory = pvalloc(bytes);
  check(memory != nullptr && reinterpret_cast<uintptr_t>(memory) % 4096 == 0 &&
            malloc_usable_size(memory) >= (bytes + 4095) / 4096 * 4096,
        "pvalloc", bytes);
  free(memory);
}

void check_refusals() {
  const size_t huge = SIZE_MAX / 2 + hidden_zero;
  errno = 0;
  check(malloc(huge) == nullptr && errno == ENOMEM, "malloc refuses", huge);
  errno = 0;
  check(calloc(huge, 4) == nullptr && errno == ENOMEM, "calloc refuses an overflow", huge);
  errno = 0;
  check(reallocarray(nullptr, huge, 4) == nullptr && errno == ENOMEM, "reallocarray refuses an overflow", huge);
  errno = 0;
  check(pvalloc(SIZE_MAX - hidden_zero) == nullptr && errno == ENOMEM, "pvalloc refuses an overflow", SIZE_MAX);
  errno = 0;
  check(memalign(SIZE_MAX - hidden_zero, 10) == nullptr && errno == EINVAL, "memalign refuses an alignment", 10);
  void* volatile kept = filled(malloc(1 << 20), 1 << 20);  // else the compiler warns of its use after realloc
  check(realloc(kept, huge) == nullptr && holds(static_cast<unsigned char*>(kept), 1 << 20, 0x5a),
        "realloc that fails keeps the contents", huge);
  free(kept);
  free(nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  for (size_t bytes : kSizes) check_sizes(bytes);
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int round = 0; round < 3; ++round) {
    for (size_t bytes : kSizes) {
      check_sizes(bytes);
      check_alignments(bytes);
      MPI_Barrier(MPI_COMM_WORLD);
    }
    check_refusals();
  }
  if (rank == 0) printf("done\n");
  MPI_Finalize();
  for (size_t bytes : kSizes) check_sizes(bytes);
  return 0;
}
