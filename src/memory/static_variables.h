// Finds the large static variables of a program, or of a library that it was linked with.
//
// Only the symbol table tells them from their neighbours. Small variables must not be unloaded: other threads use them
// while the rank sleeps (locks, counters, flags), the MPI library has some of its own among them (moved into the
// program by copy relocations), and whole sections hold both kinds. So what is managed is exactly what would be managed
// if it came from malloc: single objects, from a size on. A file without a symbol table (stripped) has none to be
// found, but for what it exports.
//
// Allocates nothing.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

#include "memory/arena.h"

namespace spillway::memory {

struct StaticVariable {
  const void* address;
  size_t bytes;
  Beginning beginning;
};

using StaticVariableVisitor = void (*)(const StaticVariable& variable, void* context);

// Visits the variables of at least `minimum_bytes` of an object that was loaded from `file`: those that the program may
// write, none of which is thread-local. None if the file is not the one that was loaded.
void find_static_variables(const dl_phdr_info& object, const char* file, uint64_t minimum_bytes,
                           StaticVariableVisitor visit, void* context);

}  // namespace spillway::memory
