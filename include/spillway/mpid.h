/* Key-value jobs over MPI: MPI_D of the paper on DataMPI. O tasks send records of a key and a value, of which the
 * library says where they go; A tasks receive them sorted by key, those with equal keys one after the other, on more
 * data than fits in memory. docs/reference/key-value-jobs.md says it all.
 *
 * Programs are linked with libmpid-<flavour>.so and an MPI library, and started by `mpidrun`, `spillway run` or a plain
 * mpiexec. All functions return MPI_SUCCESS or one of the codes below; but unless MPI_D_Set_errhandler() says
 * otherwise, an error ends the job with a message.
 *
 * Threads: only the one that called MPI_D_Init() may call these. The library's own threads make no MPI calls, but they
 * call the program's compare and combine functions, at the same time as the program runs.
 */
#ifndef SPILLWAY_MPID_H
#define SPILLWAY_MPID_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPI_D_ERR_CONF 1001       /* an entry of the configuration, or numbers of tasks that do not fit */
#define MPI_D_ERR_STATE 1002      /* before MPI_D_Init(), after MPI_D_Finalize(), or too late */
#define MPI_D_ERR_COMM 1003       /* the current task is not of that side */
#define MPI_D_ERR_PARTITION 1004  /* the partition function named no A task, or two of them */
#define MPI_D_ERR_CONTROL 1005    /* mpidrun cannot be reached */
#define MPI_D_ERR_MODE 1006       /* the function is of another mode */
#define MPI_D_ERR_CHECKPOINT 1007 /* the checkpoint cannot be written or read, or is of another job */
#define MPI_D_ERR_BATCH 1008      /* columns of a batch that are no records of the job's classes */

typedef enum {
  MPI_D_MODE_COMMON = 1,    /* each process is one task: the first are O tasks, the others A tasks */
  MPI_D_MODE_MAPREDUCE = 2, /* each process runs O tasks that it is given, then the A tasks whose records it holds */
  MPI_D_MODE_ITERATION = 3, /* rounds: each process runs its own O tasks, then its A tasks, which send back */
  MPI_D_MODE_STREAMING = 4  /* each process is one task, all run at once, and records come unsorted and soon */
} MPI_D_Mode;

/* The configuration: pairs, of which the last has NULL as its key. The names below are all there are. Those from
 * MPI_D_O_TASKS on, but for MPI_D_INPUT_PLAN and MPI_D_INPUT_HOSTS, are also looked for in the environment, which
 * counts more. Sizes may have a unit, as in 64M. */
typedef struct {
  const char* key;
  const char* value;
} MPI_D_Entry;

#define MPI_D_KEY_CLASS "MPI_D_KEY_CLASS"             /* string, int32, int64, double or bytes (default: string) */
#define MPI_D_VALUE_CLASS "MPI_D_VALUE_CLASS"         /* the same */
#define MPI_D_O_TASKS "MPI_D_O_TASKS"                 /* O tasks (default: as processes, or half of them) */
#define MPI_D_A_TASKS "MPI_D_A_TASKS"                 /* A tasks (the same) */
#define MPI_D_MEMORY "MPI_D_MEMORY"                   /* of a process for what has come, before it spills */
#define MPI_D_PARTITION_BYTES "MPI_D_PARTITION_BYTES" /* of what is gathered before it is sent */
#define MPI_D_SPILL_DIR "MPI_D_SPILL_DIR"             /* directories on local disks */
#define MPI_D_CHECKPOINT "MPI_D_CHECKPOINT"           /* a directory that all processes see (default: no checkpoints) */
/* MapReduce with checkpoints: how much work may be lost, as in 500ms or 5s (default: 2s) */
#define MPI_D_CHECKPOINT_INTERVAL "MPI_D_CHECKPOINT_INTERVAL"
/* none, gzip or zstd: how part files of job_files.hpp and of Python are compressed (default: none) */
#define MPI_D_OUTPUT_CODEC "MPI_D_OUTPUT_CODEC"
/* what the program has planned of its input, in any words: refused where the processes have not all the same */
#define MPI_D_INPUT_PLAN "MPI_D_INPUT_PLAN"
/* MapReduce, iteration: for each O task the host that has its input, with commas between them (nothing: it may run
 * anywhere). Only processes of that host run it. */
