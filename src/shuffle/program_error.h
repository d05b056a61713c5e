// What functions of the program's do wrong: they throw, or contradict themselves. It ends the job.
#pragma once

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

#include "shuffle/item_class.h"

namespace spillway::shuffle {

class ProgramError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Ends the process for one on a thread on which nobody else catches it, by base::fatal(), after a call of what has been
// set, from that thread.
[[noreturn]] void end_process(const ProgramError& error);
void set_before_end_of_process(void (*function)());

// What this thread does, as `merging what has come for task 3: `, or nothing.
std::string current_work();

// Says so of a `body` that calls functions of the program's: in what it throws, and in current_work() meanwhile, for
// functions that end the process by themselves.
class Work {
 public:
  Work(const char* what, uint32_t task);
  ~Work();
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
};
template <typename Body>
auto working(const char* what, uint32_t task, Body body) {
  const Work work(what, task);
  try {
    return body();
  } catch (const ProgramError& error) {
    throw ProgramError(current_work() + error.what());
  }
}

// A key as messages show it: shortened, and letters that cannot be read as their codes.
std::string shown(ItemClass item_class, std::string_view key);

// REQUIRES: an exception is handled, of the program's `function`.
[[noreturn]] void rethrow_of_program(const char* function, const std::string& keys);

// Calls a `function` of the program's; `keys` says which ones it is called with.
template <typename Call, typename Keys>
auto call_of_program(const char* function, Call call, Keys keys) {
  try {
    return call();
  } catch (...) {
    rethrow_of_program(function, keys());
  }
}

}  // namespace spillway::shuffle
