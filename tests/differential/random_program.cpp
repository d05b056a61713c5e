// A program that its seed decides: steps of every kind of communication, and memory that stays across them. Rank 0
// prints the digests of what all ranks got. They depend on seed, number of steps, number of ranks and memory only, so
// they are the same on plain MPI and under Spillway, with any slots, budget and delays.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "program.h"

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (strcmp(argv[i], "--verbose") == 0) {
      options.is_verbose = true;
      continue;
    }
    if (strcmp(argv[i], "--replace-persistent-collectives") == 0) {
      options.replaces_persistent_collectives = true;
      continue;
    }
    if (strcmp(argv[i], "--seed") == 0) {
      options.seed = strtoull(value, nullptr, 10);
    } else if (strcmp(argv[i], "--steps") == 0) {
      options.steps = atoi(value);
    } else if (strcmp(argv[i], "--delay-seed") == 0) {
      options.delay_seed = strtoull(value, nullptr, 10);
    } else if (strcmp(argv[i], "--memory-mib") == 0) {
      options.memory_mib = atoi(value);
    } else {
      fprintf(stderr,
              "usage: %s [--seed n] [--steps n] [--delay-seed n] [--memory-mib n] [--verbose]\n"
              "       [--replace-persistent-collectives]\n",
              argv[0]);
      return 2;
    }
    ++i;
  }
  MPI_Init(&argc, &argv);
  Program(options).run();
  MPI_Finalize();
  return 0;
}
