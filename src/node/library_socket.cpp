#include "node/library_socket.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/system_calls.h"

namespace spillway::node {

int connect_library(const char* name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const size_t length = strnlen(name, sizeof address.sun_path - 2);
  memcpy(address.sun_path + 1, name, length);
  const int descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return -1;
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  ucred listener{};
  socklen_t listener_bytes = sizeof listener;
  errno = 0;
  if (connect(descriptor, reinterpret_cast<sockaddr*>(&address), bytes) == 0 &&
      getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &listener, &listener_bytes) == 0 && listener.uid == geteuid())
    return descriptor;
  const int error = errno != 0 ? errno : EPERM;  // somebody else has taken the name
  close(descriptor);
  errno = error;
  return -1;
}

AttachMessage library_message(MessageKind kind) {
  AttachMessage message{};
  message.magic = kAttachMagic;
  message.version = kAttachVersion;
  message.kind = static_cast<uint32_t>(kind);
  message.role = static_cast<uint32_t>(Role::rank_library);
  message.world_rank = -1;
  message.pid = getpid();
  return message;
}

bool send_from_library(int socket, const AttachMessage& message) {
  return send(socket, &message, sizeof message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof message);
}

bool receive_in_library(int socket, AttachMessage& message, std::span<int> descriptors) {
  iovec part{&message, sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))];
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t received;
  do received = base::kernel::receive(socket, &header, MSG_CMSG_CLOEXEC);
  while (received < 0 && errno == EINTR);
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c))
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
      memcpy(descriptors.data(), CMSG_DATA(c), std::min(descriptors.size_bytes(), c->cmsg_len - CMSG_LEN(0)));
  return received == static_cast<ssize_t>(sizeof message) && (header.msg_flags & MSG_CTRUNC) == 0 &&
         message.magic == kAttachMagic && message.version == kAttachVersion;
}

}  // namespace spillway::node
