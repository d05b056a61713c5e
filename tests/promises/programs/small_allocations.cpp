// An MPI program that keeps its data in many small allocations.
//
//   small_allocations list COUNT ROUNDS   every rank has a list of COUNT nodes of 16 bytes to 4 KiB; in each round it
//                                         changes some, frees some and makes new ones, and sends a sum to the next rank
//   small_allocations loop COUNT ROUNDS   in each round, every rank allocates COUNT pieces of 5,000 bytes and frees
//                                         them; rank 0 prints how many MiB it is charged for after the last
//   small_allocations large MIB           every rank has MIB in pieces of 1,000 bytes, frees them, and allocates MIB at
//                                         once
//   small_allocations fork FORKS          every rank forks while its other threads allocate; the child resizes
//                                         and frees what is the parent's. What a library does around a fork
//                                         takes a lock that these threads hold while they allocate, ends a thread, and
//                                         allocates in the child
//   small_allocations flush FORKS         every rank forks while another thread flushes all streams, one of which
//                                         allocates as it is written
//   small_allocations child MIB           rank 0 forks; then it changes and frees what it has, and is unloaded, as rank
//   1
//                                         needs MIB; the child looks whether it still sees all as it was
//   small_allocations fiber MIB           every rank allocates MIB in pieces of 3,000 bytes on a stack of 24 KiB
//   small_allocations keys                all keys of threads are used before the first allocation
//   small_allocations callback COUNT      COUNT pieces of 1,000 bytes by a thread that starts within a reduction;
//                                         rank 0 prints how many MiB more it is charged for
//   small_allocations idle                rank 0 prints how many bytes it is charged for after one small allocation
//
// What rank 0 prints of sums is the same for the same ranks and arguments.
#include <mpi.h>
#include <pthread.h>
#include <spillway/spillway.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

namespace {

int rank = 0;
int size = 1;

[[noreturn]] void fail(const char* what) {
  fprintf(stderr, "small_allocations: rank %d: %s\n", rank, what);
  exit(1);
}

uint64_t managed_bytes() {
  spillway_usage usage;
  return spillway_get_usage(&usage) == 0 ? usage.managed_bytes : 0;
}

double managed_mib() { return static_cast<double>(managed_bytes()) / (1 << 20); }

struct Node {
  Node* next;
  uint32_t bytes;  // behind the node
  uint32_t seed;

