// sort_files FOLDER OUTPUT: each rank writes a file of numbers into FOLDER and, when all are sorted, what it finds of
// them; then the lines of a text are counted. sort_files without a FOLDER: asks for nonsense.
#include <mpi.h>
#include <spillway/sort.hpp>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr int kNumbers = 300'000;

void write_numbers(const std::string& path, int rank) {
  std::mt19937_64 engine(static_cast<uint64_t>(rank));
  std::vector<int64_t> numbers(kNumbers);
  for (int64_t& number : numbers) number = static_cast<int64_t>(engine());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(numbers.data()), static_cast<std::streamsize>(numbers.size() * 8));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 3) {
    const spillway_sort_options nothing = {};
    spillway_sort_files(&nothing, nullptr);
  }
  const std::string folder = argv[1];
  const std::string output = argv[2];
  write_numbers(folder + "/" + std::to_string(rank), rank);
  MPI_Barrier(MPI_COMM_WORLD);

  spillway::SortOptions options;
  options.inputs = {folder};
  options.output = output;
  options.memory_bytes = 64 << 20;
  options.spill_directory = folder;
  options.record_bytes = 8;
  options.key = "0:8:int:desc";
  const spillway::SortResult sorted = spillway::sort_files(options);
  const bool is_all = sorted.records == static_cast<uint64_t>(ranks) * kNumbers &&
                      sorted.output_records == sorted.records && sorted.bytes == 8 * sorted.records;
  std::printf("rank %d: %s\n", rank, is_all ? "all" : "not all");

  if (rank == 0) std::ofstream(folder + "/.text") << "b\na\nb\n";
  MPI_Barrier(MPI_COMM_WORLD);
  spillway::SortOptions lines;
  lines.inputs = {folder + "/.text"};
  lines.output = output + "-lines";
  lines.memory_bytes = 64 << 20;
  lines.is_lines = true;
  lines.equal_keys = spillway::EqualKeys::kCounted;
  lines.has_parts = true;
  std::printf("rank %d: %d lines\n", rank, static_cast<int>(spillway::sort_files(lines).output_records));
  MPI_Finalize();
  return 0;
}