#define MPI_D_INPUT_HOSTS "MPI_D_INPUT_HOSTS"
/* iteration: so many processes combine values together before they send them (default: those of a machine; 1: each its
 * own) */
#define MPI_D_REDUCTION_GROUP "MPI_D_REDUCTION_GROUP"
/* streaming: how long a record may be gathered, as in 500us or 2ms (default: 1ms) */
#define MPI_D_LATENCY "MPI_D_LATENCY"
/* streaming: how long a window lasts (default: until MPI_D_End_window()) */
#define MPI_D_WINDOW "MPI_D_WINDOW"

/* How keys and values are passed, as const void*: string, a char* that ends with NUL; int32, int64 and double, a
 * pointer to one; bytes, a pointer to this. */
typedef struct {
  const void* data;
  size_t size;
} MPI_D_Bytes;

/* One side of the tasks. MPI_D_COMM_NULL where the current task is not of it. */
typedef const struct MPI_D_Side* MPI_D_Comm;
#define MPI_D_COMM_NULL ((MPI_D_Comm)0)
#define COMM_BIPARTITE_O (MPI_D_Comm_bipartite_o())
#define COMM_BIPARTITE_A (MPI_D_Comm_bipartite_a())
MPI_D_Comm MPI_D_Comm_bipartite_o(void);
MPI_D_Comm MPI_D_Comm_bipartite_a(void);

/* Collective over MPI_COMM_WORLD. Calls MPI_Init() unless the program has. `conf` may be NULL. */
int MPI_D_Init(int* argc, char*** argv, MPI_D_Mode mode, const MPI_D_Entry* conf);
/* Collective. What has not been sent is, and what has not been received is dropped. Calls MPI_Finalize() where
 * MPI_D_Init() called MPI_Init(). */
int MPI_D_Finalize(void);

/* The number of the current task among its side's, and how many these are. */
int MPI_D_Comm_rank(MPI_D_Comm comm, int* rank);
int MPI_D_Comm_size(MPI_D_Comm comm, int* size);

/* For programs that look at their input together before the first task, as for a sample of it. Whether this process is
 * the one that looks at a part: that of O task `part` modulo their number. Of each part one process is, on the host
 * that has it where MPI_D_INPUT_HOSTS says so. 1 or 0. */
int MPI_D_Is_nearest(int part);
/* Collective, after MPI_D_Init(), before the first task; in the modes mapreduce and iteration. The bytes of all
 * processes, one after the other; the memory is the library's, and stays until the next call. A job that goes on from a
 * checkpoint gets what the start that began it had, call by call, also of another number of processes: what is kept has
 * been divided by that. */
int MPI_D_Allgather(MPI_D_Bytes* bytes);

/* Begins the next task of this process, and ends the last one. 1; or 0 when there are no more. An addition to the
 * paper, for programs whose main() runs once and whose tasks are more than processes. In the common mode optional. */
int MPI_D_Next_task(void);

/* Of an O task; in the iteration mode also of an A task, and then to the O tasks of the next round. Both are copied. */
int MPI_D_Send(const void* key, const void* value);
/* Of an A task; in the iteration mode also of an O task, or of the driver between two rounds. The memory is the
 * library's, and stays until the next call. Both are NULL at the end, in the streaming mode at the end of the window.
 */
int MPI_D_Recv(const void** key, const void** value);

/* The iteration mode. Process 0 of MPI_COMM_WORLD is the driver. A task of either side is in the same process in
 * all rounds. */
/* 1 in the driver, or 0. */
int MPI_D_Is_driver(void);
/* Collective, when MPI_D_Next_task() has returned 0. Begins another round where the driver says so (`goes_on` of the
 * others does not count): 1, or 0 in all processes. */
int MPI_D_Next_round(int goes_on);
/* Of the current round, from 0. */
int MPI_D_Round(int* round);
/* Of an A task. The driver receives it when MPI_D_Next_task() has returned 0. */
int MPI_D_Send_to_driver(const void* key, const void* value);
/* Collective, before the first task of a round or after the last one. The driver's bytes; with the others, the memory
 * is the library's, and stays until the next call. */
int MPI_D_Bcast(MPI_D_Bytes* bytes);

/* The streaming mode. */
/* Passes on what has been gathered, and waits where receivers are behind. A source that has nothing to send for longer
 * than the latency, or a window, calls it, as the library has no clock of its own. */
