// Each O task sends two keys of BYTES bytes that differ in the last one, and an empty key. Prints each group's length,
// last byte, number of values, and whether all other bytes are as they were. usage: long-keys BYTES
#include <spillway/mpid.hpp>

#include <algorithm>
#include <cstdio>
#include <string>

int main(int argc, char** argv) {
  const size_t bytes = std::stoull(argv[1]);
  spillway::mpid::MapReduce<std::string, int64_t> job{
      .map =
          [&](int, int, auto& emit) {
            std::string key(bytes, 'k');
            for (const char last : {'b', 'a'}) {
              key.back() = last;
              emit(key, 1);
            }
            emit("", 1);
          },
      .reduce =
          [](int, int, auto& groups) {
            while (groups.next()) {
              const std::string& key = groups.key();
              const bool is_whole = key.empty() || std::count(key.begin(), key.end() - 1, 'k') + 1 == std::ssize(key);
              std::fprintf(stderr, "%zu bytes, last %c, %lld values, %s\n", key.size(), key.empty() ? '-' : key.back(),
                           static_cast<long long>(groups.sum()), is_whole ? "whole" : "damaged");
            }
          }};
  return job.run(argc, argv);
}
