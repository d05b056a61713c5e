#include "courier/incoming_link.h"

#include <errno.h>
#include <sys/socket.h>

#include <cstring>
#include <utility>

namespace spillway::courier {
namespace {

constexpr uint64_t kBufferBytes = 2 * kPartBytes;  // so that little of it is moved to the front for the next read
static_assert(kBufferBytes >= kMostFrameBytes);

constexpr const char* kForeign = "it has sent something that is no message";

}  // namespace

IncomingLink::IncomingLink(base::Descriptor socket, const Hello& expected, IncomingMessages messages, Poller& poller,
                           IncomingOwner& owner)
    : socket_(std::move(socket)),
      expected_(expected),
      messages_(std::move(messages)),
      poller_(poller),
      owner_(owner),
      buffer_(sizeof(Hello)) {
  poller_.add(socket_.number(), EPOLLIN, *this);
}

void IncomingLink::handle(uint32_t events) {
  if (is_stalled_) {
    if ((events & (EPOLLHUP | EPOLLERR)) != 0) close("it has ended");
    return;
  }
  const ssize_t received = recv(socket_.number(), buffer_.data() + end_, buffer_.size() - end_, MSG_DONTWAIT);
  if (received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
  if (received <= 0) return close(received < 0 ? strerror(errno) : "closed by the other side");
  end_ += static_cast<uint64_t>(received);
  accept_all();
}

void IncomingLink::try_again() {
  if (!is_stalled_ || !messages_.deliver()) return;
  set_stalled(false);
  accept_all();
}

void IncomingLink::set_stalled(bool is_stalled) {
  if (is_stalled_ == is_stalled) return;
  is_stalled_ = is_stalled;
  poller_.change(socket_.number(), is_stalled ? 0u : EPOLLIN, *this);
}

// As much as is there in whole.
void IncomingLink::accept_all() {
  while (!is_closed() && !is_stalled_ && (is_known() ? accept_frame() : accept_hello())) {
  }
  if (begin_ == 0) return;
  memmove(buffer_.data(), waiting(), waiting_bytes());
  end_ = waiting_bytes();
  begin_ = 0;
}

bool IncomingLink::accept_hello() {
  if (waiting_bytes() < sizeof(Hello)) return false;
  Hello hello;
  memcpy(&hello, waiting(), sizeof hello);
  if (!is_of_same_job(hello, expected_) || !owner_.node_connected(hello.node)) {
    close("");
    return false;
  }
  node_ = hello.node;
  begin_ += sizeof hello;
  buffer_.resize(kBufferBytes);
  return true;
}

bool IncomingLink::accept_frame() {
  FrameHeader header;
  if (waiting_bytes() < sizeof header) return false;
  memcpy(&header, waiting(), sizeof header);
  const uint64_t bytes = sizeof header + header.receiver_count * sizeof(uint32_t) + header.part_bytes;
  if (bytes > kMostFrameBytes) {
    close(kForeign);
    return false;
  }
  if (waiting_bytes() < bytes) return false;
  const std::byte* content = waiting() + sizeof header;
  begin_ += bytes;
  if (header.kind == FrameKind::library && header.receiver_count == 0 && header.part_bytes == sizeof(uint32_t)) {
    uint32_t is_in_use;
    memcpy(&is_in_use, content, sizeof is_in_use);
    owner_.node_uses_library(node_, is_in_use != 0);
  } else if ((header.kind == FrameKind::first_part || header.kind == FrameKind::next_part) &&
             messages_.accept(header, content)) {
    set_stalled(!messages_.deliver());
    owner_.frame_taken();
  } else {
    close(kForeign);
  }
  return true;
}

void IncomingLink::close(const char* why) {
  socket_.close();
  is_stalled_ = false;
  if (is_known()) owner_.node_lost(node_, why);
}

}  // namespace spillway::courier
