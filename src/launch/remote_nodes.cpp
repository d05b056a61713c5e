#include "launch/remote_nodes.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/host_names.h"
#include "courier/sockets.h"
#include "launch/attach_socket.h"
#include "launch/node_ring.h"

namespace spillway::launch {
namespace {

constexpr uint64_t kSecond = 1000000000;
constexpr const char* kLoopback = "127.0.0.1";
constexpr uint64_t kPatienceWithFirstRankNs = 120 * kSecond;
constexpr uint64_t kPatienceWithNextRankNs = 30 * kSecond;
constexpr uint64_t kLateLossNs = 4 * kSecond;

Failure failure_of_lost_node(const std::string& host) {
  Failure failure;
  failure.what = "host " + host + " is lost: its node agent (spillway-node) does not answer any more";
  failure.cause = "the machine went down, its network was cut, or somebody killed the agent or stopped it (SIGSTOP)";
  failure.remedy = "see whether the host can be reached, and its kernel's messages (dmesg) for an out-of-memory kill";
  return failure;
}

Failure failure_of_courier(const std::string& host, const std::string& lost_host, const std::string& text) {
  Failure failure = failure_of_fatal(text, 0);
  failure.what = "the node agent of host " + host + " gave up: " + failure.what;
  if (lost_host.empty()) return failure;
  failure.what = "host " + lost_host + " is out of reach of host " + host + ": " + text;
  failure.cause = "the machine went down, or the network between the two is cut or does not let them connect";
  failure.remedy = "see whether each host reaches the other by the address above (a firewall may be in the way)";
  return failure;
}

}  // namespace

RemoteNodes::RemoteNodes(EventLoop& loop, const NodeOptions& options)
    : loop_(loop),
      options_(options),
      secret_(random_socket_name()),
      is_on_this_machine_(options.listen == kLoopback),
      ranks_(options.rank_count),
      patience_(kIntervalNs, base::now_ns()) {
  allow_descriptors(options.rank_count);  // a node may have one rank
  const std::string& address = options.listen;
  uint16_t port = 0;
  listener_ = base::Descriptor(courier::listen_on_any_port(address, port));
  if (!listener_) throw std::system_error(errno, std::generic_category(), "cannot listen at " + address);
  where_to_join_ = address + " " + std::to_string(port);
  loop_.watch(listener_.number(), EPOLLIN, [this] { take_connection(); });
}

void RemoteNodes::take_connection() {
  base::Descriptor socket = courier::accept_connection(listener_.number());
  if (!socket) {
    const std::string want = want_of_descriptors(errno);
    if (want.empty()) return;
    loop_.unwatch(listener_.number());  // it stays ready
    return job_->node_gave_up(base::host_name().data(), want);
  }
  courier::set_detection_by_data(socket.number(), true);
  Node& node = *nodes_.emplace_back(std::make_unique<Node>());
  node.connection = std::make_unique<ControlConnection>(
      loop_, std::move(socket), [this, &node](const ControlMessage& message) { take_message(node, message); },
      [this, &node] { lose(node); });
}

void RemoteNodes::take_message(Node& node, const ControlMessage& message) {
  if (message.kind == ControlKind::join) return take_join(node, message);
  if (!node.has_joined) return lose(node);
  switch (message.kind) {
    case ControlKind::cannot_serve:
      return job_->node_gave_up(node.host, message.text);
    case ControlKind::courier_failed: {
      const auto lost = static_cast<size_t>(message.number);
      const bool is_known = message.number >= 0 && lost < nodes_.size();
      // Both connections of a host that is lost end, in any order.
      if (is_known && nodes_[lost]->connection != nullptr && nodes_[lost]->connection->is_silent())
        return lose(*nodes_[lost]);
      return job_->node_in_trouble(
          failure_of_courier(node.host, is_known ? nodes_[lost]->host : std::string(), message.text));
    }
    case ControlKind::warning:
      return job_->warn(message.text);
    case ControlKind::stillness:
      return take_stillness(node, message);
    case ControlKind::report:
      node.report = message.text;
      node.has_reported = message.number != 0;
      return;
    default:
      take_rank_event(node, message);
  }
}

void RemoteNodes::take_stillness(const Node& node, const ControlMessage& message) {
  if (!stillness_vote_) return;
  const auto place = std::ranges::find_if(nodes_, [&](const auto& each) { return each.get() == &node; });
  stillness_vote_->take(static_cast<size_t>(place - nodes_.begin()), static_cast<uint32_t>(message.number),
                        Stillness::read(message.text));
  if (stillness_vote_->is_deadlock()) return job_->deadlocked(stillness_vote_->who_waits());
  if (const auto round = stillness_vote_->round_to_ask())
    send_to_all(ControlMessage{ControlKind::how_still, -1, static_cast<int32_t>(*round), false, ""});
}

void RemoteNodes::take_join(Node& node, const ControlMessage& message) {
  std::istringstream text(message.text);
  std::string secret;
  std::getline(text, secret);
  std::getline(text, node.host);
  if (secret != secret_ || are_together_) {
    send(&node, ControlMessage{ControlKind::refused, -1, 0, false, "it is not of this job, or too late"});
    return lose(node);
  }
  node.has_joined = true;
  node.connection->trust();
  node.courier_port = static_cast<uint16_t>(message.number);
  if (has_failed_) send(&node, ControlMessage{ControlKind::mark_failed, -1, 0, false, ""});
  if (is_finishing_) send(&node, ControlMessage{ControlKind::finish, -1, 1, false, ""});
}

void RemoteNodes::watch_parent(int rank, int pid) {
  if (!is_on_this_machine_) return;
  base::Descriptor& parent = ranks_[static_cast<size_t>(rank)].parent;
  parent = base::Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!parent) return;  // an old kernel, or it has ended
  loop_.watch(parent.number(), EPOLLIN, [this, rank, &parent] {
    job_->parent_died(rank);
    loop_.unwatch(parent.number());
    parent.close();
  });
}

