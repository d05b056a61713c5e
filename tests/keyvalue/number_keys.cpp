// Numbers as keys that compare in unusual ways: NaN, which equals nothing, and the two zeros, which are equal. Prints
// each group's key and number of values.
#include <spillway/mpid.hpp>

#include <cmath>
#include <cstdio>

int main(int argc, char** argv) {
  spillway::mpid::MapReduce<double, int64_t> job{
      .map =
          [](int, int, auto& emit) {
            for (const double key : {std::nan(""), 0.0, -0.0, std::nan(""), 1.5, 0.0}) emit(key, 1);
          },
      .reduce =
          [](int, int, auto& groups) {
            while (groups.next()) {
              int count = 0;
              for ([[maybe_unused]] const int64_t value : groups.values()) ++count;
              std::fprintf(stderr, "%g: %d\n", groups.key(), count);
            }
          }};
  return job.run(argc, argv);
}
