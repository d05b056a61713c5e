#include "launch/control_connection.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cstring>
#include <utility>

namespace spillway::launch {
namespace {

constexpr uint32_t kMagic = 0x53504c4a;  // "SPLJ"
constexpr uint32_t kVersion = 3;
constexpr int kMostPieces = 16;  // that are read at a time, so that others get their turns

struct Header {
  uint32_t magic;
  uint32_t version;
  uint32_t kind;
  int32_t rank;
  int32_t number;
  uint32_t is_critical;
  uint32_t text_bytes;
};
static_assert(sizeof(Header) == 28);

}  // namespace

ControlConnection::ControlConnection(EventLoop& loop, base::Descriptor socket, Handler on_message,
                                     std::function<void()> on_end)
    : loop_(loop), socket_(std::move(socket)), on_message_(std::move(on_message)), on_end_(std::move(on_end)) {
  loop_.watch(socket_.number(), EPOLLIN, [this] { ready(); });
}

ControlConnection::~ControlConnection() {
  *is_alive_ = false;
  loop_.unwatch(socket_.number());
}

void ControlConnection::send(const ControlMessage& message) {
  const bool had_all = output_.empty();
  const Header header{kMagic,
                      kVersion,
                      static_cast<uint32_t>(message.kind),
                      message.rank,
                      message.number,
                      message.is_critical ? 1u : 0u,
                      static_cast<uint32_t>(message.text.size())};
  output_.append(reinterpret_cast<const char*>(&header), sizeof header);
  output_ += message.text;
  write_all();  // an error shows when it is read from, too
  if (had_all && !output_.empty()) loop_.change(socket_.number(), EPOLLIN | EPOLLOUT);
}

std::string ControlConnection::peer_address() const { return courier::peer_host(socket_.number()); }

void ControlConnection::ready() {
  const std::shared_ptr<bool> is_alive = is_alive_;
  const bool had_output = !output_.empty();
  const bool could_write = write_all();
  if (had_output && output_.empty()) loop_.change(socket_.number(), EPOLLIN);
  const bool could_read = read_all();
  const bool are_ours = take_messages(is_alive);
  if (!*is_alive || (could_write && could_read && are_ours)) return;
  loop_.unwatch(socket_.number());
  const auto on_end = on_end_;
  on_end();
}

// False when the other side is gone.
bool ControlConnection::read_all() {
  char piece[16384];
  for (int pieces = 0; pieces < kMostPieces; ++pieces) {
    const ssize_t received = recv(socket_.number(), piece, sizeof piece, MSG_DONTWAIT);
    if (received > 0) {
      input_.append(piece, static_cast<size_t>(received));
      continue;
    }
    if (received < 0 && errno == EINTR) continue;
    return received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }
  return true;
}

bool ControlConnection::write_all() {
  while (!output_.empty()) {
    const ssize_t sent = ::send(socket_.number(), output_.data(), output_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    output_.erase(0, static_cast<size_t>(sent));
  }
  return true;
}

bool ControlConnection::take_messages(const std::shared_ptr<bool>& is_alive) {
  for (;;) {
    Header header;
    if (input_.size() < sizeof header) return true;
    memcpy(&header, input_.data(), sizeof header);
    is_of_other_version_ = header.magic == kMagic && header.version != kVersion;
    if (header.magic != kMagic || is_of_other_version_ || header.text_bytes > most_text_bytes_) return false;
    if (input_.size() < sizeof header + header.text_bytes) return true;
    ControlMessage message;
    message.kind = static_cast<ControlKind>(header.kind);
    message.rank = header.rank;
    message.number = header.number;
    message.is_critical = header.is_critical != 0;
    message.text = input_.substr(sizeof header, header.text_bytes);
    input_.erase(0, sizeof header + header.text_bytes);
    const Handler handler = on_message_;  // which may end the connection
    handler(message);
    if (!*is_alive) return true;
  }
}

}  // namespace spillway::launch
