// Errors that all ranks learn of together, so that a job with a bad input ends with one message and never hangs.
#pragma once

#include <mpi.h>

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

namespace apps {

// Before the first use: the name that stands in front of messages. Kept by address.
void name_program(const char* name);

// Thrown on every rank by agree(), after the message has been printed.
class AgreedFailure : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "a rank has failed"; }
};

// Collective. `problem` is empty on ranks that are well; if any is not, the first such rank prints its problem and all
// throw AgreedFailure.
void agree(MPI_Comm communicator, const std::string& problem);

// Collective. Runs `step`, which must not communicate, on this rank, and agrees on what it throws.
template <typename Step>
void run_together(MPI_Comm communicator, const Step& step) {
  std::string problem;
  try {
    step();
  } catch (const std::bad_alloc&) {
    problem = "not enough memory for this rank's part; use more ranks or more memory";
  } catch (const std::exception& error) {
    problem = error.what();
  }
  agree(communicator, problem);
}

}  // namespace apps
