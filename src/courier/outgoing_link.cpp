#include "courier/outgoing_link.h"

#include <errno.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace spillway::courier {
namespace {

constexpr uint64_t kMostBytesBetweenLooks = 1 << 20;

constexpr uint32_t kWatched = EPOLLIN | EPOLLRDHUP;  // the end of the connection

}  // namespace

void OutgoingLink::add(uint32_t sender, OutgoingMessage message) {
  if (state_ == State::lost) return;
  messages_.add(sender, std::move(message));
}

uint64_t OutgoingLink::add_passed_on(OutgoingMessage message) {
  return state_ == State::lost ? 0 : messages_.add_passed_on(std::move(message));
}

void OutgoingLink::tell_library_use(bool is_in_use) { library_use_ = is_in_use ? 1 : 0; }

void OutgoingLink::connect() {
  if (state_ != State::idle) return;
  buffer_ = SendBuffer(kMostFrameBytes);
  buffer_.append(&hello_, sizeof hello_);
  socket_ = begin_connect(address_);
  if (!socket_) return lose("cannot connect to", errno);
  state_ = State::connecting;
  interest_ = EPOLLOUT;
  poller_.add(socket_.number(), interest_, *this);
}

void OutgoingLink::connected() {
  const int error = connect_error(socket_.number());
  if (error != 0) return lose("cannot connect to", error);
  state_ = State::connected;
  if (is_peer_watched_) set_detection_by_data(socket_.number(), false);
  write();
}

void OutgoingLink::peer_is_watched() {
  is_peer_watched_ = true;
  if (state_ == State::connected) set_detection_by_data(socket_.number(), false);
}

void OutgoingLink::fill_buffer() {
  if (library_use_.has_value()) {
    const uint32_t is_in_use = *library_use_;
    FrameHeader header{};
    header.kind = FrameKind::library;
    header.part_bytes = sizeof is_in_use;
    buffer_.append(&header, sizeof header);
    buffer_.append(&is_in_use, sizeof is_in_use);
    library_use_.reset();
  }
  messages_.fill(buffer_);
}

void OutgoingLink::send_on() {
  if (state_ == State::idle && has_work()) connect();
  if (state_ == State::connected && interest_ == kWatched && has_work()) write();
}

void OutgoingLink::write() {
  if (buffer_.is_empty()) fill_buffer();
  const ssize_t sent = send(socket_.number(), buffer_.data(), buffer_.bytes(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
    return lose("lost the connection to", errno);
  if (sent > 0) {
    buffer_.drop(static_cast<uint64_t>(sent));
    written_bytes_ += static_cast<uint64_t>(sent);
    look_at_figures();
  }
  set_interest(has_work() ? kWatched | EPOLLOUT : kWatched);
}

// Soon again at first: also of few short messages the figures have at least half.
void OutgoingLink::look_at_figures() {
  if (written_bytes_ < look_at_figures_at_) return;
  look_at_figures_at_ = written_bytes_ + std::min(written_bytes_, kMostBytesBetweenLooks);
  const LinkFigures figures = figures_of(socket_.number());
  acknowledged_bytes_ = figures.bytes;
  busy_us_ = figures.busy_us;
  if (figures.min_rtt_us != 0 && (min_rtt_us_ == 0 || figures.min_rtt_us < min_rtt_us_))
    min_rtt_us_ = figures.min_rtt_us;
}

void OutgoingLink::set_interest(uint32_t events) {
  if (interest_ == events) return;
  interest_ = events;
  poller_.change(socket_.number(), events, *this);
}

void OutgoingLink::handle(uint32_t events) {
  if (state_ == State::connecting) return connected();
  if (state_ != State::connected) return;
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
    char byte;
    const ssize_t received = recv(socket_.number(), &byte, sizeof byte, MSG_DONTWAIT);
    if (received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
    return lose("lost the connection to", received < 0 ? errno : 0);
  }
  write();
}

void OutgoingLink::lose(const std::string& what, int error) {
  state_ = State::lost;
  socket_.close();
  messages_.clear();
  library_use_.reset();
  problems_.report(static_cast<int>(node_), what + " node " + std::to_string(node_) + " (" + name_of(address_) +
                                                "): " + (error != 0 ? strerror(error) : "closed by the other side"));
}

}  // namespace spillway::courier
