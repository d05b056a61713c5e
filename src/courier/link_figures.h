// What the system knows of a connection: how fast it is, and how far the other side.
#pragma once

#include <cstdint>

namespace spillway::courier {

// Zeros where the system does not tell (Linux before 4.10).
struct LinkFigures {
  uint64_t bytes = 0;  // that the other side has acknowledged
  // That it took: while there was something to send, and the other side had room.
  uint64_t busy_us = 0;
  uint64_t min_rtt_us = 0;  // the shortest round trip of some minutes; zero before the first one
};

LinkFigures figures_of(int socket);

}  // namespace spillway::courier
