#include "mpi/point_to_point.h"

#include <cstdio>

#include "mpi/arguments.h"
#include "mpi/runtime.h"
#include "mpi/transfer.h"

namespace spillway::mpi {
namespace {

int as_engine_source(int source) { return source == MPI_ANY_SOURCE ? message::kAnySource : source; }
int as_engine_tag(int tag) { return tag == MPI_ANY_TAG ? message::kAnyTag : tag; }

Address address_of(const Communicator& comm, int destination, int tag) {
  return Address{comm.peers[static_cast<size_t>(destination)], comm.context(Traffic::point_to_point), comm.rank, tag};
}

void wait_for(Runtime& runtime, Request& request) {
  runtime.block_until(
      node::RankState::blocked_receive, [&] { return can_complete(runtime, request); }, [] { return uint64_t{1}; },
      [&](char* text, size_t size) { describe(request, text, size); });
  complete(runtime, request);
}

}  // namespace

void describe(const Request& request, char* text, size_t size) {
  if (request.kind == Request::Kind::collective) return request.operation->describe(text, size);
  const char* call = request.kind == Request::Kind::receive ? "a message from" : "the receive of a synchronous send by";
  char peer[32] = "any rank", tag[32] = "any tag";
  if (request.peer != MPI_ANY_SOURCE) snprintf(peer, sizeof peer, "rank %d", request.peer);
  if (request.tag != MPI_ANY_TAG) snprintf(tag, sizeof tag, "tag %d", request.tag);
  snprintf(text, size, "%s %s with %s (communicator of %d)", call, peer, tag, request.communicator->size);
}

void prepare_send(Request& request, const CommunicatorRef& comm, const TypedBuffer& buffer, int destination, int tag,
                  SendMode mode) {
  request.kind = Request::Kind::send;
  request.communicator = comm;
  request.buffer = buffer;
  request.peer = destination;
  request.tag = tag;
  request.mode = mode;
}

void prepare_receive(Request& request, const CommunicatorRef& comm, const TypedBuffer& buffer, int source, int tag) {
  request.kind = Request::Kind::receive;
  request.communicator = comm;
  request.buffer = buffer;
  request.peer = source;
  request.tag = tag;
}

void start(Runtime& runtime, Request& request) {
  request.is_active = true;
  if (request.kind == Request::Kind::collective) {
    request.is_complete = false;
    request.outcome = Outcome{};
    request.operation = request.begin();
    return;
  }
  request.is_complete = request.peer == MPI_PROC_NULL;
  request.outcome = request.is_complete && request.kind == Request::Kind::receive ? null_process_outcome() : Outcome{};
  request.token = 0;
  if (request.is_complete) return;
  const Communicator& comm = *request.communicator;
  if (request.kind == Request::Kind::send) {
    PackedStream packed(request.buffer);
    if (request.mode == SendMode::synchronous) request.token = runtime.new_token();
    send(runtime, address_of(comm, request.peer, request.tag), packed, request.token);
    return;
  }
  runtime.take_news();  // what has arrived comes before this receive
  request.posted.context = comm.context(Traffic::point_to_point);
  request.posted.source = as_engine_source(request.peer);
  request.posted.tag = as_engine_tag(request.tag);
  runtime.matching.post(&request.posted);
  if (request.posted.matched != nullptr)
    acknowledge(runtime, *request.posted.matched);
  else
    request.overwrite = overwrite_of(runtime, request.buffer, false);
}

bool can_complete(const Runtime& runtime, const Request& request) {
  if (!request.is_active || request.is_complete) return true;
  if (request.kind == Request::Kind::collective) return request.operation->can_finish();
  if (request.kind == Request::Kind::receive) return request.posted.matched != nullptr;
  return request.token == 0 || runtime.is_acknowledged(request.token);
}

void complete(Runtime& runtime, Request& request) {
  if (!request.is_active || request.is_complete) return;
  request.is_complete = true;
  if (request.kind == Request::Kind::collective) {
    request.outcome.error = request.operation->finish();
    request.operation.reset();
  }
  if (request.kind == Request::Kind::send) request.outcome.cancelled = runtime.take_recalled(request.token);
  if (request.kind != Request::Kind::receive) return;
  request.overwrite = {};
  request.outcome = deliver(runtime, *request.posted.matched, request.buffer);
  request.posted.matched.reset();
}

int send(Runtime& runtime, const CommunicatorRef& comm, const TypedBuffer& buffer, int destination, int tag,
         SendMode mode) {
  Request request;
  prepare_send(request, comm, buffer, destination, tag, mode);
  start(runtime, request);
  if (request.token != 0) wait_for(runtime, request);
  return MPI_SUCCESS;
}

int receive(Runtime& runtime, const CommunicatorRef& comm, const TypedBuffer& buffer, int source, int tag,
            MPI_Status* status) {
  Request request;
  prepare_receive(request, comm, buffer, source, tag);
  start(runtime, request);
  wait_for(runtime, request);
  set_status(status, request.outcome);
  return raise(comm->handle, request.outcome.error);
}

int send_receive(Runtime& runtime, const CommunicatorRef& comm, const TypedBuffer& out, int destination, int send_tag,
                 const TypedBuffer& in, int source, int receive_tag, MPI_Status* status) {
  Request request;
  prepare_receive(request, comm, in, source, receive_tag);
  send(runtime, comm, out, destination, send_tag, SendMode::buffered);
  start(runtime, request);
  wait_for(runtime, request);
  set_status(status, request.outcome);
  return raise(comm->handle, request.outcome.error);
}

void cancel(Runtime& runtime, Request& request) {
  if (request.kind == Request::Kind::collective || can_complete(runtime, request)) return;
  if (request.kind == Request::Kind::send)
    return runtime.recall(address_of(*request.communicator, request.peer, request.tag).to, request.token);
  runtime.take_news();
  if (!runtime.matching.withdraw(&request.posted)) return;
  request.is_complete = true;
  request.outcome = Outcome{};
  request.outcome.cancelled = true;
  request.overwrite = {};
  // Another thread may sleep for it.
  if (runtime.scheduler.sleeping_threads() != 0) node::LocalRank::ring(runtime.self.record());
}

void complete_orphans(Runtime& runtime) {
  auto& orphans = runtime.requests.orphans();
  if (orphans.empty()) return;
  runtime.take_news();
  for (size_t i = 0; i < orphans.size();) {
    if (!can_complete(runtime, *orphans[i])) {
      ++i;
      continue;
    }
    const std::unique_ptr<Request> ready = std::move(orphans[i]);
    orphans[i] = std::move(orphans.back());
    orphans.pop_back();
    complete(runtime, *ready);  // may sleep: other threads complete orphans meanwhile
    i = 0;
  }
}

}  // namespace spillway::mpi
