#include "courier/sockets.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <memory>

namespace spillway::courier {
namespace {

constexpr int kBacklog = 1024;  // every other node may connect at once

// A peer that is dead or cut off shall be noticed within ten seconds, by whoever waits for it: so long after it has
// last been heard of (keepalive), or after data were sent that it does not take.
constexpr int kIdleSeconds = 3;
constexpr int kProbeSeconds = 2;
constexpr int kProbes = 3;
constexpr unsigned kDataTimeoutMs = 8000;

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses resolve(const NodeAddress& address, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found) != 0) {
    found = nullptr;
    errno = EADDRNOTAVAIL;
  }
  return {found, &freeaddrinfo};
}

base::Descriptor socket_for(const addrinfo& address) {
  return base::Descriptor(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
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
  const Addresses found = resolve(NodeAddress{address, 0}, AI_PASSIVE);
  if (found == nullptr) return -1;
  base::Descriptor listener = socket_for(*found);
  sockaddr_storage name{};
  socklen_t bytes = sizeof name;
  if (!listener || bind(listener.number(), found->ai_addr, found->ai_addrlen) != 0 ||
      listen(listener.number(), kBacklog) != 0 ||
      getsockname(listener.number(), reinterpret_cast<sockaddr*>(&name), &bytes) != 0)
    return -1;
  port = ntohs(name.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(name).sin6_port
                                          : reinterpret_cast<const sockaddr_in&>(name).sin_port);
  return listener.release();
}

base::Descriptor begin_connect(const NodeAddress& address) {
  const Addresses found = resolve(address, 0);
  if (found == nullptr) return base::Descriptor();
  base::Descriptor connection = socket_for(*found);
  if (!connection) return connection;
  set_option(connection.number(), IPPROTO_TCP, TCP_NODELAY, 1);
  set_keepalive(connection.number());
  set_detection_by_data(connection.number(), true);
  if (connect(connection.number(), found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS)
    return base::Descriptor();
  return connection;
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

void set_detection_by_data(int socket, bool is_on) {
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, is_on ? static_cast<int>(kDataTimeoutMs) : 0);
}

}  // namespace spillway::courier
