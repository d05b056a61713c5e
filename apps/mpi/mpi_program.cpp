#include "mpi_program.h"

#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <new>
#include <thread>

#include "agreement.h"
#include "option_values.h"

namespace apps {

namespace {

// What a launcher has not read when it hears of MPI_Abort, some drop: the message would be lost.
constexpr std::chrono::milliseconds kUntilRead{200};

int end_job(const char* name, int rank, const char* problem) {
  std::fprintf(stderr, "%s: rank %d: %s\n", name, rank, problem);
  std::this_thread::sleep_for(kUntilRead);
  MPI_Abort(MPI_COMM_WORLD, kExitFailure);
  return kExitFailure;
}

}  // namespace

int run_mpi_program(const char* name, int& argument_count, char**& arguments, const char* want_of_memory,
                    const std::function<void(int rank)>& program) {
  MPI_Init(&argument_count, &arguments);
  name_program(name);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int status = 0;
  try {
    program(rank);
  } catch (const UsageError& error) {
    if (rank == 0) {
      std::fprintf(stderr, "%s: rank 0: %s\n", name, error.what());
    }
    status = kExitUsage;
  } catch (const AgreedFailure&) {
    status = kExitFailure;
  } catch (const std::bad_alloc&) {
    status = end_job(name, rank, want_of_memory);
  } catch (const std::exception& error) {
    status = end_job(name, rank, error.what());
  }
  MPI_Finalize();
  return status;
}

}  // namespace apps
