// Each O task sends a key of BYTES bytes and an empty one; with `away` to the A task of the other one of two processes.
// Prints each group's length, number of values, and whether all bytes are as they were. usage: long-keys BYTES [away]
#include <spillway/mpid.hpp>

#include <algorithm>
#include <cstdio>
#include <string>

int main(int argc, char** argv) {
  const size_t bytes = std::stoull(argv[1]);
  spillway::mpid::MapReduce<std::string, int64_t> job{
      .map =
          [&](int, int, auto& emit) {
            int process = 0;
            MPI_Comm_rank(MPI_COMM_WORLD, &process);
            emit(std::string(bytes, 'k'), 1 - process);
            emit("", 1 - process);
          },
      .reduce =
          [](int task, int, auto& groups) {
            while (groups.next()) {
              const std::string& key = groups.key();
              const bool is_whole = std::count(key.begin(), key.end(), 'k') == std::ssize(key);
              long values = 0;
              for ([[maybe_unused]] const int64_t value : groups.values()) ++values;
              std::fprintf(stderr, "A task %d: %zu bytes, %ld values, %s\n", task, key.size(), values,
                           is_whole ? "whole" : "damaged");
            }
          }};
  if (argc > 2) job.partition = [](std::string_view, int64_t process, int) { return static_cast<int>(process); };
  return job.run(argc, argv);
}
