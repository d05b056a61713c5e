// Why a job ends early, and the one message that says so.
#pragma once

#include <string>
#include <vector>

#include "launch/descendants.h"

namespace spillway::launch {

struct Failure {
  int world_rank = -1;  // -1: not the doing of one rank
  int pid = 0;
  std::string host;  // of the rank
  std::string what;  // continues "rank 3 on host vm (process 4711) ..."
  std::string cause;
  std::string remedy;
  int exit_status = 1;
  bool may_be_of_launcher = false;  // a symptom whose cause the MPI launcher may have told
};

enum class Finalize { not_called, called, over };

// Of a program that ended with `wait_status` before it called MPI_Finalize, inside or after.
Failure failure_of_exit(int wait_status, Finalize finalize);

// Of a rank whose program ended well while others wait for it in MPI.
Failure failure_of_missing_init();
Failure failure_of_missing_finalize();

// Of a rank that gave up with a message of its own.
Failure failure_of_fatal(const std::string& text, int wait_status);

Failure failure_of_unsuitable_host(const std::string& host, const std::string& why);
Failure failure_of_lost_library();
Failure failure_of_lost_parent();
Failure failure_of_mpi_launcher(const std::string& name, int wait_status, bool any_rank_started);
Failure failure_of_interrupt(int signal_number);

// Adds to the cause what the launcher says of its own errors, where they may be the cause.
void quote_launcher(Failure& failure, const std::string& own_errors);

// "process 4711 does not end: ...", of those that are still there, however hard they were killed.
std::string text_of_endless(const std::vector<Endless>& processes);

// Of hosts whose agents did not answer when all of the job's ranks had ended well.
std::string text_of_silent_hosts(const std::vector<std::string>& hosts);

// "rank 3 on host vm (process 4711) was killed by signal 9 (Killed)"
std::string headline(const Failure& failure);

// All lines of the message, each ended.
std::string describe(const Failure& failure);

// "signal 9 (Killed)"
std::string signal_text(int number);

}  // namespace spillway::launch
