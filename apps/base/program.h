// The frame of a program's main(): what it throws becomes a message with the program's name, and an exit status.
#pragma once

#include <functional>

namespace apps {

// Runs `program`, which parses the command line, too. Returns the exit status: 0, kExitUsage after a UsageError,
// kExitFailure after any other exception. `want_of_memory` is said for std::bad_alloc.
int run_program(const char* name, const char* want_of_memory, const std::function<void()>& program);

// Says on stderr that the program reads files with the page cache between, which it is made to do without.
void warn_of_page_cache(const char* name);

}  // namespace apps
