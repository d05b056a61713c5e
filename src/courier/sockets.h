// TCP as couriers use it.
#pragma once

#include <cstdint>
#include <string>

#include "base/descriptor.h"

namespace spillway::courier {

struct NodeAddress {
  std::string host;  // a numeric IPv4 or IPv6 address
  uint16_t port = 0;
};

// "10.0.0.3, port 4711"
std::string name_of(const NodeAddress& address);

// A listening socket at `address` (numeric), not blocking, whose port is put into `port`. Returns -1 with errno.
int listen_on_any_port(const std::string& address, uint16_t& port);

// Begins to connect, without blocking: the socket becomes writable when that has come to an end (connect_error). A peer
// that does not answer is given up within ten seconds (set_detection_by_data, which is on). Returns no socket, with
// errno, when it cannot be begun.
base::Descriptor begin_connect(const NodeAddress& address);

// The numeric addresses of the two ends of a connection; empty when there is none.
std::string own_host(int socket);
std::string peer_host(int socket);

// The errno with which connecting has ended; 0 when it succeeded.
int connect_error(int socket);

// The next connection that has come; no socket, with errno, when there is none.
base::Descriptor accept_connection(int listener);

// Whether the peer, which has something to answer every three seconds, has not: it is about to be given up, unless it
// was the network's fault.
bool is_silent(int socket);

// Whether a connection breaks too when data that were sent have not been taken for seven seconds. That notices a dead
// peer even while data are on their way, when keepalive does not; but also breaks with a living one that has no room.
void set_detection_by_data(int socket, bool is_on);

}  // namespace spillway::courier