void RemoteNodes::take_rank_event(Node& node, const ControlMessage& message) {
  const int rank = message.rank;
  if (rank < 0 || static_cast<size_t>(rank) >= ranks_.size()) return;
  Rank& entry = ranks_[static_cast<size_t>(rank)];
  entry.is_critical = message.is_critical;
  switch (message.kind) {
    case ControlKind::parent_came:
      if (entry.node != nullptr) return;
      entry.node = &node;
      node.ranks.push_back(rank);
      job_->parent_came(rank, message.number);
      watch_parent(rank, message.number);
      patience_.start_anew(base::now_ns());
      if (++ranks_come_ == ranks_.size()) bring_together();
      return;
    case ControlKind::program_started:
      return job_->program_started(rank, message.number);
    case ControlKind::program_never_started:
      return job_->program_never_started(rank);
    case ControlKind::program_ended:
      return job_->program_ended(rank, message.number);
    case ControlKind::parent_lost:
      return job_->parent_lost(rank);
    case ControlKind::library_came:
      return job_->library_came(rank);
    case ControlKind::library_lost:
      return job_->library_lost(rank);
    case ControlKind::rank_finalized:
      return job_->rank_finalized(rank);
    case ControlKind::rank_left_finalize:
      return job_->rank_left_finalize(rank);
    case ControlKind::rank_gave_up:
      return job_->rank_gave_up(rank, message.text, message.number);
    default:
      return;
  }
}

std::optional<Failure> RemoteNodes::look_for_missing_ranks(uint64_t now_ns) {
  patience_.look(now_ns);
  const uint64_t patience_ns = ranks_come_ == 0 ? kPatienceWithFirstRankNs : kPatienceWithNextRankNs;
  if (are_together_ || patience_.waited_ns() < patience_ns) return std::nullopt;
  const auto missing =
      std::find_if(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.node == nullptr; });
  const size_t others = ranks_.size() - ranks_come_ - 1;
  Failure failure;
  failure.what = "rank " + std::to_string(missing - ranks_.begin());
  if (others != 0) failure.what += " and " + std::to_string(others) + " more";
  failure.what += " did not start within " + std::to_string(patience_ns / kSecond) + " s" +
                  (ranks_come_ == 0 ? "" : " after the last one that did");
  failure.cause = "the MPI launcher cannot reach a host, or cannot start a program there";
  failure.remedy =
      "start a program on each host as the launcher does (ssh without a password, or srun), and see that Spillway is "
      "there";
  failure.may_be_of_launcher = true;
  return failure;
}

// Nodes are numbered in the order of their first ranks.
void RemoteNodes::bring_together() {
  are_together_ = true;
  std::erase_if(nodes_, [](const auto& node) { return node->ranks.empty(); });
  for (const auto& node : nodes_) std::sort(node->ranks.begin(), node->ranks.end());
  std::sort(nodes_.begin(), nodes_.end(), [](const auto& a, const auto& b) { return a->ranks[0] < b->ranks[0]; });
  stillness_vote_.emplace(nodes_.size());
  std::vector<size_t> numbers(ranks_.size());
  std::string text = std::to_string(nodes_.size()) + "\n";
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const std::string address = nodes_[i]->connection != nullptr ? nodes_[i]->connection->peer_address() : "lost";
    text += address + " " + std::to_string(nodes_[i]->courier_port) + "\n";
    for (int rank : nodes_[i]->ranks) numbers[static_cast<size_t>(rank)] = i;
  }
  text += text_of_ring() + options_.selection.text() + "\n";
  for (size_t number : numbers) text += std::to_string(number) + " ";
  for (size_t i = 0; i < nodes_.size(); ++i)
    send(nodes_[i].get(), ControlMessage{ControlKind::nodes, -1, static_cast<int32_t>(i), false, text});
}

