#include "launch/local_node.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/host_names.h"
#include "launch/message_spill_file.h"
#include "node/scheduler.h"

namespace spillway::launch {
LocalNode::LocalNode(EventLoop& loop, const NodeOptions& options)
    : loop_(loop),
      options_(options),
      host_(base::host_name().data()),
      courier_bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  allow_descriptors(options.rank_count);
}

bool LocalNode::listen(const std::string& name) {
  listener_ = listen_on(name);
  if (!listener_) return false;
  loop_.watch(listener_.number(), EPOLLIN, [this] { take_connection(); });
  return true;
}

void LocalNode::set_up(uint32_t node_index, uint32_t node_count, std::vector<node::RankPlace> places) {
  node::SegmentConfig config;
  config.rank_count = static_cast<uint32_t>(std::count_if(
      places.begin(), places.end(), [&](const node::RankPlace& place) { return place.node == node_index; }));
  config.slot_count = std::min(options_.slot_count, config.rank_count);
  config.budget_bytes = options_.budget_bytes;
  config.cpu_count = options_.cpu_count;
  config.strategy = options_.strategy;
  config.keeps_checksums = options_.keeps_checksums;
  config.node_index = node_index;
  config.node_count = node_count;
  config.places = std::move(places);
  need_descriptors(config.rank_count, node_count - 1);
  message_spills_ = make_message_spill_files(options_.spill_directories);
  segment_.emplace(node::Segment::create(config));
  slot_lender_.emplace(*segment_);
  if (has_failed_) mark_failed();
  for (auto& [socket, connection] : connections_)
    if (connection.role == node::Role::rank_library && connection.rank >= 0) welcome(connection);
}

node::Segment LocalNode::map_segment_again() const {
  std::string problem;
  node::Segment again = node::Segment::attach(fcntl(segment_->descriptor(), F_DUPFD_CLOEXEC, 0), problem);
  if (!again) base::fatal("%s", problem.c_str());
  return again;
}

std::vector<int> LocalNode::duplicate_message_spills() const {
  std::vector<int> copies;
  for (const base::Descriptor& file : message_spills_) copies.push_back(fcntl(file.number(), F_DUPFD_CLOEXEC, 0));
  return copies;
}

uint64_t LocalNode::interval_ns() const { return is_set_up() ? SlotLender::kIntervalNs : 0; }

void LocalNode::pass_time(uint64_t now_ns, bool may_ranks_go_on) {
  if (!is_set_up()) return;
  std::erase_if(to_retire_, [&](int rank) { return node::try_to_retire_rank(*segment_, index_of(rank)); });
  if (may_ranks_go_on) slot_lender_->look(now_ns);
}

void LocalNode::take_connection() {
  Peer peer = accept_peer(listener_.number());
  if (!peer.socket) {
    const std::string want = want_of_descriptors(errno);
    if (want.empty()) return;
    loop_.unwatch(listener_.number());  // it stays ready; those that wait there end with the job
    return job_->node_gave_up(host_, want);
  }
  const int socket = peer.socket.number();
  loop_.watch(socket, EPOLLIN, [this, socket] { take_messages(socket); });
  Connection& connection = connections_[socket];
  connection.socket = std::move(peer.socket);
  connection.pid = peer.pid;
}

void LocalNode::take_messages(int socket) {
  for (;;) {
    const auto found = connections_.find(socket);
    if (found == connections_.end()) return;
    AttachMessage message;
    switch (receive_message(socket, message)) {
      case Received::nothing:
        return;
      case Received::closed:
        return lose(socket);
      case Received::foreign:
        send_message(socket,
                     make_message(MessageKind::refused,
                                  "the node agent is of another version of Spillway than this process; build and "
                                  "install all of it together"));
        return lose(socket);
      case Received::message:
        take_message(found->second, message);
    }
  }
}

void LocalNode::take_message(Connection& connection, const AttachMessage& message) {
  const auto kind = static_cast<MessageKind>(message.kind);
  if (kind == MessageKind::hello) return greet(connection, message);
  if (connection.rank < 0) return;
  switch (kind) {
    case MessageKind::started:
      return job_->program_started(connection.rank, message.pid);
    case MessageKind::exited:
      drain_library_of(connection.rank);  // what it said last comes before how it ended
      return job_->program_ended(connection.rank, message.wait_status);
    case MessageKind::fatal:
      if (connection.role == node::Role::rank_parent) job_->program_never_started(connection.rank);
      return job_->rank_gave_up(connection.rank, message.text, message.wait_status);
    case MessageKind::finalized:
      return job_->rank_finalized(connection.rank);
    case MessageKind::left_finalize:
      return job_->rank_left_finalize(connection.rank);
    case MessageKind::cannot_stop_threads:
      return warn_of_threads();
    default:
      return;
  }
}

