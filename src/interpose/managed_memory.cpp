#include "interpose/managed_memory.h"

namespace spillway::interpose {
namespace {

constinit memory::Arena the_arena;

// In the static TLS block: a first access that allocates would call malloc from within malloc.
__attribute__((tls_model("initial-exec"))) thread_local int unmanaged_depth = 0;

}  // namespace

memory::Arena& arena() { return the_arena; }

UnmanagedScope::UnmanagedScope() { ++unmanaged_depth; }
UnmanagedScope::~UnmanagedScope() { --unmanaged_depth; }
bool UnmanagedScope::is_inside() { return unmanaged_depth > 0; }

}  // namespace spillway::interpose
