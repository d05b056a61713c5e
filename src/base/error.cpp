#include "base/error.h"
#include "base/system_calls.h"

#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace spillway::base {
namespace {
std::atomic<FatalSink> fatal_sink{nullptr};
}  // namespace

void set_fatal_sink(FatalSink sink) { fatal_sink = sink; }

void fatal(const char* format, ...) {
  char text[448];
  char line[sizeof text +
            16];  // dprintf() takes a lock of the C library, whose holder may wait for one that is held here
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  FatalSink sink = fatal_sink;
  if (sink == nullptr || !sink(text)) {
    const int bytes = snprintf(line, sizeof line, "spillway: %s\n", text);
    kernel::write_bytes(STDERR_FILENO, line, static_cast<uint64_t>(bytes));
  }
  _exit(1);
}

void check_failed(const char* condition, const char* file, int line) {
  const char* slash = strrchr(file, '/');
  fatal("internal error: %s does not hold (%s:%d); please report this as a bug", condition, slash ? slash + 1 : file,
        line);
}

}  // namespace spillway::base
