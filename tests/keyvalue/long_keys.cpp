// Each O task sends a key of BYTES bytes and an empty one. Prints each group's length, number of values, and whether
// all bytes are as they were. usage: long-keys BYTES
#include <spillway/mpid.hpp>

#include <algorithm>
#include <cstdio>
#include <string>

int main(int argc, char** argv) {
  const size_t bytes = std::stoull(argv[1]);
  spillway::mpid::MapReduce<std::string, int64_t> job{
      .map =
          [&](int, int, auto& emit) {
            emit(std::string(bytes, 'k'), 1);
            emit("", 1);
          },
      .reduce =
          [](int, int, auto& groups) {
            while (groups.next()) {
              const std::string& key = groups.key();
              const bool is_whole = std::count(key.begin(), key.end(), 'k') == std::ssize(key);
              std::fprintf(stderr, "%zu bytes, %lld values, %s\n", key.size(), static_cast<long long>(groups.sum()),
                           is_whole ? "whole" : "damaged");
            }
          }};
  return job.run(argc, argv);
}
