#include "mpi/matched_probe.h"

#include <cstdint>
#include <type_traits>
#include <unordered_map>

#include "mpi/point_to_point.h"
#include "mpi/runtime.h"
#include "mpi/transfer.h"

namespace spillway::mpi {
namespace {

struct TakenMessage {
  std::unique_ptr<message::Envelope> envelope;
  CommunicatorRef communicator;
};

// By the number that stands in the program's MPI_Message.
std::unordered_map<uint64_t, TakenMessage>& taken_messages() {
  static std::unordered_map<uint64_t, TakenMessage> messages;
  return messages;
}

// A handle that the MPI library has not given out: an address of our own, or a number from a range that MPICH uses for
// no kind of object.
template <typename Handle>
Handle new_message_handle() {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<Handle>(new uint64_t(0));
  } else {
    static uint32_t count = 0;
    return static_cast<Handle>(0x5d000000u | (++count & 0xffffffu));
  }
}

template <typename Handle>
void free_message_handle(Handle message) {
  if constexpr (std::is_pointer_v<Handle>) delete reinterpret_cast<uint64_t*>(message);
}

Outcome outcome_of(const message::Envelope& envelope) {
  Outcome outcome;
  outcome.source = envelope.source;
  outcome.tag = envelope.tag;
  outcome.bytes = envelope.bytes;
  return outcome;
}

const message::Envelope* find_message(Runtime& runtime, const Communicator& comm, int source, int tag) {
  return runtime.matching.probe(comm.context(Traffic::point_to_point),
                                source == MPI_ANY_SOURCE ? message::kAnySource : source,
                                tag == MPI_ANY_TAG ? message::kAnyTag : tag);
}

// Another thread may take the message that has come, while this one waits for the slot: then it waits for the next.
const message::Envelope& wait_for_message(Runtime& runtime, const CommunicatorRef& comm, int source, int tag) {
  Request wanted;
  prepare_receive(wanted, comm, TypedBuffer{}, source, tag);
  for (;;) {
    runtime.block_until(
        node::RankState::blocked_receive, [&] { return find_message(runtime, *comm, source, tag) != nullptr; },
        [] { return uint64_t{1}; }, [&](char* text, size_t size) { describe(wanted, text, size); });
    if (const message::Envelope* found = find_message(runtime, *comm, source, tag); found != nullptr) return *found;
  }
}

void take_out(Runtime& runtime, const CommunicatorRef& comm, int source, int tag, MPI_Message* message,
              MPI_Status* status) {
  const message::Envelope* found = find_message(runtime, *comm, source, tag);
  auto envelope = runtime.matching.extract(found->context, found->source, found->tag);
  acknowledge(runtime, *envelope);
  set_status(status, outcome_of(*envelope));
  *message = new_message_handle<MPI_Message>();
  taken_messages()[handle_value(*message)] = TakenMessage{std::move(envelope), comm};
}

}  // namespace

int probe(Runtime& runtime, const CommunicatorRef& comm, int source, int tag, MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    set_status(status, null_process_outcome());
    return MPI_SUCCESS;
  }
  set_status(status, outcome_of(wait_for_message(runtime, comm, source, tag)));
  return MPI_SUCCESS;
}

int probe_now(Runtime& runtime, const CommunicatorRef& comm, int source, int tag, int* flag, MPI_Status* status) {
  *flag = 1;
  if (source == MPI_PROC_NULL) {
    set_status(status, null_process_outcome());
    return MPI_SUCCESS;
  }
  runtime.take_news();
  const message::Envelope* found = find_message(runtime, *comm, source, tag);
  if (found != nullptr) {
    set_status(status, outcome_of(*found));
  } else {
    *flag = 0;
    runtime.after_failed_test();
  }
  return MPI_SUCCESS;
}

int matched_probe(Runtime& runtime, const CommunicatorRef& comm, int source, int tag, MPI_Message* message,
                  MPI_Status* status) {
  if (source == MPI_PROC_NULL) {
    *message = MPI_MESSAGE_NO_PROC;
    set_status(status, null_process_outcome());
    return MPI_SUCCESS;
  }
  wait_for_message(runtime, comm, source, tag);
  take_out(runtime, comm, source, tag, message, status);
  return MPI_SUCCESS;
}

int matched_probe_now(Runtime& runtime, const CommunicatorRef& comm, int source, int tag, int* flag,
                      MPI_Message* message, MPI_Status* status) {
  *flag = 1;
  if (source == MPI_PROC_NULL) return matched_probe(runtime, comm, source, tag, message, status);
  runtime.take_news();
  if (find_message(runtime, *comm, source, tag) != nullptr) {
    take_out(runtime, comm, source, tag, message, status);
  } else {
    *flag = 0;
    runtime.after_failed_test();
  }
  return MPI_SUCCESS;
}

bool take_message(Runtime& runtime, MPI_Message* message, const TypedBuffer& buffer, Request& request) {
  if (*message == MPI_MESSAGE_NO_PROC) {
    prepare_receive(request, runtime.communicators.find(MPI_COMM_SELF), buffer, MPI_PROC_NULL, 0);
    start(runtime, request);
  } else {
    const auto found = taken_messages().find(handle_value(*message));
    if (found == taken_messages().end()) return false;
    TakenMessage taken = std::move(found->second);
    taken_messages().erase(found);
    free_message_handle(*message);
    prepare_receive(request, taken.communicator, buffer, taken.envelope->source, taken.envelope->tag);
    request.posted.matched = std::move(taken.envelope);
  }
  *message = MPI_MESSAGE_NULL;
  return true;
}

}  // namespace spillway::mpi
