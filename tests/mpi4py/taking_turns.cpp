// Preloaded into ranks of plain MPICH where there are more than cores: MPICH's ranks spin while they wait, each until
// the end of its time slice of some milliseconds, and a module of short messages takes minutes. A signal every 0.2 ms
// makes them take turns.
#include <sched.h>
#include <signal.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr long kTurnNanoseconds = 200000;

__attribute__((constructor)) void take_turns() {
  const int signal_number = SIGRTMAX - 3;  // neither the C library's nor Python's nor MPICH's
  struct sigaction action = {};
  action.sa_handler = [](int) { sched_yield(); };
  action.sa_flags = SA_RESTART;
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = signal_number;
  const itimerspec period = {{0, kTurnNanoseconds}, {0, kTurnNanoseconds}};
  timer_t timer = nullptr;
  if (sigaction(signal_number, &action, nullptr) != 0 || timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
      timer_settime(timer, 0, &period, nullptr) != 0) {
    std::perror("cannot take turns");
    std::abort();
  }
}

}  // namespace
