#include "mpi/transfer.h"

#include <algorithm>

#include "mpi/runtime.h"

namespace spillway::mpi {
namespace {

message::Cell cell_for(Runtime& runtime, message::ByteStream& data, uint64_t bytes, uint32_t receivers) {
  message::Cell cell;
  cell.kind = message::CellKind::message;
  cell.bytes = bytes;
  cell.payload = message::Payload{};
  cell.sender = runtime.self.world_rank();
  cell.token = 0;
  if (bytes <= node::kInlineBytes) {
    data.read(cell.inlined, bytes);
  } else {
    cell.payload = runtime.store.put(data, bytes, receivers);
  }
  return cell;
}

void address_cell(message::Cell& cell, const Address& address) {
  cell.context = address.context;
  cell.source = address.source;
  cell.tag = address.tag;
  cell.to = address.to;
}

void count_sent(Runtime& runtime, const message::Cell& cell) {
  auto& statistics = runtime.self.record().statistics;
  statistics.sent_messages.store(statistics.sent_messages + 1);
  statistics.sent_bytes.store(statistics.sent_bytes + cell.bytes);
}

void push(Runtime& runtime, message::Cell& cell, const Address& address) {
  address_cell(cell, address);
  count_sent(runtime, cell);
  runtime.mailbox.push(address.to, cell);
}

}  // namespace

void send(Runtime& runtime, const Address& address, PackedStream& data, uint32_t token) {
  message::Cell cell = cell_for(runtime, data, data.bytes(), 1);
  cell.token = token;
  push(runtime, cell, address);
}

void send_bytes(Runtime& runtime, const Address& address, const void* data, uint64_t bytes) {
  message::MemoryStream stream(data);
  message::Cell cell = cell_for(runtime, stream, bytes, 1);
  push(runtime, cell, address);
}

void send_to_all(Runtime& runtime, const Address& address, const std::vector<uint32_t>& receivers,
                 message::ByteStream& data, uint64_t bytes) {
  if (receivers.empty()) return;
  std::vector<uint32_t> remote;
  for (uint32_t to : receivers)
    if (!runtime.self.is_local(runtime.self.place_of(to))) remote.push_back(to);
  const auto copies = static_cast<uint32_t>(receivers.size() - remote.size() + (remote.empty() ? 0 : 1));
  message::Cell cell = cell_for(runtime, data, bytes, copies);
  address_cell(cell, address);
  for (uint32_t to : receivers) {
    count_sent(runtime, cell);
    if (!runtime.self.is_local(runtime.self.place_of(to))) continue;
    cell.to = to;
    runtime.mailbox.push(to, cell);
  }
  if (remote.empty()) return;
  if (remote.size() == 1) {
    cell.to = remote[0];
    return runtime.mailbox.push(remote[0], cell);
  }
  message::set_receivers(cell, remote, runtime.store);
  runtime.mailbox.push_to_courier(cell);
}

void send_word(Runtime& runtime, uint32_t to, message::CellKind kind, uint32_t token) {
  message::Cell cell;
  cell.kind = kind;
  cell.context = 0;
  cell.source = 0;
  cell.tag = 0;
  cell.bytes = 0;
  cell.payload = message::Payload{};
  cell.sender = runtime.self.world_rank();
  cell.token = token;
  cell.to = to;
  runtime.mailbox.push(to, cell);
}

void acknowledge(Runtime& runtime, message::Envelope& envelope) {
  if (envelope.token == 0) return;
  const uint32_t token = envelope.token;
  envelope.token = 0;
  send_word(runtime, envelope.sender, message::CellKind::acknowledge, token);
}

ArrivedStream::ArrivedStream(Runtime& runtime, const message::Envelope& envelope)
    : is_inlined_(envelope.payload.place == message::Place::none),
      inlined_(envelope.inlined.data()),
      payload_(runtime.store, envelope.payload),
      bytes_left_(envelope.bytes) {}

void ArrivedStream::read(void* out, uint64_t bytes) {
  if (is_inlined_)
    inlined_.read(out, bytes);
  else
    payload_.read(out, bytes);
  bytes_left_ -= bytes;
}

memory::Overwrite overwrite_of(Runtime& runtime, const TypedBuffer& buffer, bool is_whole) {
  const uint64_t bytes = packed_bytes(buffer);
  if (bytes < memory::Overwrites::kLeastBytes || !is_plain(buffer.type)) return {};
  return memory::Overwrite(runtime.overwrites, buffer.address, bytes, is_whole);
}

void renew(Runtime& runtime, const TypedBuffer& buffer, uint64_t bytes) {
  if (bytes >= memory::Overwrites::kLeastBytes && is_plain(buffer.type)) runtime.arena.renew(buffer.address, bytes);
}

Outcome deliver(Runtime& runtime, message::Envelope& envelope, const TypedBuffer& buffer) {
  Outcome outcome;
  outcome.source = envelope.source;
  outcome.tag = envelope.tag;
  outcome.bytes = std::min(envelope.bytes, packed_bytes(buffer));
  if (envelope.bytes > outcome.bytes) outcome.error = MPI_ERR_TRUNCATE;
  renew(runtime, buffer, outcome.bytes);
  ArrivedStream arrived(runtime, envelope);
  unpack(arrived, outcome.bytes, buffer);
  runtime.store.release(envelope.payload);
  return outcome;
}

void deliver_bytes(Runtime& runtime, message::Envelope& envelope, void* out) {
  ArrivedStream(runtime, envelope).read(out, envelope.bytes);
  runtime.store.release(envelope.payload);
}

}  // namespace spillway::mpi