std::string RemoteNodes::text_of_ring() const {
  std::vector<NamedNode> named;
  named.reserve(nodes_.size());
  for (const auto& node : nodes_)
    named.push_back({node->host, node->connection != nullptr ? node->connection->peer_address() : ""});
  const NodeRing ring = ring_of(named, options_.ring);
  for (const std::string& host : ring.unknown)
    job_->warn("host " + host + " is in no rack: broadcasts pass it last. Name it in the file of --racks.");
  std::string text;
  for (uint32_t node : ring.nodes) text += std::to_string(node) + " ";
  return text;
}

// Of one that never joined nobody needs to hear.
void RemoteNodes::lose(Node& node) {
  if (node.connection != nullptr && node.connection->is_of_other_version() && host_of_other_version_.empty())
    host_of_other_version_ = node.connection->peer_address();
  node.connection.reset();
  look_after_release(base::now_ns());
  node.is_lost_late = since_release_ && since_release_->waited_ns() > kLateLossNs;
  const bool is_expected = !node.has_joined || is_finishing_;
  if (!is_expected) job_->node_lost(node.ranks, failure_of_lost_node(node.host));
}

void RemoteNodes::explain(Failure& failure) const {
  if (are_together_ || host_of_other_version_.empty()) return;
  failure.cause +=
      "; another version of Spillway, which this one does not understand, has connected from " + host_of_other_version_;
  failure.remedy = "install the same on all hosts, or in a directory that they share; else " + failure.remedy;
}

void RemoteNodes::finish(bool has_failed) {
  is_finishing_ = true;
  send_to_all(ControlMessage{ControlKind::finish, -1, has_failed ? 1 : 0, false, ""});
}

bool RemoteNodes::have_all_reported() const {
  return std::all_of(nodes_.begin(), nodes_.end(), [](const auto& node) {
    return node->connection == nullptr || !node->has_joined || node->has_reported;
  });
}

std::vector<std::string> RemoteNodes::silent_hosts() const {
  std::vector<std::string> found;
  for (const auto& node : nodes_)
    if (node->has_joined && !node->has_reported && (node->connection != nullptr || node->is_lost_late))
      found.push_back(node->host);
  return found;
}

std::vector<std::string> RemoteNodes::reports() const {
  std::vector<std::string> found;
  for (const auto& node : nodes_)
    if (!node->report.empty()) found.push_back(node->report);
  return found;
}

void RemoteNodes::send(Node* node, const ControlMessage& message) {
  if (node != nullptr && node->connection != nullptr) node->connection->send(message);
}

void RemoteNodes::send_to_all(const ControlMessage& message) {
  for (const auto& node : nodes_)
    if (node->has_joined) send(node.get(), message);
}

void RemoteNodes::tell_parent(int rank, node::MessageKind kind) {
  const ControlKind order = kind == node::MessageKind::kill ? ControlKind::kill_rank : ControlKind::release_rank;
  if (order == ControlKind::release_rank && !since_release_) since_release_.emplace(kIntervalNs, base::now_ns());
  send(ranks_[static_cast<size_t>(rank)].node, ControlMessage{order, rank, 0, false, ""});
}

void RemoteNodes::signal_parents(int number) {
  if (number == SIGTSTP) patience_.pause();
  if (number == SIGCONT) patience_.go_on(base::now_ns());
  send_to_all(ControlMessage{ControlKind::signal_parents, -1, number, false, ""});
}

void RemoteNodes::mark_failed() {
  has_failed_ = true;
  send_to_all(ControlMessage{ControlKind::mark_failed, -1, 0, false, ""});
}

void RemoteNodes::retire(int rank) {
  send(ranks_[static_cast<size_t>(rank)].node, ControlMessage{ControlKind::retire_rank, rank, 0, false, ""});
}

bool RemoteNodes::is_in_critical_section(int rank) const { return ranks_[static_cast<size_t>(rank)].is_critical; }

std::string RemoteNodes::host_of(int rank) const {
  const Node* node = ranks_[static_cast<size_t>(rank)].node;
  return node != nullptr ? node->host : "unknown";
}

}  // namespace spillway::launch
