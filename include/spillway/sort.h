/* Sorting of files of records or lines, whether or not they have room in memory, by all processes of an MPI program:
 * what the command `spillway sort` does (docs/reference/spillway-sort.md), after Jose et al., "Designing Scalable
 * Out-of-core Sorting with Hybrid MPI+PGAS Programming Models" (2014), sections 4.2 and 4.3. Functions of
 * libsortfiles-mpich.so and libsortfiles-openmpi.so.
 */
#ifndef SPILLWAY_SORT_H
#define SPILLWAY_SORT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What becomes of records with equal keys. */
enum spillway_sort_equal_keys {
  SPILLWAY_SORT_UNORDERED = 0, /* all come out, in any order; lines, and where these are equal in all, as stable */
  SPILLWAY_SORT_STABLE = 1,    /* all, in the order of the inputs */
  SPILLWAY_SORT_UNIQUE = 2,    /* the first one of the inputs */
  SPILLWAY_SORT_COUNTED = 3    /* the same, and how many there were: before each line, or in 8 bytes behind a record */
};

/* Strings are as the options of the command are. What is 0 or NULL has the value that is said here. */
struct spillway_sort_options {
  const char* const* inputs; /* files and directories, in this order; needed */
  size_t input_count;
  const char* output;          /* a file, or where has_parts is not 0 a directory; needed */
  uint64_t memory_bytes;       /* of each process, 48 MiB or more; needed */
  const char* spill_directory; /* on a local disk; /tmp */
  uint64_t record_bytes;       /* 100 */
  int is_lines;                /* of text, instead of records of one size */
  const char* separator;       /* of fields of lines: one byte; blanks */
  const char* key;             /* "0:10" of records, "0", the whole line, of lines */
  int equal_keys;              /* one of spillway_sort_equal_keys */
  int has_parts;
  int reader_count; /* the first so many processes only read; 0: all read and sort */
};

struct spillway_sort_result {
  uint64_t records;        /* that have been read */
  uint64_t output_records; /* that are in the output */
  uint64_t bytes;          /* of the inputs */
  uint64_t buckets;
  int is_in_memory; /* 0: records have been written to the spill directories and read again */
  uint64_t read_bytes;
  uint64_t written_bytes;
  double seconds;
};

/* Collective over MPI_COMM_WORLD, with the same options, between MPI_Init() and MPI_Finalize(), and not between
 * pgas_init() and pgas_finalize(); by one thread. All processes see the inputs and the output. The output is there,
 * whole, when it returns; `result`, which may be NULL, is the same in all processes.
 *
 * An error (an input that cannot be read, a full disk, options that make no sense) ends the job, as MPI's own errors
 * do, with a message of rank, host, cause and remedy. What was at the output's name is still there then, and nothing
 * else. Only where a process is killed, or MPI itself ends the job, a hidden file or directory beside it
 * (.NAME.spillway-...) may be left, which the command would remove.
 *
 * SIGXFSZ is ignored meanwhile, so that a file beyond the user's limit (ulimit -f) is such an error. */
void spillway_sort_files(const struct spillway_sort_options* options, struct spillway_sort_result* result);

#ifdef __cplusplus
}
#endif

#endif
