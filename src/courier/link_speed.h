// What the system knows of how fast a connection is.
#pragma once

#include <cstdint>

namespace spillway::courier {

struct LinkSpeed {
  uint64_t bytes = 0;  // that the other side has acknowledged
  // That it took: while there was something to send, and the other side had room.
  uint64_t busy_us = 0;
};

// Zeros where the system does not tell (Linux before 4.10).
LinkSpeed speed_of(int socket);

}  // namespace spillway::courier
