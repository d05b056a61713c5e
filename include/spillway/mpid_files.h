/* Files of key-value jobs: compressed by gzip and zstd, of one host only, and parts of output: functions of libmpid
 * that text_files.hpp, record_files.hpp, job_files.hpp and the Python package read and write them with. Needs no MPI,
 * and no MPI_D_Init().
 *
 * What is wrong is said by MPI_D_File_error(), with the file's name. Different files may be used by different threads.
 */
#ifndef SPILLWAY_MPID_FILES_H
#define SPILLWAY_MPID_FILES_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the last call of this thread that failed has to say. */
const char* MPI_D_File_error(void);

/* Whether the file is compressed, by its first bytes: 1 or 0. -1 where it cannot be read, or its name ends with .gz or
 * .zst and it does not begin as such a file. */
int MPI_D_Is_compressed(const char* path);

/* The same of a file that the program reads in its own way, of which it has the first bytes (4, or all that there are):
 * "none", "gzip" or "zstd". NULL where its name ends with .gz or .zst and it does not begin so. */
const char* MPI_D_Codec_of(const char* path, const void* beginning, size_t bytes);

/* A compressed file that is read from its beginning to its end. NULL: it is none. */
typedef struct MPI_D_Decompression MPI_D_Decompression;
MPI_D_Decompression* MPI_D_Decompress_open(const char* path);
/* How many bytes of the contents came, fewer than asked for only at their end; -1 where the file is damaged, truncated
 * or followed by something else. */
ptrdiff_t MPI_D_Decompress_read(MPI_D_Decompression* file, void* to, size_t bytes);
void MPI_D_Decompress_close(MPI_D_Decompression* file);

/* For a file that is to be compressed, as its name ends with .gz or .zst; NULL for any other. It writes to the
 * descriptor, which stays the caller's. The functions with a result return 0, or -1 where it cannot be written. */
typedef struct MPI_D_Compression MPI_D_Compression;
int MPI_D_Compress_open(const char* path, int descriptor, MPI_D_Compression** file);
int MPI_D_Compress_write(MPI_D_Compression* file, const void* from, size_t bytes);
/* Without it the file is not whole. After it, and after a failure, both functions fail. */
int MPI_D_Compress_finish(MPI_D_Compression* file);
void MPI_D_Compress_close(MPI_D_Compression* file);

/* For a file that a restart may need, and that begins empty: it is on the disk when it is finished. A thread writes it
 * past the file cache, to the descriptor, which stays the caller's, and which nobody else writes to until it is closed.
 * NULL, or -1, where that fails; then all that follows does. */
typedef struct MPI_D_Keeping MPI_D_Keeping;
MPI_D_Keeping* MPI_D_Keep_open(const char* path, int descriptor);
int MPI_D_Keep_write(MPI_D_Keeping* file, const void* from, size_t bytes);
int MPI_D_Keep_finish(MPI_D_Keeping* file);
void MPI_D_Keep_close(MPI_D_Keeping* file);

/* What the names of part files end with by MPI_D_OUTPUT_CODEC, when MPI_D_Init() has been called: "", ".gz" or ".zst".
 */
const char* MPI_D_Part_suffix(void);

/* Where to write a file that is to have that name: the name, or where that is a symbolic link the file that it leads
 * to, as `cp` has it. NULL where something else than a regular file is there, also under that name with .partial, or
 * where no file can be made in its folder. Stays until the thread's next call. */
const char* MPI_D_Output_place(const char* path);
/* Before a job: whether parts can be written in a directory that is there, with nothing but regular files under names
 * of parts, or that can be made. 0, or -1. */
int MPI_D_Check_parts(const char* directory);

/* Before a file is opened for writing under a name that it does not keep: where the library ends the job meanwhile, it
 * removes it. 0, or -1. Until MPI_D_End_partial(), when the file is closed and has its name, or has been passed to
 * MPI_D_Publish(), or is gone. */
int MPI_D_Begin_partial(const char* partial);
void MPI_D_End_partial(const char* partial);

/* Gives a part file that is whole and closed its name: at the end of the job that runs, when all tasks of all processes
 * have ended, so that a job that fails leaves none under its name; at once where no job runs. 0, or -1. */
int MPI_D_Publish(const char* partial, const char* path);
/* What that is, step by step: each begins when all processes have done the one before. */
typedef enum {
  MPI_D_PUBLISH_LOOK = 0,  /* whether all parts can get their names; where one cannot, the job ends, and none does */
  MPI_D_PUBLISH_BEGIN = 1, /* _SUCCESS is removed from the folders of the parts */
  MPI_D_PUBLISH_NAME = 2,  /* all parts get their names */
  MPI_D_PUBLISH_END = 3    /* _SUCCESS is made, an empty file */
} MPI_D_Publish_step;
/* The same for whoever has another way of renaming: 1, and at that time `publish` is called, once for each step; 0,
 * now, in a job that keeps checkpoints, with which a restart would not know of parts whose tasks it leaves out:
 * `publish` is called, too; or -1: now, as no job runs. */
typedef void (*MPI_D_Publish_function)(MPI_D_Publish_step step);
int MPI_D_Publish_later(MPI_D_Publish_function publish);
/* Whether a file of that name would stay beside the parts of the current task's side, of which `own` is one, and be
 * taken for one of them: its number is too high, or what follows that is not the same. 1 or 0; 0 where no job runs. */
int MPI_D_Is_other_part(const char* found, const char* own);

/* Whether this host has that name: 1 or 0. Names are what `hostname` says, without regard to case; one of the two may
 * have a domain. */
int MPI_D_Is_this_host(const char* name);

#ifdef __cplusplus
}
#endif

#endif
