// sort_files FOLDER OUTPUT: each rank writes a file of numbers into FOLDER and, when all are sorted, what it finds of
// them; then the lines of a text are counted. sort_files without a FOLDER: asks for nonsense. sort_files given INPUT
// OUTPUT READERS [BYTES FILES]: sorts records of 100 bytes, with files of so many bytes and so many more of them at
// most. sort_files cut INPUT OUTPUT BYTES: the input has so many bytes when it is about to be sorted, and had more when
// it was looked at. sort_files empty FOLDER OUTPUT: sorts nothing many times, and all ranks look for what comes out.
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <sys/resource.h>
#include <unistd.h>

#include <spillway/sort.hpp>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <system_error>
#include <vector>

namespace {

constexpr int kNumbers = 300'000;

std::string to_cut;
off_t left_of_it = 0;

// The sort makes room for its output when it knows the sizes of its inputs, and before it reads records.
bool is_room_for_the_output(int file) {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file), error);
  return path.filename().string().find(".spillway-") != std::string::npos;
}

void write_numbers(const std::string& path, int rank) {
  std::mt19937_64 engine(static_cast<uint64_t>(rank));
  std::vector<int64_t> numbers(kNumbers);
  for (int64_t& number : numbers) number = static_cast<int64_t>(engine());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(numbers.data()), static_cast<std::streamsize>(numbers.size() * 8));
}

void limit(int what, const char* text, rlim_t beyond) {
  rlimit limits{};
  getrlimit(what, &limits);
  limits.rlim_cur = beyond + std::strtoull(text, nullptr, 10);
  setrlimit(what, &limits);
}

spillway::SortOptions options_of(const std::string& input, const std::string& output, const std::string& folder) {
  spillway::SortOptions options;
  options.inputs = {input};
  options.output = output;
  options.memory_bytes = 64 << 20;
  options.spill_directory = folder;
  return options;
}

void sort_given(int argc, char** argv) {
  spillway::SortOptions options = options_of(argv[2], argv[3], std::filesystem::path(argv[3]).parent_path());
  options.reader_count = std::atoi(argv[4]);
  if (argc > 5) limit(RLIMIT_FSIZE, argv[5], 0);
  if (argc > 6) limit(RLIMIT_NOFILE, argv[6], static_cast<rlim_t>(dup(STDIN_FILENO)));
  spillway::sort_files(options);
}

// Returns how often a rank finds its output.
int sort_nothing(const std::string& folder, const std::string& output) {
  int found = 0;
  for (int i = 0; i < 100; ++i) {
    spillway::SortOptions options = options_of(folder, output + std::to_string(i), folder);
    options.has_parts = i % 2 == 1;
    spillway::sort_files(options);
    if (access(options.output.c_str(), F_OK) == 0) ++found;
  }
  return found;
}

}  // namespace

// The sort's, before that of the C library.
extern "C" __attribute__((visibility("default"))) int posix_fallocate(int file, off_t offset, off_t bytes) {
  if (!to_cut.empty() && is_room_for_the_output(file) && truncate(to_cut.c_str(), left_of_it) != 0) return errno;
  const auto of_library = reinterpret_cast<decltype(&posix_fallocate)>(dlsym(RTLD_NEXT, "posix_fallocate"));
  return of_library(file, offset, bytes);
}

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
  if (std::strcmp(argv[1], "cut") == 0) {
    to_cut = argv[2];
    left_of_it = std::atoll(argv[4]);
    spillway::sort_files(options_of(argv[2], argv[3], std::filesystem::path(argv[3]).parent_path()));
  }
  if (std::strcmp(argv[1], "given") == 0 || std::strcmp(argv[1], "empty") == 0) {
    if (std::strcmp(argv[1], "given") == 0)
      sort_given(argc, argv);
    else
      std::printf("rank %d: found %d\n", rank, sort_nothing(argv[2], argv[3]));
    MPI_Finalize();
    return 0;
  }
  const std::string folder = argv[1];
  const std::string output = argv[2];
  write_numbers(folder + "/" + std::to_string(rank), rank);
  MPI_Barrier(MPI_COMM_WORLD);

  const auto handler = +[](int) {};
  std::signal(SIGXFSZ, handler);
  spillway::SortOptions options = options_of(folder, output, folder);
  options.record_bytes = 8;
  options.key = "0:8:int:desc";
  const spillway::SortResult sorted = spillway::sort_files(options);
  const bool is_all = sorted.records == static_cast<uint64_t>(ranks) * kNumbers &&
                      sorted.output_records == sorted.records && sorted.bytes == 8 * sorted.records &&
                      std::signal(SIGXFSZ, SIG_DFL) == handler;
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
