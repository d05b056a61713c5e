#include "courier/courier.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/system_calls.h"
#include "courier/branches.h"

namespace spillway::courier {
namespace {

// Envelopes in the courier's own memory: a few hundred bytes each.
constexpr uint64_t kMostQueued = 1 << 14;
constexpr uint64_t kMostTakenForStalled = 256;

// How soon delivery is tried again when there was no free cell: they come with ranks that take their mail, who do not
// ring for that.
constexpr int kStalledPauseMs = 1;

// The courier's own place in the segment, behind those of the ranks.
node::LocalRank place_in(node::Segment segment) {
  const uint32_t index = segment.header().rank_count;
  return {std::move(segment), index};
}

}  // namespace

Courier::Bell::Bell(Poller& poller, int descriptor) : descriptor_(descriptor) {
  poller.add(descriptor, EPOLLIN, *this);
}

void Courier::Bell::handle(uint32_t /*events*/) {
  uint64_t rings;
  [[maybe_unused]] const ssize_t bytes = read(descriptor_, &rings, sizeof rings);
}

Courier::Courier(node::Segment segment, const CourierConfig& config)
    : self_(place_in(std::move(segment))),
      ledger_(self_),
      store_(self_, ledger_, config.spill_descriptors.data(), config.directories),
      mailbox_(self_),
      library_(self_),
      hello_(make_hello(self_.header().node_index, config.secret)),
      nodes_(config.nodes),
      distance_(nodes_.size()),
      selection_(config.selection),
      listener_socket_(config.listener),
      stop_event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      bell_(poller_, config.bell),
      stop_bell_(poller_, stop_event_.number()),
      listener_(*this),
      outgoing_(nodes_.size()),
      has_connected_(nodes_.size()) {
  SPILLWAY_CHECK(nodes_.size() == self_.header().node_count && config.ring.size() == nodes_.size());
  const auto own = std::ranges::find(config.ring, hello_.node) - config.ring.begin();
  for (size_t i = 0; i < nodes_.size(); ++i)
    distance_[config.ring[(static_cast<size_t>(own) + i) % nodes_.size()]] = static_cast<uint32_t>(i);
  for (uint32_t node = 0; node < nodes_.size(); ++node)
    if (node != hello_.node)
      outgoing_[node] = std::make_unique<OutgoingLink>(node, nodes_[node], hello_, poller_, problems_);
  poller_.add(listener_socket_.number(), EPOLLIN, listener_);
}

void Courier::start() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the process's other threads
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Courier::stop() {
  if (!thread_.joinable()) return;
  is_stopping_ = true;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = base::kernel::write_bytes(stop_event_.number(), &one, sizeof one);
  thread_.join();
}

void Courier::run() {
  pthread_setname_np(pthread_self(), "courier");
  while (!is_stopping_) {
    take_mailbox();
    go_on_with_stalled();  // before others have the cells that are free now
    if (library_.has_ended()) tell_library_use(false);
    send();
    sleep();
    go_on_with_stalled();
    std::erase_if(incoming_, [](const auto& link) { return link->is_closed(); });
  }
  incoming_.clear();
  begun_.clear();
  outgoing_.clear();
  listener_socket_.close();
}

bool Courier::has_stalled() const {
  return std::ranges::any_of(incoming_, [](const auto& link) { return link->is_stalled(); });
}

uint64_t Courier::queued_messages() const {
  uint64_t count = 0;
  for (const auto& link : outgoing_)
    if (link != nullptr) count += link->queued_messages();
  return count;
}

OutgoingLink& Courier::link_to(uint32_t node) {
  SPILLWAY_CHECK(node < outgoing_.size() && outgoing_[node] != nullptr);
  return *outgoing_[node];
}

// While messages that have arrived wait for free cells, those in the mailbox may be all there are: two nodes could wait
// for each other. Then it takes some, however many messages it has already; not all, as ranks that wait for free cells
// fill it again at once.
void Courier::take_mailbox() {
  const uint64_t queued = queued_messages();
  const uint64_t most = std::max(kMostQueued - std::min(queued, kMostQueued), has_stalled() ? kMostTakenForStalled : 0);
  added_ = 0;  // a multicast becomes several
  while (added_ < most && mailbox_.take_some(1, [this](const message::Cell& cell) { take(cell); }) != 0) ++taken_;
}

void Courier::take(const message::Cell& cell) {
  if (cell.kind == message::CellKind::in_library) {
    if (library_.begin()) tell_library_use(true);
    return;
  }
  if (cell.kind == message::CellKind::multicast) return take_multicast(cell);
  std::shared_ptr<HeldPayload> payload;
  if (cell.payload.place != message::Place::none) payload = std::make_shared<HeldPayload>(store_, cell.payload);
  const MessageRoute route{
      ++last_number_, routing::Broadcast::flat, 0, static_cast<uint32_t>(parts_of(cell.bytes)), {cell.to}};
  add(self_.place_of(cell.to).node, cell, route, std::move(payload));
}

void Courier::count_sent(const message::Cell& cell, const MessageRoute& route) {
  sent_frames_ += route.end_part - route.first_part;
  const uint64_t begin = route.first_part * kPartBytes;
  node::RankStatistics& statistics = self_.record().statistics;
  statistics.sent_messages.store(statistics.sent_messages + 1);
  statistics.sent_bytes.store(statistics.sent_bytes + std::min(route.end_part * kPartBytes, cell.bytes) - begin);
}

void Courier::add(uint32_t node, const message::Cell& cell, MessageRoute route, std::shared_ptr<HeldPayload> payload) {
  count_sent(cell, route);
  link_to(node).add(cell.sender, OutgoingMessage(cell, std::move(route), std::move(payload)));
  ++added_;
}

void Courier::take_multicast(const message::Cell& cell) {
  std::vector<uint32_t> receivers = message::take_receivers(cell, store_);
  std::shared_ptr<HeldPayload> payload;
  if (!message::are_data_inlined(cell)) payload = std::make_shared<HeldPayload>(store_, cell.payload);
  std::ranges::stable_sort(receivers, {}, [&](uint32_t to) { return distance_[self_.place_of(to).node]; });
  broadcast(cell, receivers, payload);
}

// The receivers are in the order of the ring.
void Courier::broadcast(const message::Cell& cell, const std::vector<uint32_t>& receivers,
                        const std::shared_ptr<HeldPayload>& payload) {
  const std::vector<NodeReceivers> nodes = by_node(self_, receivers);
  const auto count = static_cast<uint32_t>(nodes.size()) + 1;
  const routing::Broadcast algorithm =
      receivers.size() > kMostReceivers ? routing::Broadcast::flat : selection_.choose(count, cell.bytes);
  MessageRoute route{++last_number_, algorithm, 0, 0, {}};
  for (const routing::Route& way : routing::routes(algorithm, count, parts_of(cell.bytes))) {
    route.first_part = static_cast<uint32_t>(way.first_part);
    route.end_part = static_cast<uint32_t>(way.end_part);
    route.receivers.clear();
    for (const uint32_t node : way.nodes) {
      if (node == 0) continue;
      const auto ranks = nodes[node - 1].ranks;
      route.receivers.insert(route.receivers.end(), ranks.begin(), ranks.end());
    }
    for (Onward& onward : branches_of(self_, route)) add(onward.node, cell, std::move(onward.route), payload);
  }
}

std::vector<PassedOn> Courier::pass_on(const message::Cell& cell, const MessageRoute& route,
                                       std::shared_ptr<HeldPayload> payload, PartsHere parts_here) {
  std::vector<PassedOn> passed_on;
  for (Onward& onward : branches_of(self_, route)) {
    count_sent(cell, onward.route);
    OutgoingLink& link = link_to(onward.node);
    passed_on.push_back(
        {onward.node, link.add_passed_on(OutgoingMessage(cell, std::move(onward.route), payload, parts_here))});
  }
  return passed_on;
}

LinkFigures Courier::figures_of_link(uint32_t node) const {
  return outgoing_[node] != nullptr ? outgoing_[node]->figures() : LinkFigures{};
}

Traffic Courier::traffic() const {
  const bool has_mail = self_.record().arrivals != taken_;
  return {!has_mail && !is_stalled_, sent_frames_, received_frames_};
}

void Courier::tell_library_use(bool is_in_use) {
  for (const auto& link : outgoing_)
    if (link != nullptr) link->tell_library_use(is_in_use);
}

void Courier::send() {
  for (const auto& link : outgoing_)
    if (link != nullptr) link->send_on();
}

void Courier::sleep() {
  std::atomic<uint64_t>& wake_at = self_.record().wake_at;
  int timeout_ms = library_.timeout_ms();
  const bool is_stalled = has_stalled();
  is_stalled_ = is_stalled;
  if (is_stalled || queued_messages() < kMostQueued) {
    // As Mailbox::try_put has it: either it sees this, or its arrival is seen here.
    wake_at = taken_ + 1;
    if (self_.record().arrivals > taken_ || mailbox_.has_any()) timeout_ms = 0;
  }
  if (is_stalled && (timeout_ms < 0 || timeout_ms > kStalledPauseMs)) timeout_ms = kStalledPauseMs;
  poller_.wait(timeout_ms);
  wake_at = 0;
}

void Courier::go_on_with_stalled() {
  for (const auto& link : incoming_) link->try_again();
}

void Courier::accept_connections(uint32_t /*events*/) {
  base::Descriptor connection = accept_connection(listener_socket_.number());
  if (connection) {
    IncomingOwner& owner = *this;
    incoming_.push_back(std::make_unique<IncomingLink>(
        std::move(connection), hello_, IncomingMessages(self_, store_, mailbox_, begun_, *this), poller_, owner));
    return;
  }
  // Other errors are those of the connection that was about to come.
  if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) return;
  problems_.report(-1, std::string("the courier cannot take a connection of another node: ") + strerror(errno));
  listener_socket_.close();
}

bool Courier::node_connected(uint32_t node) {
  if (node >= nodes_.size() || node == hello_.node || has_connected_[node]) return false;
  has_connected_[node] = true;
  link_to(node).connect();
  link_to(node).peer_is_watched();
  return true;
}

void Courier::node_lost(uint32_t node, const char* why) {
  problems_.report(static_cast<int>(node),
                   "lost the connection from node " + std::to_string(node) + " (" + nodes_[node].host + "): " + why);
}

}  // namespace spillway::courier
