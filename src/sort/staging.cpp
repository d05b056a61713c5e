#include "sort/staging.h"

#include <mpi.h>
#include <spillway/pgas.h>

#include <algorithm>
#include <cstddef>

#include "sort/failure.h"
#include "storage/spill_file.h"

namespace spillway::sort {
namespace {

constexpr size_t kCounter = 0;
constexpr size_t kBell = 1;

}  // namespace

Staging::Staging(const std::vector<int>& sorters, uint64_t slots, uint64_t slot_bytes)
    : words_(static_cast<uint64_t*>(pgas_calloc(2 + slots, sizeof(uint64_t)))),
      memory_(static_cast<char*>(pgas_align(storage::kBlockBytes, slots * slot_bytes))),
      places_(in_turn(sorters), slots),
      slot_bytes_(slot_bytes) {
  const std::vector<int>& turns = places_.sorters();
  turn_ = static_cast<uint64_t>(std::find(turns.begin(), turns.end(), pgas_my_pe()) - turns.begin());
  for (int pe = 0; pe < pgas_n_pes(); ++pe) is_all_direct_ &= pgas_ptr(words_, pe) != nullptr;
}

// A node is known by its first PE.
std::vector<int> Staging::in_turn(const std::vector<int>& sorters) const {
  if (words_ == nullptr || memory_ == nullptr)
    throw Failure("no room for staging buffers in symmetric memory", "give each process more (--memory)");
  int own = 0;
  while (pgas_ptr(words_, own) == nullptr) ++own;
  std::vector<int> of_pes(static_cast<size_t>(pgas_n_pes()));
  MPI_Allgather(&own, 1, MPI_INT, of_pes.data(), 1, MPI_INT, MPI_COMM_WORLD);
  std::vector<int> nodes;
  for (const int sorter : sorters) nodes.push_back(of_pes[static_cast<size_t>(sorter)]);
  return nodes_in_turn(sorters, nodes);
}

Staging::~Staging() {
  pgas_free(memory_);
  pgas_free(words_);
}

uint64_t Staging::take_block() { return pgas_uint64_atomic_fetch_add(words_ + kCounter, 1, kCounterPe); }

uint64_t Staging::taken_blocks() const { return pgas_uint64_atomic_fetch(words_ + kCounter, kCounterPe); }

Staging::Claim Staging::claim(const Place& place) {
  if (place.lap == 0) return Claim::free;  // of these each block is the only one
  const uint64_t full = SlotState::full(place.lap - 1);
  const uint64_t waits = SlotState::waited_for(place.lap - 1, pgas_my_pe());
  const uint64_t before = pgas_uint64_atomic_compare_swap(status(place.slot), full, waits, place.sorter);
  return SlotState::claim(before, place.lap, pgas_my_pe());
}

char* Staging::direct(const Place& place) const {
  return static_cast<char*>(pgas_ptr(memory_ + place.slot * slot_bytes_, place.sorter));
}

void Staging::say_delivered(const Place& place) {
  pgas_uint64_atomic_set(status(place.slot), SlotState::full(place.lap), place.sorter);
  if (is_all_direct_) ring(place.sorter);  // others look for themselves, and to them it would be one round trip more
}

uint64_t Staging::deliver(const Place& place, const char* data, uint64_t bytes) {
  return pgas_putmem_signal_begin(memory_ + place.slot * slot_bytes_, data, bytes, status(place.slot),
                                  SlotState::full(place.lap), PGAS_SIGNAL_SET, place.sorter);
}

bool Staging::has_been_delivered(uint64_t delivery) { return pgas_put_is_complete(delivery) != 0; }

const char* Staging::arrived(uint64_t index) const {
  const uint64_t slot = index % places_.slots();
  const bool has_arrived = SlotState::has_arrived(pgas_signal_fetch(status(slot)), index / places_.slots());
  return has_arrived ? memory_ + slot * slot_bytes_ : nullptr;
}

std::optional<int> Staging::release(uint64_t index) {
  const uint64_t empty = SlotState::empty(index / places_.slots() + 1);
  const uint64_t before = pgas_uint64_atomic_swap(status(index % places_.slots()), empty, pgas_my_pe());
  return SlotState::waiter(before);
}

// A look that finds nothing gives time to MPI.
void Staging::let_others_in() { pgas_uint64_test(words_ + kBell, PGAS_CMP_EQ, UINT64_MAX); }

uint64_t Staging::rings() const { return pgas_signal_fetch(words_ + kBell); }

void Staging::ring(int pe) { pgas_uint64_atomic_inc(words_ + kBell, pe); }

void Staging::wait_for_ring(uint64_t rings) { pgas_uint64_wait_until(words_ + kBell, PGAS_CMP_NE, rings); }

}  // namespace spillway::sort
