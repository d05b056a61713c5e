#include "collective/receives.h"

#include <algorithm>
#include <cstdio>

#include "mpi/runtime.h"
#include "mpi/transfer.h"

namespace spillway::collective {

Receives::Receives(const Call& call, const char* operation) : call_(call), operation_(operation) {
  call_.runtime().take_news();
}

void Receives::expect(int rank, Content content, Step step) {
  Expected& receive = receives_.emplace_back();
  receive.content = content;
  receive.context = call_.context();
  receive.source = rank;
  receive.tag = call_.tag(step);
  call_.runtime().matching.post(&receive);
}

void Receives::expect_all_but(int rank) {
  for (int i = 0; i < call_.comm().size; ++i)
    if (i != rank) expect(i);
}

uint64_t Receives::missing() const {
  const auto missing =
      std::count_if(receives_.begin(), receives_.end(), [](const auto& receive) { return receive.matched == nullptr; });
  return static_cast<uint64_t>(missing) + too_far_ahead();
}

uint64_t Receives::too_far_ahead() const {
  if (!drops_) return 0;
  const uint64_t unwanted = call_.runtime().matching.unwanted_count(call_.context());
  return unwanted > kMostUnwanted ? unwanted - kMostUnwanted : 0;
}

// Ranks that have not come first: whoever combines may wait for them, too.
void Receives::describe(char* text, size_t size) const {
  static constexpr struct {
    Content content;
    const char* missing;
  } kWords[] = {{Content::own, "%d ranks have not come, rank %d first"},
                {Content::of_node, "not all ranks have come of %d nodes, that of rank %d first"},
                {Content::combined, "%d ranks have not sent what they combine, rank %d first"}};
  for (const auto& words : kWords) {
    int ranks = 0, first = 0, last = -1;
    for (const Expected& receive : receives_) {
      if (receive.content != words.content || receive.matched != nullptr) continue;
      if (receive.source == last) continue;  // several messages of a rank are in a row
      last = receive.source;
      if (++ranks == 1) first = last;
    }
    if (ranks == 0) continue;
    const int begun = snprintf(text, size, "%s on a communicator of %d: ", operation_, call_.comm().size);
    snprintf(text + begun, size - static_cast<size_t>(begun), words.missing, ranks, first);
    return;
  }
  snprintf(text, size, "%s on a communicator of %d: %llu contributions to those before have not come", operation_,
           call_.comm().size, static_cast<unsigned long long>(kMostUnwanted + too_far_ahead()));
}

void Receives::will_fill(const TypedBuffer& buffer) {
  mpi::Overwrite overwrite = mpi::overwrite_of(call_.runtime(), buffer, true);
  if (overwrite) overwrites_.push_back(std::move(overwrite));
}

void Receives::will_fill(const std::function<TypedBuffer(int)>& part) {
  for (const auto& receive : receives_) will_fill(part(receive.source));
}

void Receives::wait() {
  call_.runtime().block_until(
      node::RankState::blocked_collective, [&] { return missing() == 0; }, [&] { return missing(); },
      [&](char* text, size_t size) { describe(text, size); });
  begin_to_fill();
}

int Receives::deliver_to(size_t i, const TypedBuffer& buffer) {
  const mpi::Outcome outcome = mpi::deliver(call_.runtime(), *receives_[i].matched, buffer);
  receives_[i].matched.reset();
  return outcome.error;
}

void Receives::keep_signals() {
  for (Expected& receive : receives_) call_.runtime().make_signal(receive);
}

void Receives::drop_from(size_t i) {
  drops_ = true;
  for (; count() > i; receives_.pop_back()) call_.runtime().drop(receives_.back());
}

int Receives::deliver_all(const std::function<TypedBuffer(int)>& part, int error) {
  for (size_t i = 0; i < count(); ++i) {
    const int another = deliver_to(i, part(rank_of(i)));
    if (error == MPI_SUCCESS) error = another;
  }
  return error;
}

}  // namespace spillway::collective
