// spillway-rank program args...: started by the MPI launcher in place of the program. See launch/rank_parent.h. Under
// the name of kGuardName it is the guard of an agent.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "launch/agent_guard.h"
#include "launch/rank_parent.h"

int main(int argc, char** argv) {
  using namespace spillway::launch;
  if (argc < 2) {
    fprintf(stderr, "spillway-rank: no program named; this program is started by `spillway run`, not by hand\n");
    return 2;
  }
  if (strcmp(argv[0], kGuardName) == 0) {
    guard_agent(atoi(argv[1]), argc > 2 ? atoi(argv[2]) : 0);
    return 0;
  }
  return RankParent(argv + 1).run();
}
