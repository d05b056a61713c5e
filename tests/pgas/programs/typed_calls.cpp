// Each function and class of pgas.hpp, checked against what the data must be, on whichever nodes the PEs are.
#include <spillway/pgas.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "checked_program.h"

namespace pgas = spillway::pgas;
using pgas::Comparison;
using pgas::SignalOperation;

namespace {

struct Particle {
  double place[3];
  int64_t number;
};

enum class State : uint32_t { kEmpty, kFull, kTaken };
enum class Level : int64_t { kLow = -1, kMiddle, kHigh };

void check_arrays(CheckedProgram& program) {
  pgas::SymmetricArray<Particle> particles(10);
  program.equal(particles.size(), 10u);
  program.holds(std::all_of(particles.begin(), particles.end(), [](const Particle& each) { return each.number == 0; }));
  particles[3].number = 7;
  program.equal(particles.span()[3].number, 7);
  program.holds(particles.data() + 10 == particles.end());

  // Memory goes with the object, and is free again afterwards.
  Particle* const place = particles.data();
  pgas::SymmetricArray<Particle> moved(std::move(particles));
  program.holds(particles.data() == nullptr && particles.size() == 0 && moved.data() == place);
  moved = pgas::SymmetricArray<Particle>(1);
  program.holds(moved.size() == 1 && moved.data() != place);
  program.holds(pgas::SymmetricArray<Particle>(10).data() == place);
  program.holds(pgas::SymmetricArray<int>().data() == nullptr);
  program.holds(pgas::SymmetricArray<int>(0).data() == nullptr);

  struct alignas(256) Wide {
    char bytes[256];
  };
  const pgas::SymmetricArray<Wide> wide(2);
  program.equal(reinterpret_cast<uintptr_t>(wide.data()) % 256, 0u);

  for (const size_t too_many : {size_t{1} << 40, SIZE_MAX / 2}) {
    bool is_refused = false;
    try {
      pgas::SymmetricArray<double> none(too_many);
    } catch (const std::length_error& error) {
      is_refused = std::strstr(error.what(), "Remedy: set PGAS_SYMMETRIC_SIZE to more") != nullptr;
    }
    program.holds(is_refused);
  }
}

void check_copies(CheckedProgram& program) {
  const pgas::SymmetricArray<Particle> particles(4);
  std::array<Particle, 2> own{};
  for (int i = 0; i < 2; ++i) own[static_cast<size_t>(i)] = {{1.5, 2.5, 0.5 + program.rank()}, 10 * program.rank() + i};
  pgas::put(particles.data(), own, program.right());
  pgas::put_nbi(particles.data() + 2, {own.data(), 1}, program.right());
  pgas::put(particles.data() + 3, own[1], program.right());
  pgas::barrier_all();
  const int left = program.left();
  program.equal(particles[0].number, 10 * left);
  program.equal(particles[1].number, 10 * left + 1);
  program.equal(particles[2].place[2], 0.5 + left);
  program.equal(particles[3].number, 10 * left + 1);
  std::array<Particle, 2> got{};
  pgas::get({got.data(), 1}, particles.data() + 1, program.right());
  pgas::get_nbi({got.data() + 1, 1}, particles.data() + 2, program.right());
  pgas::quiet();
  program.equal(got[0].number, 10 * program.rank() + 1);
  program.equal(got[1].number, 10 * program.rank());
  program.equal(pgas::get(particles.data() + 3, program.right()).number, 10 * program.rank() + 1);
  pgas::barrier_all();
  if (Particle* const of_right = pgas::direct(particles.data(), program.right()); of_right != nullptr)
    program.equal(of_right->number, 10 * program.rank());
  program.holds(pgas::direct(particles.data(), program.rank()) == particles.data());
  pgas::sync_all();
}

void check_signals(CheckedProgram& program) {
  const pgas::SymmetricArray<int> data(500);
  const pgas::SymmetricArray<uint64_t> signal(1);
  for (int round = 1; round <= 9; ++round) {
    std::vector<int> own = patterned(program.rank(), round, data.size());
    const auto number = static_cast<uint64_t>(round);
    if (round % 3 == 0) {
      const uint64_t put =
          pgas::put_signal_begin(data.data(), own, signal.data(), number, SignalOperation::kSet, program.right());
      while (!pgas::put_is_complete(put)) {
      }
      std::ranges::fill(own, -1);
    } else if (round % 3 == 1) {
      pgas::put_signal(data.data(), own, signal.data(), number, SignalOperation::kSet, program.right());
    } else {
      pgas::put_signal_nbi(data.data(), own, signal.data(), 1, SignalOperation::kAdd, program.right());
    }
    program.equal(pgas::signal_wait_until(signal.data(), Comparison::kGreaterOrEqual, number), number);
    program.holds(std::ranges::equal(data, patterned(program.left(), round, data.size())));
    program.equal(pgas::signal_fetch(signal.data()), number);
    pgas::barrier_all();
  }
}

template <typename T>
void check_numbers(CheckedProgram& program) {
  const pgas::SymmetricArray<T> number(1);
  T* const place = number.data();
  const int pe = program.right();
  pgas::atomic_set(place, static_cast<T>(-3), pe);
  program.equal(pgas::atomic_fetch(place, pe), static_cast<T>(-3));
  program.equal(pgas::atomic_swap(place, 5, pe), static_cast<T>(-3));
  program.equal(pgas::atomic_compare_swap(place, 4, 9, pe), T{5});
  program.equal(pgas::atomic_compare_swap(place, 5, 9, pe), T{5});
  program.equal(pgas::atomic_fetch_add(place, 3, pe), T{9});
  program.equal(pgas::atomic_fetch_and(place, 6, pe), T{12});
  program.equal(pgas::atomic_fetch_or(place, 3, pe), T{4});
  program.equal(pgas::atomic_fetch_xor(place, 1, pe), T{7});
  pgas::fence();
  pgas::barrier_all();
  program.equal(number[0], T{6});
  program.holds(pgas::test(place, Comparison::kEqual, 6) && !pgas::test(place, Comparison::kNotEqual, 6));
  program.holds(pgas::test(place, Comparison::kLess, 7) && !pgas::test(place, Comparison::kGreater, 6));
  program.holds(pgas::test(place, Comparison::kLessOrEqual, 6));
  number[0] = static_cast<T>(-1);  // the largest number where there is no sign
  program.equal(pgas::test(place, Comparison::kLess, 1), std::is_signed_v<T>);
  number[0] = 0;
  pgas::barrier_all();
  pgas::atomic_fetch_add(place, 2, pe);
  pgas::wait_until(place, Comparison::kGreater, 1);
  program.equal(number[0], T{2});
  pgas::barrier_all();
}

// A state goes from PE to PE by compare and swap, as it does in the paper's buffers.
void check_enumerations(CheckedProgram& program) {
  const pgas::SymmetricArray<State> state(1);
  program.holds(pgas::atomic_compare_swap(state.data(), State::kEmpty, State::kFull, program.right()) == State::kEmpty);
  pgas::wait_until(state.data(), Comparison::kEqual, State::kFull);
  program.holds(pgas::atomic_swap(state.data(), State::kTaken, program.rank()) == State::kFull);
  program.holds(pgas::atomic_fetch(state.data(), program.rank()) == State::kTaken);
  const pgas::SymmetricArray<Level> level(1);
  program.holds(pgas::test(level.data(), Comparison::kGreater, Level::kLow));
  pgas::atomic_set(level.data(), Level::kLow, program.rank());
  program.holds(pgas::test(level.data(), Comparison::kLess, Level::kMiddle));
}

}  // namespace

// With the argument `throw`, the last PE leaves by an exception, and the others wait for it.
int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  try {
    const pgas::Program here;
    program.equal(here.pe(), program.rank());
    program.equal(here.pe_count(), program.size());
    if (argc > 1 && std::strcmp(argv[1], "throw") == 0) {
      const pgas::SymmetricArray<int> array(10);
      if (here.pe() == here.pe_count() - 1) throw std::runtime_error("not a day more");
      pgas::wait_until(array.data(), Comparison::kEqual, 1);
    }
    check_arrays(program);
    check_copies(program);
    check_signals(program);
    check_numbers<int>(program);
    check_numbers<unsigned int>(program);
    check_numbers<long>(program);
    check_numbers<unsigned long long>(program);
    check_enumerations(program);
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
  return program.finish();
}
