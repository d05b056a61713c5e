// What a rank owes others inside the MPI library when its own calls there are done: the end of a long message that it
// has received, say, for which there was no room yet. Others wait in the library for it, while the rank sleeps for
// something that has nothing to do with the library.
#include <unistd.h>

#include "checked_program.h"

namespace {

// Rank 0 has all others for readers, and reads from nobody.
MPI_Comm star(const CheckedProgram& program) {
  const int first = 0, sources = program.rank() == 0 ? 0 : 1;
  std::vector<int> others;
  for (int rank = 1; rank < program.size() && program.rank() == 0; ++rank) others.push_back(rank);
  MPI_Comm graph;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, sources, &first, MPI_UNWEIGHTED, static_cast<int>(others.size()),
                                 others.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  return graph;
}

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  MPI_Comm graph = star(program);
  constexpr int kMessages = 40, kCount = 50000, kRounds = 3;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<int> out = patterned(0, round, kCount);
    std::vector<std::vector<int>> in(kMessages, std::vector<int>(kCount, -1));
    std::vector<MPI_Request> requests(kMessages);
    for (size_t i = 0; i < kMessages; ++i)
      MPI_Ineighbor_allgather(out.data(), kCount, MPI_INT, in[i].data(), kCount, MPI_INT, graph, &requests[i]);
    if (program.rank() == 0)
      usleep(200000);  // it reads none of the answers meanwhile: they fill whatever room there is
    MPI_Waitall(kMessages, requests.data(), MPI_STATUSES_IGNORE);
    for (const std::vector<int>& message : in) program.holds(program.rank() == 0 || message == out);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Comm_free(&graph);
  return program.finish();
}
