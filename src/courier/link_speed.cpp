#include "courier/link_speed.h"

// Not <netinet/tcp.h>, whose tcp_info has not the times.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>

namespace spillway::courier {

LinkSpeed speed_of(int socket) {
  tcp_info info{};
  socklen_t bytes = sizeof info;
  constexpr size_t kNeeded = offsetof(tcp_info, tcpi_rwnd_limited) + sizeof info.tcpi_rwnd_limited;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0 || bytes < kNeeded) return {};
  return {info.tcpi_bytes_acked, info.tcpi_busy_time - info.tcpi_rwnd_limited};
}

}  // namespace spillway::courier
