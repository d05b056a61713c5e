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

bool IncomingMessages::accept(uint32_t node, const FrameHeader& header, const std::byte* frame) {
  if (header.sender >= self_.header().world_size || self_.place_of(header.sender).node != node) return false;
  return header.kind == FrameKind::first_part ? accept_first(header, frame) : accept_next(header, frame);
}

bool IncomingMessages::is_valid_first(const FrameHeader& header, const std::vector<uint32_t>& receivers) const {
  const auto is_here = [&](uint32_t to) {
    return to < self_.header().world_size && self_.is_local(self_.place_of(to));
  };
  return header.part_bytes == std::min(header.bytes, kPartBytes) && !begun_.contains(header.sender) &&
         !receivers.empty() && std::ranges::all_of(receivers, is_here);
}

bool IncomingMessages::accept_first(const FrameHeader& header, const std::byte* frame) {
  Message message{};
  message.receivers.resize(header.receiver_count);
  const uint64_t list_bytes = header.receiver_count * sizeof(uint32_t);
  if (list_bytes != 0) memcpy(message.receivers.data(), frame, list_bytes);
  const std::optional<message::CellKind> kind = kind_of(header);
  if (!kind.has_value() || !is_valid_first(header, message.receivers)) return false;
  if (*kind != message::CellKind::message && header.bytes != 0) return false;
  const std::byte* part = frame + list_bytes;
  message.cell.kind = *kind;
  message.cell.context = header.context;
  message.cell.source = header.source;
  message.cell.tag = header.tag;
  message.cell.bytes = header.bytes;
  message.cell.sender = header.sender;
  message.cell.token = header.token;
  message.missing_bytes = header.bytes - header.part_bytes;
  if (is_inlined(header.bytes)) {
    memcpy(message.cell.inlined, part, header.bytes);
    whole_ = std::move(message);
    return true;
  }
  message.filling = store_.reserve(header.bytes, header.receiver_count);
  if (is_in_memory(message.filling)) self_.record().pins.fetch_add(1);
  Message& begun = begun_.emplace(header.sender, std::move(message)).first->second;
  fill(begun, header, part);
  return true;
}

bool IncomingMessages::accept_next(const FrameHeader& header, const std::byte* frame) {
  const auto found = begun_.find(header.sender);
  if (found == begun_.end() || header.receiver_count != 0) return false;
  Message& begun = found->second;
  if (header.part_bytes != std::min(begun.missing_bytes, kPartBytes)) return false;
  begun.missing_bytes -= header.part_bytes;
  fill(begun, header, frame);
  return true;
}

void IncomingMessages::fill(Message& message, const FrameHeader& header, const std::byte* part) {
  message::MemoryStream data(part);
  store_.fill(message.filling, data, header.part_bytes);
  if (message.missing_bytes != 0) return;
  store_.finish(message.filling);
  if (is_in_memory(message.filling)) self_.record().pins.fetch_sub(1);
  message.cell.payload = message.filling.payload;
  whole_ = std::move(message);
  begun_.erase(header.sender);
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
