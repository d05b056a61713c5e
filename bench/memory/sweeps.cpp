// What the synthetic benchmark of SBMA does (sbma.txt, 6.1), as an MPI program: each rank goes through an array of its
// own, round after round, and all ranks meet after each.
//
//   sweeps read|write|update|mixed|pieces|sparse-PAGES MIB ROUNDS
//
// `read` adds the array up, `write` overwrites it, `update` changes each word of it, and `mixed` changes its first half
// and reads its second one. `sparse-16` changes one page of 16. `pieces` changes each word of a list of small
// allocations instead. Rank 0 prints the
// seconds of each round; in the end, how much all ranks have read from and written to disks in each, and a sum over all
// arrays, so that whoever runs it can tell that nothing was lost.
#include <mpi.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace {

uint64_t sum_of(const uint64_t* data, size_t words) {
  uint64_t sum = 0;
  for (size_t i = 0; i < words; ++i) sum += data[i];
  return sum;
}

void update(uint64_t* data, size_t words, uint64_t round) {
  for (size_t i = 0; i < words; ++i) data[i] = data[i] * 3 + round;
}

// The first page of each so many.
void update_sparsely(uint64_t* data, size_t words, size_t pages, uint64_t round) {
  constexpr size_t kPageWords = 4096 / sizeof(uint64_t);
  for (size_t begin = 0; begin < words; begin += pages * kPageWords)
    update(data + begin, std::min(kPageWords, words - begin), round);
}

void write(uint64_t* data, size_t words, uint64_t round) {
  for (size_t i = 0; i < words; ++i) data[i] = i ^ round;
}

// A list of allocations of 24 to 520 bytes.
class List {
 public:
  List(size_t words, uint64_t seed) {
    uint64_t state = seed;
    for (size_t done = 0; done < words;) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const size_t count = 1 + (state >> 33) % 63;
      auto* piece = static_cast<Piece*>(std::malloc(sizeof(Piece) + count * sizeof(uint64_t)));
      *piece = Piece{first_, count};
      for (size_t i = 0; i < count; ++i) piece->data()[i] = state + i;
      first_ = piece;
      done += count + sizeof(Piece) / sizeof(uint64_t);
    }
  }
  ~List() {
    while (first_ != nullptr) std::free(std::exchange(first_, first_->next));
  }
  List(const List&) = delete;
  List& operator=(const List&) = delete;

  void update(uint64_t round) {
    for (Piece* piece = first_; piece != nullptr; piece = piece->next) ::update(piece->data(), piece->count, round);
  }
  uint64_t sum() const {
    uint64_t total = 0;
    for (Piece* piece = first_; piece != nullptr; piece = piece->next) total += sum_of(piece->data(), piece->count);
    return total;
  }

 private:
  struct Piece {
    Piece* next;
    size_t count;
    uint64_t* data() { return reinterpret_cast<uint64_t*>(this + 1); }
  };
  Piece* first_ = nullptr;
};

// What the kernel has read and written for this process so far.
uint64_t disk_bytes() {
  uint64_t sum = 0, value = 0;
  char name[32];
  FILE* file = std::fopen("/proc/self/io", "r");
  while (file != nullptr && std::fscanf(file, "%31[a-z_]: %" SCNu64 "\n", name, &value) == 2)
    if (const std::string word = name; word == "read_bytes" || word == "write_bytes") sum += value;
  if (file != nullptr) std::fclose(file);
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::string mode = argc == 4 ? argv[1] : "";
  const size_t pages = mode.starts_with("sparse-") ? std::strtoull(mode.c_str() + 7, nullptr, 10) : 0;
  if (mode != "read" && mode != "write" && mode != "update" && mode != "mixed" && mode != "pieces" && pages == 0) {
    if (rank == 0) std::fprintf(stderr, "usage: sweeps read|write|update|mixed|pieces|sparse-PAGES MIB ROUNDS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const size_t all_words = std::strtoull(argv[2], nullptr, 10) << 17;
  const size_t words = mode == "pieces" ? 0 : all_words;
  const auto rounds = static_cast<uint64_t>(std::strtoull(argv[3], nullptr, 10));
  std::vector<uint64_t> data(words);
  for (size_t i = 0; i < words; ++i) data[i] = i * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(rank);
  List list(all_words - words, static_cast<uint64_t>(rank));
  uint64_t sum = 0;
  std::vector<uint64_t> disk_bytes_before(rounds + 1);
  MPI_Barrier(MPI_COMM_WORLD);
  for (uint64_t round = 0; round < rounds; ++round) {
    disk_bytes_before[round] = disk_bytes();
    const double begin = MPI_Wtime();
    if (mode == "read") sum += sum_of(data.data(), words);
    if (mode == "write") write(data.data(), words, round);
    if (mode == "update") update(data.data(), words, round);
    if (pages != 0) update_sparsely(data.data(), words, pages, round);
    if (mode == "pieces") list.update(round);
    if (mode == "mixed") {
      update(data.data(), words / 2, round);
      sum += sum_of(data.data() + words / 2, words - words / 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) std::printf("round %" PRIu64 ": %.6f s\n", round, MPI_Wtime() - begin);
    std::fflush(stdout);
  }
  disk_bytes_before[rounds] = disk_bytes();
  for (uint64_t round = 0; round < rounds; ++round) {
    const uint64_t of_rank = disk_bytes_before[round + 1] - disk_bytes_before[round];
    uint64_t of_all = 0;
    MPI_Reduce(&of_rank, &of_all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) std::printf("moved %" PRIu64 ": %" PRIu64 "\n", round, of_all);
  }
  sum += sum_of(data.data(), words) + list.sum();
  uint64_t sum_of_all = 0;
  MPI_Reduce(&sum, &sum_of_all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("sum %016" PRIx64 "\n", sum_of_all);
  MPI_Finalize();
  return 0;
}
