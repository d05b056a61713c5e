#include "courier/link_figures.h"

// Not <netinet/tcp.h>, whose tcp_info has not the times.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>

namespace spillway::courier {
namespace {

constexpr uint32_t kNoRoundTrip = ~0u;

}  // namespace

LinkFigures figures_of(int socket) {
  tcp_info info{};
  socklen_t bytes = sizeof info;
  constexpr size_t kNeeded = offsetof(tcp_info, tcpi_rwnd_limited) + sizeof info.tcpi_rwnd_limited;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0 || bytes < kNeeded) return {};
  return {info.tcpi_bytes_acked, info.tcpi_busy_time - info.tcpi_rwnd_limited,
          info.tcpi_min_rtt == kNoRoundTrip ? 0 : info.tcpi_min_rtt};
}

}  // namespace spillway::courier
