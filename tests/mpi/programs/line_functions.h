// Values and an operation of a program's own: what MPI may put in another grouping, but not in another order.
#pragma once

#include <mpi.h>

#include <cstdint>

// Functions x -> a x + b modulo 2^32: composing them is associative, but does not commute.
struct Line {
  uint32_t factor, shift;
  bool operator==(const Line&) const = default;
};

inline void compose(void* in, void* inout, int* count, MPI_Datatype*) {
  const auto* first = static_cast<Line*>(in);
  auto* then = static_cast<Line*>(inout);
  for (int i = 0; i < *count; ++i)
    then[i] = {first[i].factor * then[i].factor, first[i].shift * then[i].factor + then[i].shift};
}
