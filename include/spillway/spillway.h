/* What a program may ask of Spillway while it runs: figures of its memory, the node's critical section, and what of its
 * memory is to be loaded, unloaded, kept or forgotten. Optional: programs need not know of Spillway at all.
 *
 * Needs no library at link time: the functions are looked up in the running process (dlsym), where `spillway run` has
 * preloaded them, and say so when they are not there. So the same binary runs under a plain mpiexec.
 *
 * Threads: any thread may call these at any time, but the critical section and pins are for the thread that calls MPI.
 */
#ifndef SPILLWAY_SPILLWAY_H
#define SPILLWAY_SPILLWAY_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the functions below return. */
#define SPILLWAY_SUCCESS 0
#define SPILLWAY_NOT_RUNNING (-1) /* not under `spillway run`, or before MPI_Init */
#define SPILLWAY_NOT_ALLOWED (-2) /* the rank is inside the critical section already, or leaves it from outside */
#define SPILLWAY_NOT_MANAGED (-3) /* the range does not lie in one allocation of storage-backed memory */
#define SPILLWAY_IN_USE (-4)  /* the MPI library may use any memory of the rank now (docs/reference/c-interface.md) */
#define SPILLWAY_NO_ROOM (-5) /* more than three quarters of the budget would be pinned */

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
  return function ? function(usage) : SPILLWAY_NOT_RUNNING;
}

/* The exported function behind spillway_get_spill_directories(). */
typedef const char* (*spillway_spill_directories_function)(void);

/* The spill directories of the rank's node, with `:` between them. Stays until the process ends. A null pointer when
 * the program does not run under Spillway, or before MPI_Init. */
static inline const char* spillway_get_spill_directories(void) {
  spillway_spill_directories_function function;
  *(void**)(&function) = dlsym(RTLD_DEFAULT, "spillway_spill_directories_of_rank");
  return function ? function() : (const char*)0;
}

/* The exported function behind the two below. */
typedef int (*spillway_critical_section_function)(int enters);

static inline int spillway_pass_critical_section(int enters) {
  spillway_critical_section_function function;
  *(void**)(&function) = dlsym(RTLD_DEFAULT, "spillway_critical_section_of_rank");
  return function ? function(enters) : SPILLWAY_NOT_RUNNING;
}

/* Waits until no other rank of the node is inside the critical section, and enters it. Meanwhile the rank sleeps
 * without a slot; ranks enter in the order in which they came. Do not call MPI inside to wait for a rank that may wait
 * for the section. Between MPI_Init and MPI_Finalize. SPILLWAY_NOT_RUNNING: the ranks are not kept apart. */
static inline int spillway_enter_critical(void) { return spillway_pass_critical_section(1); }

/* Leaves it to the rank that has waited longest. */
static inline int spillway_exit_critical(void) { return spillway_pass_critical_section(0); }

enum spillway_range_operation {
  SPILLWAY_RANGE_LOAD = 1,
  SPILLWAY_RANGE_UNLOAD = 2,
  SPILLWAY_RANGE_DISCARD = 3,
  SPILLWAY_RANGE_PIN = 4,
  SPILLWAY_RANGE_UNPIN = 5,
  SPILLWAY_RANGE_EXPECT_NORMAL = 6,
  SPILLWAY_RANGE_EXPECT_RANDOM = 7,
  SPILLWAY_RANGE_EXPECT_REWRITE = 8,
  SPILLWAY_RANGE_EXPECT_NOTHING = 9
};

/* The exported functions behind those below. */
typedef int (*spillway_range_function)(enum spillway_range_operation operation, void* address, size_t bytes);
typedef void* (*spillway_allocate_function)(size_t bytes);

static inline int spillway_range(enum spillway_range_operation operation, const void* address, size_t bytes) {
  spillway_range_function function;
  *(void**)(&function) = dlsym(RTLD_DEFAULT, "spillway_range_of_rank");
  return function ? function(operation, (void*)address, bytes) : SPILLWAY_NOT_RUNNING;
}

/* Storage-backed memory of its own whatever its size, as malloc() gives from 256 KiB on; it takes a multiple of 64 KiB.
 * Without Spillway, malloc(). To be given back with free(). */
