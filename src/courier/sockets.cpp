#include "courier/sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

namespace spillway::courier {
namespace {

constexpr int kBacklog = 1024;  // every other node may connect at once

// A peer that is dead or cut off shall be noticed within ten seconds, by whoever waits for it: so long after it has
// last been heard of (keepalive), or after data were sent that it does not take.
constexpr int kIdleSeconds = 3;
constexpr int kProbeSeconds = 1;
constexpr int kProbes = 4;
constexpr unsigned kDataTimeoutMs = 7000;
constexpr unsigned kSilentMs = 3500;  // longer than until a living peer answers the first probe

// A socket address of either family.
struct Name {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof(sockaddr_storage);

  sockaddr* generic() { return reinterpret_cast<sockaddr*>(&storage); }
  sockaddr_in& ipv4() { return reinterpret_cast<sockaddr_in&>(storage); }
  sockaddr_in6& ipv6() { return reinterpret_cast<sockaddr_in6&>(storage); }
};

bool parse(const NodeAddress& address, Name& name) {
  if (inet_pton(AF_INET, address.host.c_str(), &name.ipv4().sin_addr) == 1) {
    name.storage.ss_family = AF_INET;
    name.ipv4().sin_port = htons(address.port);
    name.bytes = sizeof(sockaddr_in);
    return true;
  }
  if (inet_pton(AF_INET6, address.host.c_str(), &name.ipv6().sin6_addr) == 1) {
    name.storage.ss_family = AF_INET6;
    name.ipv6().sin6_port = htons(address.port);
    name.bytes = sizeof(sockaddr_in6);
    return true;
  }
  errno = EADDRNOTAVAIL;
  return false;
}

std::string host_in(Name& name) {
  char text[INET6_ADDRSTRLEN] = {};
  const void* address =
      name.storage.ss_family == AF_INET6 ? static_cast<const void*>(&name.ipv6().sin6_addr) : &name.ipv4().sin_addr;
  return inet_ntop(name.storage.ss_family, address, text, sizeof text) != nullptr ? text : "";
}

base::Descriptor socket_for(const Name& name) {
  return base::Descriptor(socket(name.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
}

void set_option(int socket, int level, int option, int value) {
  setsockopt(socket, level, option, &value, sizeof value);
}

void set_keepalive(int socket) {
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
}

}  // namespace

std::string name_of(const NodeAddress& address) { return address.host + ", port " + std::to_string(address.port); }

int listen_on_any_port(const std::string& address, uint16_t& port) {
  Name name;
  if (!parse(NodeAddress{address, 0}, name)) return -1;
  base::Descriptor listener = socket_for(name);
  Name bound;
  if (!listener || bind(listener.number(), name.generic(), name.bytes) != 0 ||
      listen(listener.number(), kBacklog) != 0 || getsockname(listener.number(), bound.generic(), &bound.bytes) != 0)
    return -1;
  port = ntohs(bound.storage.ss_family == AF_INET6 ? bound.ipv6().sin6_port : bound.ipv4().sin_port);
  return listener.release();
}

base::Descriptor begin_connect(const NodeAddress& address) {
  Name name;
  if (!parse(address, name)) return base::Descriptor();
  base::Descriptor connection = socket_for(name);
  if (!connection) return connection;
  set_option(connection.number(), IPPROTO_TCP, TCP_NODELAY, 1);
  set_keepalive(connection.number());
  set_detection_by_data(connection.number(), true);
  if (connect(connection.number(), name.generic(), name.bytes) != 0 && errno != EINPROGRESS) return base::Descriptor();
  return connection;
}

std::string own_host(int socket) {
  Name name;
  return getsockname(socket, name.generic(), &name.bytes) == 0 ? host_in(name) : "";
}

std::string peer_host(int socket) {
  Name name;
  return getpeername(socket, name.generic(), &name.bytes) == 0 ? host_in(name) : "";
}

int connect_error(int socket) {
  int error = 0;
  socklen_t bytes = sizeof error;
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 ? error : errno;
}

base::Descriptor accept_connection(int listener) {
  base::Descriptor connection(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (connection) set_keepalive(connection.number());
  return connection;
}

bool is_silent(int socket) {
  tcp_info info{};
  socklen_t bytes = sizeof info;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) return false;
  return info.tcpi_probes > 0 || std::min(info.tcpi_last_ack_recv, info.tcpi_last_data_recv) > kSilentMs;
}

void set_detection_by_data(int socket, bool is_on) {
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, is_on ? static_cast<int>(kDataTimeoutMs) : 0);
}

}  // namespace spillway::courier
