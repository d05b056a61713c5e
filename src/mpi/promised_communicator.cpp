#include "mpi/promised_communicator.h"

#include <cstdio>
#include <cstring>

#include "mpi/runtime.h"
#include "mpi/transfer.h"

namespace spillway::mpi {

PromisedCommunicator promise_communicator(Runtime& runtime, MPI_Comm handle, const CommunicatorRef& parent) {
  if (parent == nullptr) return PromisedCommunicator{};
  const PromisedCommunicator promised{handle, parent, parent->promised_numbers++};
  if (!parent->proposes()) return promised;
  const uint64_t number = runtime.communicators.propose_number();
  const auto tell = [&](const std::vector<uint32_t>& members) {
    for (uint32_t member : members)
      send_bytes(runtime, Address{member, parent->context(Traffic::numbering), 0, promised.order}, &number,
                 sizeof number);
  };
  tell(parent->local_group);
  if (parent->is_inter) tell(parent->peers);
  return promised;
}

void keep_promise(Runtime& runtime, const PromisedCommunicator& promised) {
  if (promised.handle == MPI_COMM_NULL) return;
  message::PostedReceive receive;
  receive.context = promised.parent->context(Traffic::numbering);
  receive.source = 0;
  receive.tag = promised.order;
  runtime.take_news();
  runtime.matching.post(&receive);
  runtime.block_until(
      node::RankState::blocked_collective, [&] { return receive.matched != nullptr; }, [] { return uint64_t{1}; },
      [](char* text, size_t size) { snprintf(text, size, "the number of a new communicator"); });
  uint64_t number = 0;
  deliver_bytes(runtime, *receive.matched, &number);
  runtime.communicators.enter(promised.handle, number);
}

void keep_promises(Runtime& runtime, std::vector<PromisedCommunicator> promised) {
  for (const PromisedCommunicator& each : promised) keep_promise(runtime, each);
}

}  // namespace spillway::mpi
