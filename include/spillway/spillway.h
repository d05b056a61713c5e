/* What a program may ask Spillway about itself while it runs. Optional: programs need not know of Spillway at all.
 *
 * Needs no library at link time: the functions are looked up in the running process (dlsym), where `spillway run` has
 * preloaded them, and say so when they are not there. So the same binary runs under a plain mpiexec.
 *
 * Threads: any thread may call these at any time. Costs: a few memory accesses, no lock.
 */
#ifndef SPILLWAY_SPILLWAY_H
#define SPILLWAY_SPILLWAY_H

#include <dlfcn.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One rank's memory and traffic, and its node's. Sizes in bytes, times in nanoseconds, since MPI_Init. */
struct spillway_usage {
  uint32_t struct_bytes;        /* set by the caller to sizeof(struct spillway_usage) */
  uint32_t slots;               /* ranks of the node that run at a time */
  uint64_t budget_bytes;        /* --memory */
  uint64_t node_resident_bytes; /* storage-backed memory of all the node's ranks that is charged to the budget */
  uint64_t managed_bytes;       /* this rank's storage-backed memory */
  uint64_t resident_bytes;      /* of that, what is charged to the budget */
  uint64_t loaded_bytes;        /* unloaded memory that was brought in again */
  uint64_t unloaded_bytes;      /* memory that was written to the spill file */
  uint64_t spilled_bytes;       /* messages that this rank sent by way of the disk */
  uint64_t wait_ns;             /* blocked in MPI */
};

/* The exported function behind spillway_get_usage(). 0, or -1 before MPI_Init or for a struct_bytes that it does not
 * know. */
typedef int (*spillway_usage_function)(struct spillway_usage* usage);

/* Fills *usage. Returns 0, or -1 when the program does not run under Spillway (then *usage is unchanged but for
 * struct_bytes). */
static inline int spillway_get_usage(struct spillway_usage* usage) {
  spillway_usage_function function;
  *(void**)(&function) = dlsym(RTLD_DEFAULT, "spillway_usage_of_rank");
  usage->struct_bytes = (uint32_t)sizeof *usage;
  return function ? function(usage) : -1;
}

#ifdef __cplusplus
}
#endif

#endif
