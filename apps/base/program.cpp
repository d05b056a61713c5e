#include "program.h"

#include <cstdio>
#include <exception>
#include <new>

#include "option_values.h"

namespace apps {

int run_program(const char* name, const char* want_of_memory, const std::function<void()>& program) {
  try {
    program();
    return 0;
  } catch (const UsageError& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return kExitUsage;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: %s\n", name, want_of_memory);
    return kExitFailure;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return kExitFailure;
  }
}

void warn_of_page_cache(const char* name) {
  std::fprintf(stderr, "%s: the file system refuses O_DIRECT; reading through the page cache\n", name);
}

}  // namespace apps