int MPI_D_Flush(void);
/* Of an O task. The records that it sends from here on are of the next window. */
int MPI_D_End_window(void);
/* Of an A task. Goes on to the next window, which is over when all O tasks have ended it: 1, or 0 when none follows.
 * What has not been received of the last one is dropped. */
int MPI_D_Next_window(void);
/* The keys, or the values, of a batch of records, in the layout of Arrow's columns. */
typedef struct {
  /* Of int32, int64 and double: an array. Of string and bytes: their bytes, one item after the other. */
  const void* data;
  /* Of string and bytes: where in `data` each item begins, and behind them where the last one ends. A string has no NUL
   * there. Where both are NULL, the items begin with `data`, and each ends with a NUL that is not part of it. */
  const int64_t* offsets;
  const int32_t* short_offsets; /* the same, where `offsets` is NULL */
  const int64_t* ends;          /* where each ends, if not where the next one begins; NULL, or beside `offsets` */
} MPI_D_Column;

/* The same as MPI_D_Send() of each record in turn, and faster. All is copied. After an error those before the record
 * that it is about have been sent. */
int MPI_D_Send_batch(size_t count, const MPI_D_Column* keys, const MPI_D_Column* values);
/* The same as MPI_D_Send_to_driver() of each. */
int MPI_D_Send_batch_to_driver(size_t count, const MPI_D_Column* keys, const MPI_D_Column* values);
/* The next records, as MPI_D_Recv() would give them: at most `most`, fewer where they are long or the last ones, in the
 * streaming mode also where no more have come yet, and `count` is 0 at the end. Strings and bytes have `offsets`, from
 * 0. The memory is the library's, and stays until the next call. */
int MPI_D_Recv_batch(size_t most, size_t* count, MPI_D_Column* keys, MPI_D_Column* values);

/* Less than, equal to or greater than 0; all keys in one order: where its answers contradict each other, the job ends.
 * Without it: strings and bytes by their bytes, numbers by value. */
typedef int (*MPI_D_Compare_function)(const void* first, const void* second, void* user);
/* The task, from 0 to tasks - 1, that a record goes to: an A task, or of what an A task sends an O task. Without it: by
 * a hash of the key. The same for the same key and value: for some records it is called twice. */
typedef int (*MPI_D_Partition_function)(const void* key, const void* value, int tasks, void* user);
/* One value for two of the same key: `into`, where it is a number, may be changed and returned; else the memory is the
 * program's, and stays until the thread calls again. Must be associative and commutative, as it is called for any two,
 * at any time, or never; where it makes records longer its results may be dropped. What A tasks send is not combined.
 */
typedef const void* (*MPI_D_Combine_function)(const void* key, void* into, const void* value, void* user);

/* After MPI_D_Init(), before the first call of any function for tasks, records, rounds or windows but MPI_D_Bcast();
 * the same in all processes. */
int MPI_D_Set_compare(MPI_D_Compare_function compare, void* user);
int MPI_D_Set_partition(MPI_D_Partition_function partition, void* user);
int MPI_D_Set_combine(MPI_D_Combine_function combine, void* user);

/* What can be made of two numbers without a function of the program's. */
typedef enum {
  MPI_D_OP_SUM = 1, /* of int32 and int64 modulo 2 to the number of their bits */
  MPI_D_OP_MIN = 2, /* of double, any number counts more than NaN */
  MPI_D_OP_MAX = 3
} MPI_D_Op;
/* In place of MPI_D_Set_combine(), where the values are int32, int64 or double. In the mapreduce mode an A task then
 * receives each key once. */
int MPI_D_Set_combine_op(MPI_D_Op op);

typedef enum {
  MPI_D_ERRORS_ARE_FATAL = 0, /* an error ends the job, with a message */
  MPI_D_ERRORS_RETURN = 1 /* mistakes of the caller only return their codes; what cannot be survived still ends it */
} MPI_D_Errhandler;
int MPI_D_Set_errhandler(MPI_D_Errhandler handler);
/* What the last error of this process was, or else what the code means. */
const char* MPI_D_Error_string(int code);
/* Ends the job with a message that names the process and the cause. Does not return. */
void MPI_D_Fail(const char* cause);
/* The same for what would happen again: `mpidrun --restarts` does not start the job again. */
void MPI_D_Fail_for_good(const char* cause);

#ifdef __cplusplus
}
#endif

#endif
