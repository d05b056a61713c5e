/* The extensions of BDMPI under their own names, for programs that were written for it with MPI's names for all else.
 *
 * To be included in every file that calls MPI_Init or an extension: MPI_Init and MPI_Init_thread also learn the nodes,
 * so that the extensions are local calls, as in BDMPI. Under a plain mpiexec critical sections keep nobody
 * apart, and sbload, sbunload and sbdiscard do nothing.
 */
#ifndef SPILLWAY_BDMPI_H
#define SPILLWAY_BDMPI_H

#include <malloc.h>
#include <spillway/nodes.h>
#include <spillway/spillway.h>

#define BDMPI_COMM_NODE (spillway_nodes.node)
#define BDMPI_COMM_CWORLD (spillway_nodes.cyclic_world)

#define BDMPI_Comm_nsize spillway_comm_nsize
#define BDMPI_Comm_nrank spillway_comm_nrank
#define BDMPI_Comm_lsize spillway_comm_lsize
#define BDMPI_Comm_lrank spillway_comm_lrank
#define BDMPI_Comm_rrank spillway_comm_rrank

#ifdef __cplusplus
extern "C" {
#endif

static inline int spillway_code_for_bdmpi(int code) {
  return code == SPILLWAY_SUCCESS || code == SPILLWAY_NOT_RUNNING ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static inline int BDMPI_Enter_critical(void) { return spillway_code_for_bdmpi(spillway_enter_critical()); }
static inline int BDMPI_Exit_critical(void) { return spillway_code_for_bdmpi(spillway_exit_critical()); }

/* The same, as BDMPI's header spells it. */
#define BDMPI_Entercritical BDMPI_Enter_critical
#define BDMPI_Exitcritical BDMPI_Exit_critical

/* Storage-backed memory. */
static inline void* BDMPI_sbmalloc(size_t size) { return spillway_allocate(size); }
static inline void BDMPI_sbfree(void* memory) { free(memory); }
static inline void BDMPI_sbload(void* memory) { (void)spillway_load(memory, malloc_usable_size(memory)); }
static inline void BDMPI_sbunload(void* memory) { (void)spillway_unload(memory, malloc_usable_size(memory)); }
static inline void BDMPI_sbdiscard(void* memory, size_t size) { (void)spillway_discard(memory, size); }

static inline int spillway_init_for_bdmpi(int* argc, char*** argv) {
  const int code = MPI_Init(argc, argv);
  return code == MPI_SUCCESS ? spillway_learn_nodes() : code;
}

static inline int spillway_init_thread_for_bdmpi(int* argc, char*** argv, int required, int* provided) {
  const int code = MPI_Init_thread(argc, argv, required, provided);
  return code == MPI_SUCCESS ? spillway_learn_nodes() : code;
}

#define MPI_Init(argc, argv) spillway_init_for_bdmpi(argc, argv)
#define MPI_Init_thread(argc, argv, required, provided) spillway_init_thread_for_bdmpi(argc, argv, required, provided)

#ifdef __cplusplus
}
#endif

#endif
