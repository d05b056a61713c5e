// What this process has planned of a job's input: each file with its size and the number of its parts. init() passes it
// on as MPI_D_INPUT_PLAN, so that a job whose processes see other files than each other, or that goes on from a
// checkpoint of other files, is refused. Needs no MPI.
#ifndef SPILLWAY_INPUT_PLAN_HPP
#define SPILLWAY_INPUT_PLAN_HPP

#include <string>

namespace spillway::mpid {

inline std::string& input_plan() {
  static std::string plan;
  return plan;
}

}  // namespace spillway::mpid

#endif
