#include "mpi/static_data.h"

#include "base/clock.h"
#include "library/program_objects.h"
#include "memory/page_map.h"
#include "memory/static_variables.h"

namespace spillway::mpi {
namespace {

constexpr uint64_t kSettlingNs = 10000000000;  // of computing: initialisation is over by then, mostly
constexpr uint64_t kMostCost = 50;             // looking takes at most this part of the time

struct Adoption {
  memory::Arena& arena;
  memory::StaticCharge charge;
};

void adopt_variable(const memory::StaticVariable& variable, void* context) {
  auto& adoption = *static_cast<Adoption*>(context);
  const auto charge = adoption.arena.adopt(variable.address, variable.bytes, variable.beginning);
  adoption.charge.managed_bytes += charge.managed_bytes;
  adoption.charge.resident_bytes += charge.resident_bytes;
}

}  // namespace

void StaticData::adopt(uint64_t minimum_bytes) {
  if (!memory::PageMap::is_readable()) return;  // what is never unloaded needs no map, and may do without it
  Adoption adoption{arena_, {}};
  for (const library::ProgramObject& object : library::program_objects())
    memory::find_static_variables(object.loaded, object.file, minimum_bytes, adopt_variable, &adoption);
  ledger_.adopt(adoption.charge.resident_bytes, adoption.charge.managed_bytes);
}

void StaticData::update_charge() {
  if (!is_settled_ && self_.record().statistics.compute_ns >= kSettlingNs) {
    arena_.uncount_untouched(~uint64_t{0});
    is_settled_ = true;
  }
  const uint64_t now = base::now_ns();
  if (now < next_look_ns_) return;
  if (const uint64_t bytes = arena_.count_touched(); bytes != 0) ledger_.charge(bytes);
  const uint64_t end = base::now_ns();
  next_look_ns_ = end + kMostCost * (end - now);
}

}  // namespace spillway::mpi
