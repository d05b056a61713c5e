// include/spillway/nodes.h, by BDMPI's names: who shares a node, and the two communicators that follow the nodes. MPI
// itself says who does: by the names of the processors.
#include <mpi.h>
#include <spillway/bdmpi.h>

#include <map>
#include <set>

#include "checked_program.h"

namespace {

std::vector<std::string> processor_of_each_rank(MPI_Comm comm) {
  int size = 0, length = 0;
  MPI_Comm_size(comm, &size);
  char own[MPI_MAX_PROCESSOR_NAME] = {};
  MPI_Get_processor_name(own, &length);
  std::vector<char> all(static_cast<size_t>(size) * sizeof own);
  MPI_Allgather(own, sizeof own, MPI_CHAR, all.data(), sizeof own, MPI_CHAR, comm);
  std::vector<std::string> names;
  for (int i = 0; i < size; ++i) names.emplace_back(all.data() + static_cast<size_t>(i) * sizeof own);
  return names;
}

void check_places(CheckedProgram& program, MPI_Comm comm) {
  int self = 0;
  MPI_Comm_rank(comm, &self);
  const std::vector<std::string> names = processor_of_each_rank(comm);
  std::map<std::string, std::vector<int>> ranks_of;
  std::vector<std::string> nodes;
  for (size_t rank = 0; rank < names.size(); ++rank) {
    if (ranks_of[names[rank]].empty()) nodes.push_back(names[rank]);
    ranks_of[names[rank]].push_back(static_cast<int>(rank));
  }
  const std::vector<int>& local = ranks_of[names[static_cast<size_t>(self)]];
  int nsize = -1, nrank = -1, lsize = -1, lrank = -1, rrank = -1;
  program.equal(BDMPI_Comm_nsize(comm, &nsize), MPI_SUCCESS);
  program.equal(BDMPI_Comm_nrank(comm, &nrank), MPI_SUCCESS);
  program.equal(BDMPI_Comm_lsize(comm, &lsize), MPI_SUCCESS);
  program.equal(BDMPI_Comm_lrank(comm, &lrank), MPI_SUCCESS);
  program.equal(BDMPI_Comm_rrank(comm, &rrank), MPI_SUCCESS);
  program.equal(nsize, nodes.size());
  program.equal(nodes[static_cast<size_t>(nrank)], names[static_cast<size_t>(self)]);
  program.equal(lsize, local.size());
  program.equal(local[static_cast<size_t>(lrank)], self);
  program.equal(rrank, local[0]);
}

void check_one_rank_alone(CheckedProgram& program) {
  if (program.rank() != 0) return;
  int lrank = -1;
  program.equal(BDMPI_Comm_lrank(MPI_COMM_WORLD, &lrank), MPI_SUCCESS);
  program.equal(lrank, 0);
}

void check_part_of_the_world(CheckedProgram& program) {
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, program.rank() % 2, -program.rank(), &part);  // backwards
  check_places(program, part);
  MPI_Comm_free(&part);
}

void check_node_communicator(CheckedProgram& program) {
  int size = 0, rank = 0, lsize = 0, lrank = 0;
  MPI_Comm_size(BDMPI_COMM_NODE, &size);
  MPI_Comm_rank(BDMPI_COMM_NODE, &rank);
  BDMPI_Comm_lsize(MPI_COMM_WORLD, &lsize);
  BDMPI_Comm_lrank(MPI_COMM_WORLD, &lrank);
  program.equal(size, lsize);
  program.equal(rank, lrank);
  const std::vector<std::string> names = processor_of_each_rank(BDMPI_COMM_NODE);
  program.equal(std::set<std::string>(names.begin(), names.end()).size(), 1);
}

// The order of MPI_COMM_WORLD, sorted by number within the node and then by node.
void check_cyclic_communicator(CheckedProgram& program) {
  const std::vector<std::string> names = processor_of_each_rank(MPI_COMM_WORLD);
  std::map<std::string, int> number_of, so_far;
  std::map<std::pair<int, int>, int> order;
  for (size_t rank = 0; rank < names.size(); ++rank) {
    const int number = number_of.try_emplace(names[rank], static_cast<int>(number_of.size())).first->second;
    order[{so_far[names[rank]]++, number}] = static_cast<int>(rank);
  }
  std::vector<int> wanted, got(names.size());
  for (const auto& [place, rank] : order) wanted.push_back(rank);
  const int rank = program.rank();
  MPI_Allgather(&rank, 1, MPI_INT, got.data(), 1, MPI_INT, BDMPI_COMM_CWORLD);
  program.holds(got == wanted);
}

void check_codes_of_critical_section(CheckedProgram& program) {
  program.equal(BDMPI_Enter_critical(), MPI_SUCCESS);
  program.equal(BDMPI_Exit_critical(), MPI_SUCCESS);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  CheckedProgram program;
  check_places(program, MPI_COMM_WORLD);
  check_places(program, MPI_COMM_SELF);
  check_one_rank_alone(program);
  check_part_of_the_world(program);
  check_node_communicator(program);
  check_cyclic_communicator(program);
  check_codes_of_critical_section(program);
  return program.finish();
}
