#include "courier/incoming_messages.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace spillway::courier {
namespace {

// What the word or message is, to the receivers; or nothing for what does not travel.
std::optional<message::CellKind> kind_of(const FrameHeader& header) {
  const auto kind = static_cast<message::CellKind>(header.cell_kind);
  switch (kind) {
    case message::CellKind::message:
    case message::CellKind::multicast:
      return message::CellKind::message;
    case message::CellKind::acknowledge:
    case message::CellKind::recall:
    case message::CellKind::recalled:
      return kind;
    default:
      return std::nullopt;
  }
}

bool is_in_memory(const message::MessageStore::Filling& filling) {
  return filling.payload.place == message::Place::memory;
}

bool is_inlined(uint64_t bytes) { return bytes <= node::kInlineBytes; }

}  // namespace

bool IncomingMessages::accept(const FrameHeader& header, const std::byte* frame) {
  if (header.sender >= self_.header().world_size || self_.is_local(self_.place_of(header.sender))) return false;
  return header.kind == FrameKind::first_part ? accept_first(header, frame) : accept_next(header, frame);
}

bool IncomingMessages::is_valid_first(const FrameHeader& header, const std::vector<uint32_t>& receivers) const {
  const bool is_route = header.first_part < header.end_part && header.end_part <= parts_of(header.bytes) &&
                        static_cast<uint32_t>(header.algorithm) < routing::kBroadcastCount;
  return is_route && header.part_bytes == part_bytes_of(header.bytes, header.first_part) &&
         !routes_.contains({header.sender, header.number, header.first_part}) && !receivers.empty() &&
         std::ranges::all_of(receivers, [&](uint32_t to) { return to < self_.header().world_size; }) &&
         self_.is_local(self_.place_of(receivers[0]));
}

bool IncomingMessages::accept_first(const FrameHeader& header, const std::byte* frame) {
  std::vector<uint32_t> receivers(header.receiver_count);
  const uint64_t list_bytes = header.receiver_count * sizeof(uint32_t);
  if (list_bytes != 0) memcpy(receivers.data(), frame, list_bytes);
  const std::optional<message::CellKind> kind = kind_of(header);
  if (!kind.has_value() || !is_valid_first(header, receivers)) return false;
  if (*kind != message::CellKind::message && header.bytes != 0) return false;
  const auto others = std::ranges::find_if(receivers, [&](uint32_t to) { return !self_.is_local(self_.place_of(to)); });
  const MessageRoute onward{
      header.number, header.algorithm, header.first_part, header.end_part, {others, receivers.end()}};
  receivers.erase(others, receivers.end());
  IncomingMessage message{};
  message.receivers = std::move(receivers);
  message.cell.kind = *kind;
  message.cell.context = header.context;
  message.cell.source = header.source;
  message.cell.tag = header.tag;
  message.cell.bytes = header.bytes;
  message.cell.sender = header.sender;
  message.cell.token = header.token;
  const std::byte* part = frame + list_bytes;
  if (is_inlined(header.bytes)) {
    take_inlined(std::move(message), onward, part);
    return true;
  }
  const auto found = begun(header, std::move(message));
  const IncomingMessage& whole = found->second;
  if (whole.cell.bytes != header.bytes) return false;
  Route route{found, store_.from(whole.filling, header.first_part * kPartBytes), header.first_part, header.end_part, {},
              {}};
  if (!onward.receivers.empty()) {
    route.parts_here = std::make_shared<uint32_t>(header.first_part);
    route.passed_on = forwarder_.pass_on(whole.cell, onward, whole.held, route.parts_here);
  }
  fill(route, header, part);
  if (route.next_part != route.end_part)
    routes_.emplace(RouteName{header.sender, header.number, header.first_part}, std::move(route));
  return true;
}

void IncomingMessages::take_inlined(IncomingMessage message, const MessageRoute& onward, const std::byte* part) {
  memcpy(message.cell.inlined, part, message.cell.bytes);
  if (!onward.receivers.empty()) forwarder_.pass_on(message.cell, onward, nullptr, nullptr);
  whole_ = std::move(message);
}

// The message that the frame is of: `message`, unless another route of it has begun it.
BegunMessages::iterator IncomingMessages::begun(const FrameHeader& header, IncomingMessage message) {
  const auto [place, is_first] = begun_.try_emplace({header.sender, header.number});
  if (!is_first) return place;
  message.missing_bytes = header.bytes;
  message.filling = store_.reserve(header.bytes, static_cast<uint32_t>(message.receivers.size()) + 1);
  message.held = std::make_shared<HeldPayload>(store_, message.filling.payload);
  if (is_in_memory(message.filling)) self_.record().pins.fetch_add(1);
  place->second = std::move(message);
  return place;
}

bool IncomingMessages::accept_next(const FrameHeader& header, const std::byte* frame) {
  const auto found = routes_.find({header.sender, header.number, header.first_part});
  if (found == routes_.end() || header.receiver_count != 0) return false;
  Route& route = found->second;
  if (header.part_bytes != part_bytes_of(route.message->second.cell.bytes, route.next_part)) return false;
  fill(route, header, frame);
  if (route.next_part == route.end_part) routes_.erase(found);
  return true;
}

void IncomingMessages::fill(Route& route, const FrameHeader& header, const std::byte* part) {
  IncomingMessage& message = route.message->second;
  SPILLWAY_CHECK(header.part_bytes <= message.missing_bytes);
  message::MemoryStream data(part);
  store_.fill(route.filling, data, header.part_bytes);
  ++route.next_part;
  if (route.parts_here != nullptr) *route.parts_here = route.next_part;
  for (const PassedOn& each : route.passed_on) forwarder_.part_has_come(each);
  message.missing_bytes -= header.part_bytes;
  if (message.missing_bytes != 0) return;
  store_.finish(message.filling);
  if (is_in_memory(message.filling)) self_.record().pins.fetch_sub(1);
  message.cell.payload = message.filling.payload;
  message.held.reset();
  whole_ = std::move(message);
  begun_.erase(route.message);
}

bool IncomingMessages::deliver() {
  if (!whole_.has_value()) return true;
  for (; whole_->told < whole_->receivers.size(); ++whole_->told) {
    whole_->cell.to = whole_->receivers[whole_->told];
    if (!mailbox_.try_push(whole_->cell.to, whole_->cell)) return false;
  }
  whole_.reset();
  return true;
}

}  // namespace spillway::courier
