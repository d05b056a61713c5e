#include "collective/receives.h"

#include <algorithm>
#include <cstdio>

#include "mpi/runtime.h"
#include "mpi/transfer.h"

namespace spillway::collective {

Receives::Receives(Runtime& runtime, const Communicator& comm, const char* operation)
    : runtime_(runtime), comm_(comm), operation_(operation) {
  runtime_.take_news();
}

void Receives::expect(int rank) {
  message::PostedReceive& receive = receives_.emplace_back();
  receive.context = comm_.context(mpi::Traffic::collective);
  receive.source = rank;
  receive.tag = comm_.collective_tag;
  runtime_.matching.post(&receive);
}

void Receives::expect_all_but(int rank) {
  for (int i = 0; i < comm_.size; ++i)
    if (i != rank) expect(i);
}

uint64_t Receives::missing() const {
  return static_cast<uint64_t>(std::count_if(receives_.begin(), receives_.end(),
                                             [](const auto& receive) { return receive.matched == nullptr; }));
}

void Receives::describe(char* text, size_t size) const {
  const auto first =
      std::find_if(receives_.begin(), receives_.end(), [](const auto& receive) { return receive.matched == nullptr; });
  snprintf(text, size, "%s on a communicator of %d: %llu ranks have not come, rank %d first", operation_, comm_.size,
           static_cast<unsigned long long>(missing()), first == receives_.end() ? 0 : first->source);
}

void Receives::will_fill(const TypedBuffer& buffer) {
  mpi::Overwrite overwrite = mpi::overwrite_of(runtime_, buffer, true);
  if (overwrite) overwrites_.push_back(std::move(overwrite));
}

void Receives::will_fill(const std::function<TypedBuffer(int)>& part) {
  for (const auto& receive : receives_) will_fill(part(receive.source));
}

void Receives::wait() {
  runtime_.block_until(
      node::RankState::blocked_collective, [&] { return missing() == 0; }, [&] { return missing(); },
      [&](char* text, size_t size) { describe(text, size); });
  begin_to_fill();
}

int Receives::deliver_to(size_t i, const TypedBuffer& buffer) {
  const mpi::Outcome outcome = mpi::deliver(runtime_, *receives_[i].matched, buffer);
  receives_[i].matched.reset();
  return outcome.error;
}

int Receives::deliver_all(const std::function<TypedBuffer(int)>& part, int error) {
  for (size_t i = 0; i < count(); ++i) {
    const int another = deliver_to(i, part(rank_of(i)));
    if (error == MPI_SUCCESS) error = another;
  }
  return error;
}

}  // namespace spillway::collective
