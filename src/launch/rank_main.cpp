// spillway-rank program args...: started by the MPI launcher in place of the program. See launch/rank_parent.h.
#include <cstdio>

#include "launch/rank_parent.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "spillway-rank: no program named; this program is started by `spillway run`, not by hand\n");
    return 2;
  }
  return spillway::launch::RankParent(argv + 1).run();
}
