// The last two steps of the ladder of errors: what cannot happen, and what cannot be survived.
//
// Neither allocates nor throws, so both may be used below malloc.
#pragma once

namespace spillway::base {

// Who is told of a fatal error besides standard error; the text is complete and ends without newline. Returns true when
// the message has been handed on (to the node agent), so that it is not printed twice.
using FatalSink = bool (*)(const char* message);
void set_fatal_sink(FatalSink sink);

// Ends the process with exit status 1 after one message. Name the cause and the remedy; the sink adds rank and host.
[[noreturn]] void fatal(const char* format, ...) __attribute__((format(printf, 1, 2)));

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace spillway::base

// An invariant that is kept in release builds.
#define SPILLWAY_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::spillway::base::check_failed(#condition, __FILE__, __LINE__))