static inline void* spillway_allocate(size_t bytes) {
  void* memory = NULL;
  spillway_allocate_function function;
  *(void**)(&function) = dlsym(RTLD_DEFAULT, "spillway_allocate_of_rank");
  if (function) memory = function(bytes);
  return memory ? memory : malloc(bytes);
}

/* Brings a range of storage-backed memory in from the spill file now, in large pieces, instead of at the first access.
 */
static inline int spillway_load(const void* address, size_t bytes) {
  return spillway_range(SPILLWAY_RANGE_LOAD, address, bytes);
}

/* Writes a range to the spill file and gives its pages up now, instead of when the rank waits and others need room. Its
 * contents stay: whoever touches it loads it again. No thread may write to pages that the range touches meanwhile. The
 * charge to the budget stays until the rank waits. The first unload, and one after Spillway has loaded or renewed a
 * part of a unit, is of whole units of 16 MiB: where the range is only a part of one, the rank's other threads are
 * stopped for that, and where they cannot be, that unit stays (SPILLWAY_IN_USE). So does one that has the stack of the
 * calling thread in it, where the program has allocated that. */
static inline int spillway_unload(const void* address, size_t bytes) {
  return spillway_range(SPILLWAY_RANGE_UNLOAD, address, bytes);
}

/* Says that the contents of a range are not needed any more: they are undefined from now on, and not written to the
 * spill file. Of use for what is next overwritten. Pages that lie only partly in the range keep their contents. */
static inline int spillway_discard(void* address, size_t bytes) {
  return spillway_range(SPILLWAY_RANGE_DISCARD, address, bytes);
}

/* Brings a range in, and keeps it in memory until spillway_unpin() has been called as often, with the same arguments;
 * before it is freed. In units of 16 MiB, which stay as wholes. SPILLWAY_NO_ROOM: nothing was done. */
static inline int spillway_pin(const void* address, size_t bytes) {
  return spillway_range(SPILLWAY_RANGE_PIN, address, bytes);
}

/* SPILLWAY_NOT_MANAGED: it is not pinned. */
static inline int spillway_unpin(const void* address, size_t bytes) {
  return spillway_range(SPILLWAY_RANGE_UNPIN, address, bytes);
}

/* What spillway_advise() may say of a range. */
enum spillway_advice {
  SPILLWAY_ADVICE_NORMAL = SPILLWAY_RANGE_EXPECT_NORMAL,   /* what Spillway has learned of it */
  SPILLWAY_ADVICE_RANDOM = SPILLWAY_RANGE_EXPECT_RANDOM,   /* touched here and there: single pages are read */
  SPILLWAY_ADVICE_REWRITE = SPILLWAY_RANGE_EXPECT_REWRITE, /* rewritten whenever the rank runs: loaded at once */
  SPILLWAY_ADVICE_COLD = SPILLWAY_RANGE_EXPECT_NOTHING     /* not needed for a while: unloaded before anything else */
};

/* Says how a range is going to be used, until something else is said. In the same units as spillway_pin(). Changes no
 * result, only what moves when. */
static inline int spillway_advise(const void* address, size_t bytes, enum spillway_advice advice) {
  return spillway_range((enum spillway_range_operation)advice, address, bytes);
}

/* One allocation of storage-backed memory, or one large static variable. Sizes in bytes. */
struct spillway_allocation {
  void* address;
  uint64_t bytes;
  uint64_t resident_bytes; /* of its pages, in memory now */
  uint64_t loaded_bytes;   /* that were brought in again; found when it is unloaded */
  uint64_t unloaded_bytes; /* that were written to the spill file */
};

/* The exported function behind the next one. `item_bytes` is sizeof(struct spillway_allocation). */
typedef long (*spillway_allocations_function)(struct spillway_allocation* list, size_t item_bytes, size_t capacity);

/* Fills in as many as there is room for, in no particular order, and returns how many there are; or
 * SPILLWAY_NOT_RUNNING. */
static inline long spillway_list_allocations(struct spillway_allocation* list, size_t capacity) {
  spillway_allocations_function function;
  *(void**)(&function) = dlsym(RTLD_DEFAULT, "spillway_allocations_of_rank");
  return function ? function(list, sizeof *list, capacity) : SPILLWAY_NOT_RUNNING;
}

#ifdef __cplusplus
}
#endif

#endif
