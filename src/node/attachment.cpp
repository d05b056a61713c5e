#include "node/attachment.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "node/attach_protocol.h"

namespace spillway::node {
namespace {

AttachMessage message_of(MessageKind kind) {
  AttachMessage message{};
  message.magic = kAttachMagic;
  message.version = kAttachVersion;
  message.kind = static_cast<uint32_t>(kind);
  message.role = static_cast<uint32_t>(Role::rank_library);
  message.world_rank = -1;
  message.pid = getpid();
  return message;
}

int connect_to_agent(const char* name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const size_t length = strnlen(name, sizeof address.sun_path - 2);
  memcpy(address.sun_path + 1, name, length);
  const int descriptor = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  if (descriptor < 0 || connect(descriptor, reinterpret_cast<sockaddr*>(&address), bytes) != 0)
    base::fatal("cannot reach the node agent of this job (%s): was the launcher ended?", strerror(errno));
  return descriptor;
}

// Receives one message and up to two descriptors that come with it.
bool receive(int descriptor, AttachMessage& message, int (&descriptors)[2]) {
  iovec part{&message, sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))];
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t received;
  do received = recvmsg(descriptor, &header, MSG_CMSG_CLOEXEC);
  while (received < 0 && errno == EINTR);
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c))
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
      memcpy(descriptors, CMSG_DATA(c), std::min(sizeof descriptors, c->cmsg_len - CMSG_LEN(0)));
  return received == static_cast<ssize_t>(sizeof message) && message.magic == kAttachMagic &&
         message.version == kAttachVersion;
}

}  // namespace

std::optional<Attachment> Attachment::connect(int world_rank, int world_size) {
  const char* name = getenv(kSocketVariable);
  if (name == nullptr) return std::nullopt;
  Attachment attachment;
  attachment.socket_ = connect_to_agent(name);
  AttachMessage hello = message_of(MessageKind::hello);
  hello.world_rank = world_rank;
  hello.world_size = world_size;
  AttachMessage reply{};
  int descriptors[2] = {-1, -1};
  if (send(attachment.socket_, &hello, sizeof hello, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof hello) ||
      !receive(attachment.socket_, reply, descriptors))
    base::fatal("the node agent of this job does not answer, or is of another version of Spillway");
  if (reply.kind != static_cast<uint32_t>(MessageKind::welcome))
    base::fatal("the node agent refuses rank %d: %.400s", world_rank, reply.text);
  attachment.segment_ = descriptors[0];
  attachment.message_spill_ = descriptors[1];
  return attachment;
}

Attachment::Attachment(Attachment&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      segment_(std::exchange(other.segment_, -1)),
      message_spill_(std::exchange(other.message_spill_, -1)) {}

Attachment::~Attachment() {
  for (int descriptor : {socket_, segment_, message_spill_})
    if (descriptor >= 0) close(descriptor);
}

Segment Attachment::take_segment() {
  std::string problem;
  Segment segment = Segment::attach(std::exchange(segment_, -1), problem);
  if (!segment) base::fatal("%s", problem.c_str());
  return segment;
}

void Attachment::report_finalized() {
  const AttachMessage message = message_of(MessageKind::finalized);
  send(socket_, &message, sizeof message, MSG_NOSIGNAL);
}

bool Attachment::report_fatal(const char* text, int exit_status) {
  AttachMessage message = message_of(MessageKind::fatal);
  message.wait_status = (exit_status & 0xff) << 8;
  strncpy(message.text, text, sizeof message.text - 1);
  if (send(socket_, &message, sizeof message, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof message)) return false;
  // The agent ends all ranks, this one too; it prints the message once, with rank and host.
  char end;
  while (recv(socket_, &end, 1, 0) < 0 && errno == EINTR) {
  }
  return true;
}

}  // namespace spillway::node
