#include "launch/attach_socket.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "node/attach_protocol.h"

namespace spillway::launch {
namespace {

constexpr int kBacklog = 1024;  // every rank of a node may connect at once

struct Address {
  sockaddr_un name{};
  socklen_t bytes = 0;
};

Address abstract_address(const std::string& name) {
  Address address;
  address.name.sun_family = AF_UNIX;
  const size_t length = name.size() < sizeof address.name.sun_path - 1 ? name.size() : sizeof address.name.sun_path - 1;
  memcpy(address.name.sun_path + 1, name.data(), length);
  address.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  return address;
}

std::optional<ucred> credentials_of(int socket) {
  ucred credentials{};
  socklen_t bytes = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0) return std::nullopt;
  return credentials;
}

base::Descriptor make_socket(int flags) {
  return base::Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0));
}

}  // namespace

std::string random_socket_name() {
  unsigned char bits[16] = {};
  if (getrandom(bits, sizeof bits, 0) != sizeof bits) return "";
  std::string name = "spillway-";
  for (unsigned char byte : bits) {
    char digits[3];
    snprintf(digits, sizeof digits, "%02x", byte);
    name += digits;
  }
  return name;
}

base::Descriptor listen_on(const std::string& name) {
  base::Descriptor listener = make_socket(SOCK_NONBLOCK);
  const Address address = abstract_address(name);
  if (!listener || bind(listener.number(), reinterpret_cast<const sockaddr*>(&address.name), address.bytes) != 0 ||
      listen(listener.number(), kBacklog) != 0)
    return base::Descriptor();
  return listener;
}

base::Descriptor connect_to(const std::string& name) {
  base::Descriptor connection = make_socket(0);
  const Address address = abstract_address(name);
  if (!connection || connect(connection.number(), reinterpret_cast<const sockaddr*>(&address.name), address.bytes) != 0)
    return base::Descriptor();
  const std::optional<ucred> listener = credentials_of(connection.number());  // somebody may have taken the name
  return listener && listener->uid == geteuid() ? std::move(connection) : base::Descriptor();
}

Peer accept_peer(int listener) {
  Peer peer;
  peer.socket = base::Descriptor(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  if (!peer.socket) return peer;
  const std::optional<ucred> credentials = credentials_of(peer.socket.number());
  if (!credentials || credentials->uid != geteuid()) {
    peer.socket.close();
    errno = EPERM;
    return peer;
  }
  peer.pid = credentials->pid;
  return peer;
}

AttachMessage make_message(MessageKind kind, const std::string& text) {
  AttachMessage message{};
  message.magic = node::kAttachMagic;
  message.version = node::kAttachVersion;
  message.kind = static_cast<uint32_t>(kind);
  message.world_rank = -1;
  snprintf(message.text, sizeof message.text, "%s", text.c_str());
  return message;
}

bool send_message(int socket, const AttachMessage& message, std::span<const int> descriptors) {
  iovec piece{const_cast<AttachMessage*>(&message), sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(node::kMostDescriptors * sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &piece;
  header.msg_iovlen = 1;
  if (!descriptors.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent;
  do {
    sent = sendmsg(socket, &header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(sizeof message);
}

Received receive_message(int socket, AttachMessage& message) {
  ssize_t received;
  do {
    received = recv(socket, &message, sizeof message, MSG_DONTWAIT);
  } while (received < 0 && errno == EINTR);
  if (received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Received::nothing;
  if (received < static_cast<ssize_t>(2 * sizeof(uint32_t)) || message.magic != node::kAttachMagic)
    return Received::closed;
  if (message.version != node::kAttachVersion) return Received::foreign;
  if (received != static_cast<ssize_t>(sizeof message)) return Received::closed;
  message.text[sizeof message.text - 1] = '\0';
  return Received::message;
}

}  // namespace spillway::launch