  unsigned char* data() { return reinterpret_cast<unsigned char*>(this + 1); }
};

uint32_t next_number(uint32_t& state) { return state = state * 1664525 + 1013904223; }

Node* make(uint32_t& state, Node* next) {
  const uint32_t bytes = next_number(state) % 16 == 0 ? next_number(state) % 4096 : next_number(state) % 200;
  auto* node = static_cast<Node*>(malloc(sizeof(Node) + bytes));
  *node = Node{next, bytes, next_number(state)};
  for (uint32_t i = 0; i < bytes; ++i) node->data()[i] = static_cast<unsigned char>(node->seed + i);
  return node;
}

void check(Node* node) {
  for (uint32_t i = 0; i < node->bytes; ++i)
    if (node->data()[i] != static_cast<unsigned char>(node->seed + i)) fail("a node's contents have changed");
}

void change(Node* node) {
  ++node->seed;
  for (uint32_t i = 0; i < node->bytes; ++i) ++node->data()[i];
}

void list(long count, long rounds) {
  auto state = static_cast<uint32_t>(rank + 1);
  Node* first = nullptr;
  for (long i = 0; i < count; ++i) first = make(state, first);
  for (long round = 0; round < rounds; ++round) {
    uint64_t sum = 0, of_previous = 0, total = 0;
    for (Node** link = &first; *link != nullptr;) {
      Node* node = *link;
      check(node);
      sum += node->seed;
      const uint32_t choice = next_number(state) >> 16;
      if (choice % 64 == 0) change(node);
      if (choice % 32 == 1) {
        *link = make(state, node->next);
        free(node);
      }
      link = &(*link)->next;
    }
    MPI_Sendrecv(&sum, 1, MPI_UINT64_T, (rank + 1) % size, 0, &of_previous, 1, MPI_UINT64_T, (rank + size - 1) % size,
                 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    of_previous = of_previous * 31 + static_cast<uint64_t>(rank);
    MPI_Reduce(&of_previous, &total, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("round %ld: %llu\n", round, static_cast<unsigned long long>(total));
  }
  while (first != nullptr) {
    Node* next = first->next;
    free(first);
    first = next;
  }
}

std::vector<void*> pieces_of(long count, size_t bytes) {
  std::vector<void*> pieces(static_cast<size_t>(count));
  for (void*& piece : pieces) {
    piece = malloc(bytes);
    memset(piece, 1, bytes);
  }
  return pieces;
}

void free_all(const std::vector<void*>& pieces) {
  for (void* piece : pieces) free(piece);
}

void loop(long count, long rounds) {
  for (long round = 0; round < rounds; ++round) {
    free_all(pieces_of(count, 5000));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 0) printf("%.0f\n", managed_mib());
}

void large(long mib) {
  free_all(pieces_of(mib << 10, 1000));
  void* memory = malloc(static_cast<size_t>(mib) << 20);
  if (memory == nullptr) fail("no memory");
  memset(memory, 1, static_cast<size_t>(mib) << 20);
  MPI_Barrier(MPI_COMM_WORLD);
  free(memory);
  if (rank == 0) printf("done\n");
}

// What a library does around a fork, which it says when it is loaded: OpenBLAS ends its threads.
class Library {
 public:
  static void before_fork() {
    pthread_mutex_lock(&mutex);
    if (!is_in_use) return;
    is_over = true;
    worker.join();
  }
  static void after_fork_in_parent() {
    pthread_mutex_unlock(&mutex);
    if (is_in_use) start();
  }
  static void after_fork_in_child() {
    pthread_mutex_unlock(&mutex);
    if (is_in_use) free_all(pieces_of(10, 3000));
  }
  static void start() {
    is_in_use = true;
    is_over = false;
    worker = std::thread([] {
      while (!is_over) free(malloc(100));
    });
  }
  static void stop() {
    is_in_use = false;
    is_over = true;
    worker.join();
  }

  static inline pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

 private:
  static inline bool is_in_use = false;
  static inline std::atomic<bool> is_over = false;
  static inline std::thread worker;
};

__attribute__((constructor)) void load_library() {
  pthread_atfork(Library::before_fork, Library::after_fork_in_parent, Library::after_fork_in_child);
}

void fork_while_threads_allocate(long forks) {
  std::atomic<bool> is_over = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&is_over] {
      while (!is_over) {
        pthread_mutex_lock(&Library::mutex);
        free_all(pieces_of(50, 100));
        free_all(pieces_of(5, 30000));
        pthread_mutex_unlock(&Library::mutex);
        std::thread([] { free(malloc(700)); }).join();
      }
    });
  Library::start();
  void* inherited = malloc(1000);
  memset(inherited, 7, 1000);
  for (long i = 0; i < forks; ++i) {
    const pid_t child = fork();
    if (child < 0) fail("cannot fork");
    if (child == 0) {
      auto* moved = static_cast<unsigned char*>(realloc(inherited, 9000));
      for (int byte = 0; byte < 1000; ++byte)
        if (moved[byte] != 7) _exit(1);
      // No more than this, and no threads: where the C library gives memory back, UCX's hooks may wait for a lock of
      // the parent's, on plain MPICH as well.
      free(moved);
      free_all(pieces_of(10, 3000));
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) fail("a child has failed");
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  Library::stop();
  free(inherited);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("done\n");
}

// As a stream does that compresses. What it allocates is too large for what a thread keeps for itself.
ssize_t write_with_allocations(void* /*cookie*/, const char* /*data*/, size_t bytes) {
  free_all(pieces_of(50, 3000));
  return static_cast<ssize_t>(bytes);
}

void fork_while_streams_are_flushed(long forks) {
  cookie_io_functions_t functions{};
  functions.write = write_with_allocations;
  FILE* stream = fopencookie(nullptr, "w", functions);
  if (stream == nullptr) fail("no stream");
  std::atomic<bool> is_over = false;
  std::thread flushing([&] {
    while (!is_over) {
      fputc('a', stream);
      fflush(nullptr);
    }
  });
  for (long i = 0; i < forks; ++i) {
    const pid_t child = fork();
    if (child < 0) fail("cannot fork");
    if (child == 0) {
      fflush(nullptr);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) fail("a child has failed");
  }
  is_over = true;
  flushing.join();
  const pid_t child = fork();  // with one thread less
  if (child == 0) {
    fputc('a', stream);
    fflush(nullptr);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) fail("a child has failed");
  fclose(stream);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("done\n");
}

// The ranks meet; rank 1 needs so much meanwhile that rank 0 is unloaded.
void unload_rank_0(long mib) {
  void* memory = rank == 1 ? malloc(static_cast<size_t>(mib) << 20) : nullptr;
  if (memory != nullptr) memset(memory, 1, static_cast<size_t>(mib) << 20);
  MPI_Barrier(MPI_COMM_WORLD);
  free(memory);
  MPI_Barrier(MPI_COMM_WORLD);
}

void child_keeps_what_it_has(long mib) {
  constexpr size_t kBytes = 2000;
  std::vector<void*> pieces = pieces_of(rank == 0 ? 20000 : 1, kBytes);  // itself a small allocation, too
  const auto bad_pieces = [&pieces] {
    long bad = 0;
    for (const void* piece : pieces)
      for (size_t i = 0; i < kBytes; ++i) bad += static_cast<const unsigned char*>(piece)[i] != 1;
    return bad;
  };
  unload_rank_0(mib);
  if (bad_pieces() != 0) fail("the contents have changed");  // this loads them, and they stay clean
  int to_child[2];
  if (pipe(to_child) != 0) fail("no pipe");
  const pid_t child = rank == 0 ? fork() : -1;
  if (child == 0) {
    char word = 0;
    close(to_child[1]);
    if (read(to_child[0], &word, 1) != 1) _exit(2);
    _exit(bad_pieces() == 0 ? 0 : 1);
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (i % 3 == 0) free(std::exchange(pieces[i], nullptr));
    if (i % 3 == 1) memset(pieces[i], 2, kBytes);
  }
  unload_rank_0(mib);
  unload_rank_0(mib);
  if (rank == 0) {
    int status = 0;
    if (write(to_child[1], "x", 1) != 1) fail("cannot write to the child");
    waitpid(child, &status, 0);
    printf(status == 0 ? "done\n" : "the child sees something else\n");
  }
  unload_rank_0(mib);  // all may go now
  free_all(pieces);
}

ucontext_t main_context, fiber;
std::vector<void*> fiber_pieces;
long fiber_count = 0;

void run_fiber() { fiber_pieces = pieces_of(fiber_count, 3000); }

void allocate_on_small_stack(long mib) {
  constexpr size_t kStack = 24 << 10, kGuard = 4 << 10;
  fiber_count = (mib << 20) / 3000;
  char* guard =
      static_cast<char*>(mmap(nullptr, kStack + kGuard, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  mprotect(guard, kGuard, PROT_NONE);
  for (int round = 0; round < 3; ++round) {
    getcontext(&fiber);
    fiber.uc_stack.ss_sp = guard + kGuard;
    fiber.uc_stack.ss_size = kStack;
    fiber.uc_link = &main_context;
    makecontext(&fiber, run_fiber, 0);
    swapcontext(&main_context, &fiber);
    MPI_Barrier(MPI_COMM_WORLD);
    free_all(fiber_pieces);
  }
  if (rank == 0) printf("done\n");
}

void use_all_keys() {
  pthread_key_t key;
  while (pthread_key_create(&key, nullptr) == 0) continue;
  std::thread([] { free_all(pieces_of(100, 100)); }).join();
  free_all(pieces_of(100, 100));
  if (rank == 0) printf("done\n");
}

long pieces_in_callback = 0;
std::vector<void*> callback_pieces;

void allocate_in_thread(void*, void*, int*, MPI_Datatype*) {
  if (!callback_pieces.empty()) return;
  std::thread([] { callback_pieces = pieces_of(pieces_in_callback, 1000); }).join();
}

void callback(long count) {
  pieces_in_callback = count;
  MPI_Op operation;
  MPI_Op_create(allocate_in_thread, 1, &operation);
  const double before = managed_mib();
  int one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, operation, MPI_COMM_WORLD);
  if (rank == 0) printf("%.0f\n", managed_mib() - before);
  if (rank == 0 && callback_pieces.empty()) fail("the operation was never called");
  free_all(callback_pieces);
  MPI_Op_free(&operation);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* mode = argc > 1 ? argv[1] : "";
  const long first = argc > 2 ? atol(argv[2]) : 0, second = argc > 3 ? atol(argv[3]) : 0;
  if (strcmp(mode, "list") == 0) {
    list(first, second);
  } else if (strcmp(mode, "loop") == 0) {
    loop(first, second);
  } else if (strcmp(mode, "large") == 0) {
    large(first);
  } else if (strcmp(mode, "fork") == 0) {
    fork_while_threads_allocate(first);
  } else if (strcmp(mode, "flush") == 0) {
    fork_while_streams_are_flushed(first);
  } else if (strcmp(mode, "child") == 0) {
    child_keeps_what_it_has(first);
  } else if (strcmp(mode, "fiber") == 0) {
    allocate_on_small_stack(first);
  } else if (strcmp(mode, "keys") == 0) {
    use_all_keys();
  } else if (strcmp(mode, "callback") == 0) {
    callback(first);
  } else if (strcmp(mode, "idle") == 0) {
    void* volatile piece = malloc(100);
    if (rank == 0) printf("%llu\n", static_cast<unsigned long long>(managed_bytes()));
    free(piece);
  } else {
    fail("unknown mode");
  }
  MPI_Finalize();
  return 0;
}
