// spillway-node: the agent of a job. Started by the front end `spillway run`; see launch/job_agent.h.
#include <cstdio>
#include <exception>

#include "launch/job_agent.h"
#include "launch/member_agent.h"
#include "launch/node_options.h"

int main(int argc, char** argv) {
  using namespace spillway::launch;
  NodeOptions options;
  const std::string problem = parse_node_options(argc, argv, options);
  if (!problem.empty()) {
    fprintf(stderr, "spillway-node: %s; this program is started by `spillway run`, not by hand\n", problem.c_str());
    return 2;
  }
  try {
    if (!options.member.empty()) return MemberAgent(options).run();
    return JobAgent(std::move(options)).run();
  } catch (const std::exception& error) {
    fprintf(
        stderr,
        "spillway: the node agent cannot work\n"
        "  Cause:  %s.\n"
        "  Remedy: see whether this machine or user is at a limit (`ulimit -a`, `dmesg`); else report this message.\n",
        error.what());
    return 1;
  }
}
