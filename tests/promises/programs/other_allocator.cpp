// What another allocator (jemalloc, tcmalloc) brings into a rank when the program is linked with it: its own functions
// behind Spillway's in the order of look-up. It knows nothing of what the C library has allocated.
#include <unistd.h>

#include <cstddef>

extern "C" __attribute__((visibility("default"))) size_t malloc_usable_size(void*) {
  constexpr char kMessage[] = "other_allocator: was asked for what the C library has allocated\n";
  [[maybe_unused]] const ssize_t written = write(2, kMessage, sizeof kMessage - 1);
  _exit(99);
}