void LocalNode::warn_of_threads() {
  if (std::exchange(has_warned_of_threads_, true)) return;
  job_->warn(
      "the threads of a rank cannot be stopped while its memory is unloaded (host " + host_ +
      ")\n"
      "  Cause:  the system does not let a process trace its children (ptrace), or a debugger has them already.\n"
      "  Effect: what a thread writes to large arrays while its rank is blocked in MPI can be lost, and ranks of "
      "which several threads\n          call MPI are not unloaded. Programs with one thread per rank are not "
      "affected.\n"
      "  Remedy: in a container, allow ptrace (--cap-add SYS_PTRACE); else run without the debugger.");
}

void LocalNode::greet(Connection& connection, const AttachMessage& hello) {
  const int rank = hello.world_rank;
  const int world_size = static_cast<int>(options_.rank_count);
  const auto refuse = [&](const std::string& why) {
    send_message(connection.socket.number(), make_message(MessageKind::refused, why));
  };
  if (rank < 0 || rank >= world_size)
    return refuse("the MPI launcher does not say which rank this process is (of " + std::to_string(world_size) + ")");
  connection.role = static_cast<node::Role>(hello.role);
  if (connection.role == node::Role::rank_parent) {
    connection.rank = rank;
    parents_[rank] = connection.socket.number();
    return job_->parent_came(rank, hello.pid);
  }
  if (hello.world_size != world_size)
    return refuse("MPI_COMM_WORLD has " + std::to_string(hello.world_size) + " ranks, but this job has " +
                  std::to_string(world_size) + ": a program that starts more of them is not supported");
  connection.rank = rank;
  if (is_set_up()) welcome(connection);
  segments_left_.note(hello.pid);
}

void LocalNode::welcome(Connection& connection) {
  if (!is_here(connection.rank)) {
    send_message(connection.socket.number(), make_message(MessageKind::refused, "it is a rank of another node"));
    return;
  }
  std::vector<int> descriptors = {segment_->descriptor(), courier_bell_.number()};
  for (const base::Descriptor& file : message_spills_) descriptors.push_back(file.number());
  send_message(connection.socket.number(), make_message(MessageKind::welcome, options_.spill_directories), descriptors);
  job_->library_came(connection.rank);
}

void LocalNode::drain_library_of(int rank) {
  std::vector<int> sockets;
  for (const auto& [socket, connection] : connections_)
    if (connection.rank == rank && connection.role == node::Role::rank_library) sockets.push_back(socket);
  for (int socket : sockets) take_messages(socket);
}

void LocalNode::lose(int socket) {
  const auto found = connections_.find(socket);
  loop_.unwatch(socket);
  const Connection connection = std::move(found->second);
  connections_.erase(found);
  if (connection.rank < 0) return;
  if (connection.role != node::Role::rank_parent) return job_->library_lost(connection.rank);
  parents_.erase(connection.rank);
  job_->parent_lost(connection.rank);
}

void LocalNode::close() {
  if (listener_) loop_.unwatch(listener_.number());
  listener_.close();
  for (const auto& [socket, connection] : connections_) loop_.unwatch(socket);
  connections_.clear();
  parents_.clear();
}

void LocalNode::remove_mpi_segments(bool has_failed, time_t since) {
  if (has_failed) segments_left_.note_orphans(since);
  segments_left_.remove();
}

bool LocalNode::is_here(int rank) const {
  return segment_->places()[static_cast<size_t>(rank)].node == segment_->header().node_index;
}

void LocalNode::tell_parent(int rank, node::MessageKind kind) {
  const auto parent = parents_.find(rank);
  if (parent != parents_.end()) send_message(parent->second, make_message(kind));
}

void LocalNode::kill_all() {
  for (const auto& [rank, socket] : parents_) {
    send_message(socket, make_message(MessageKind::kill));
    send_message(socket, make_message(MessageKind::release));
  }
}

void LocalNode::signal_parents(int number) {
  for (const auto& [rank, socket] : parents_) kill(connections_.at(socket).pid, number);
}

void LocalNode::mark_failed() {
  has_failed_ = true;
  if (is_set_up()) segment_->header().job_failed = 1;
}

void LocalNode::retire(int rank) {
  if (!node::try_to_retire_rank(*segment_, index_of(rank))) to_retire_.push_back(rank);
}

bool LocalNode::is_in_critical_section(int rank) const {
  return is_set_up() && is_here(rank) && segment_->header().critical_rank == index_of(rank);
}

std::string LocalNode::host_of(int /*rank*/) const { return host_; }

}  // namespace spillway::launch
