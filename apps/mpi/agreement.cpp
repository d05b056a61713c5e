#include "agreement.h"

#include <cstdio>

namespace apps {

namespace {

const char* program_name = "";

}  // namespace

void name_program(const char* name) { program_name = name; }

void agree(MPI_Comm communicator, const std::string& problem) {
  int rank = 0;
  int rank_count = 0;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &rank_count);
  const int failed = problem.empty() ? rank_count : rank;
  int first_failed = rank_count;
  MPI_Allreduce(&failed, &first_failed, 1, MPI_INT, MPI_MIN, communicator);
  if (first_failed == rank_count) {
    return;
  }
  if (first_failed == rank) {
    std::fprintf(stderr, "%s: rank %d of %d: %s\n", program_name, rank, rank_count, problem.c_str());
    std::fflush(stderr);
  }
  throw AgreedFailure();
}

}  // namespace apps
