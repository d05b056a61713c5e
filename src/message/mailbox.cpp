#include "message/mailbox.h"

#include <atomic>
#include <cstring>

#include "base/error.h"

namespace spillway::message {
namespace {
constexpr uint64_t kFlowControlPauseNs = 100000;
constexpr uint64_t kTagUnit =
    1ull << 32;  // the free list's head carries a counter above the index, against reuse between read and exchange

// Of a multicast's list of receivers, in the cell.
struct ListPlace {
  size_t begin;
  size_t bytes;  // of the list, or of the payload that it is
  bool is_payload;
};

ListPlace list_place(const Cell& multicast) {
  const size_t begin = are_data_inlined(multicast) ? multicast.bytes : 0;
  const size_t bytes = multicast.to * sizeof(uint32_t);
  if (begin + bytes <= node::kInlineBytes) return {begin, bytes, false};
  // Then it is `payload`, or, where that is the data's, a payload that the cell holds in their place.
  return are_data_inlined(multicast) ? ListPlace{begin, 0, true} : ListPlace{0, sizeof(Payload), true};
}

size_t inlined_bytes(const Cell& cell) {
  if (cell.kind != CellKind::multicast) return cell.payload.place == Place::none ? cell.bytes : 0;
  const ListPlace list = list_place(cell);
  return list.begin + list.bytes;
}

}  // namespace

bool are_data_inlined(const Cell& multicast) { return multicast.bytes <= node::kInlineBytes; }

void set_receivers(Cell& multicast, std::span<const uint32_t> receivers, MessageStore& store) {
  multicast.kind = CellKind::multicast;
  multicast.to = static_cast<uint32_t>(receivers.size());
  const ListPlace list = list_place(multicast);
  if (!list.is_payload) {
    memcpy(multicast.inlined + list.begin, receivers.data(), list.bytes);
    return;
  }
  const Payload stored = store.put(receivers.data(), receivers.size_bytes());
  if (are_data_inlined(multicast))
    multicast.payload = stored;
  else
    memcpy(multicast.inlined, &stored, sizeof stored);
}

std::vector<uint32_t> take_receivers(const Cell& multicast, MessageStore& store) {
  std::vector<uint32_t> receivers(multicast.to);
  const ListPlace list = list_place(multicast);
  if (!list.is_payload) {
    memcpy(receivers.data(), multicast.inlined + list.begin, list.bytes);
    return receivers;
  }
  Payload stored = multicast.payload;
  if (!are_data_inlined(multicast)) memcpy(&stored, multicast.inlined, sizeof stored);
  store.copy_out(stored, receivers.data(), receivers.size() * sizeof(uint32_t));
  store.release(stored);
  return receivers;
}

Mailbox::Mailbox(node::LocalRank& self)
    : self_(self), cells_(reinterpret_cast<Cell*>(self.segment().at(self.header().cells_offset))) {}

uint32_t Mailbox::take_free_cell() {
  auto& head = self_.header().free_cells;
  uint64_t seen = head;
  while (static_cast<uint32_t>(seen) != node::kNoIndex) {
    const uint32_t index = static_cast<uint32_t>(seen);
    const uint64_t next = (seen / kTagUnit + 1) * kTagUnit + std::atomic_ref(cell_at(index).next).load();
    if (head.compare_exchange_weak(seen, next)) return index;
  }
  auto& used = self_.header().used_cells;
  if (used < self_.header().cell_count) {
    const uint64_t index = used.fetch_add(1);
    if (index < self_.header().cell_count) return static_cast<uint32_t>(index);
  }
  return node::kNoIndex;
}

void Mailbox::free_cell(uint32_t index) {
  auto& head = self_.header().free_cells;
  uint64_t seen = head;
  do std::atomic_ref(cell_at(index).next).store(static_cast<uint32_t>(seen));
  while (!head.compare_exchange_weak(seen, (seen / kTagUnit + 1) * kTagUnit + index));
}

node::RankRecord& Mailbox::receiver_of(uint32_t to) {
  const node::RankPlace place = self_.place_of(to);
  return self_.is_local(place) ? self_.peer(place.index) : self_.segment().courier();
}

void Mailbox::push(uint32_t to, const Cell& cell) { put(receiver_of(to), cell); }

void Mailbox::push_to_courier(const Cell& cell) { put(self_.segment().courier(), cell); }

bool Mailbox::try_push(uint32_t to, const Cell& cell) { return try_put(receiver_of(to), cell); }

void Mailbox::put(node::RankRecord& receiver, const Cell& cell) {
  while (!try_put(receiver, cell)) self_.attend_and_sleep(self_.record().doorbell, kFlowControlPauseNs);
}

bool Mailbox::try_put(node::RankRecord& receiver, const Cell& cell) {
  const uint32_t index = take_free_cell();
  if (index == node::kNoIndex) {
    for (uint32_t i = 0; i < self_.rank_count(); ++i) node::LocalRank::ring(self_.peer(i));
    return false;
  }
  Cell& copy = cell_at(index);
  const size_t inlined = inlined_bytes(cell);
  SPILLWAY_CHECK(inlined <= node::kInlineBytes);
  memcpy(reinterpret_cast<std::byte*>(&copy) + sizeof copy.next,
         reinterpret_cast<const std::byte*>(&cell) + sizeof copy.next,
         offsetof(Cell, inlined) - sizeof copy.next + inlined);
  uint32_t below = receiver.mailbox_head;
  do copy.next = below;
  while (!receiver.mailbox_head.compare_exchange_weak(below, index));
  const uint64_t arrivals = receiver.arrivals.fetch_add(1) + 1;
  uint64_t wake_at = receiver.wake_at;
  // A synchronous send waits until it is matched. The messages that the receiver sleeps for besides may be those that
  // its sender sends only then. So does whoever calls one back. If `wake_at` has changed, the receiver will see the
  // cell before it sleeps.
  const bool is_awaited = (cell.kind == CellKind::message || cell.kind == CellKind::recall) && cell.token != 0;
  if (is_awaited && wake_at > arrivals && receiver.wake_at.compare_exchange_strong(wake_at, arrivals))
    wake_at = arrivals;
  if (wake_at != 0 && arrivals >= wake_at) self_.ring_any(receiver);
  return true;
}

uint32_t Mailbox::take_stack() {
  auto& head = self_.record().mailbox_head;
  if (head == node::kNoIndex) return node::kNoIndex;
  uint32_t newest = head.exchange(node::kNoIndex);
  uint32_t oldest = node::kNoIndex;
  while (newest != node::kNoIndex) {
    const uint32_t below = cell_at(newest).next;
    cell_at(newest).next = oldest;
    oldest = newest;
    newest = below;
  }
  return oldest;
}

}  // namespace spillway::message
