// Processes that are started, or met, while the program runs. They are the MPI library's: what is checked is that
// ranks with few slots reach them and each other.
#include <algorithm>
#include <cstring>

#include "checked_program.h"

namespace {

constexpr int kChildren = 2;
constexpr int kLength = 50000;

// What a child does: it adds its number to what the parents' first rank sends, and sends it back.
int child(MPI_Comm parents) {
  int rank = 0;
  MPI_Comm_rank(parents, &rank);
  std::vector<int> data(kLength);
  MPI_Recv(data.data(), kLength, MPI_INT, 0, 1, parents, MPI_STATUS_IGNORE);
  for (int& value : data) value += rank;
  MPI_Send(data.data(), kLength, MPI_INT, 0, 2, parents);
  MPI_Comm all;
  MPI_Intercomm_merge(parents, 1, &all);
  int sum = 0, one = 1;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&parents);
  MPI_Finalize();
  return 0;
}

void talk_with_children(CheckedProgram& program, MPI_Comm children) {
  int remote = 0;
  MPI_Comm_remote_size(children, &remote);
  program.equal(remote, kChildren);
  if (program.rank() == 0) {
    std::vector<int> in(kLength);
    for (int rank = 0; rank < kChildren; ++rank) {
      const std::vector<int> out = patterned(0, rank, kLength);
      MPI_Send(out.data(), kLength, MPI_INT, rank, 1, children);
      MPI_Recv(in.data(), kLength, MPI_INT, rank, 2, children, MPI_STATUS_IGNORE);
      std::vector<int> wanted = out;
      for (int& value : wanted) value += rank;
      program.holds(in == wanted);
    }
  }
  MPI_Comm all;
  MPI_Intercomm_merge(children, 0, &all);
  int sum = 0, own = -1;
  const int one = 1;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
  program.equal(sum, program.size() + kChildren);
  MPI_Comm_rank(all, &own);
  program.equal(own, program.rank());
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&children);
  program.holds(children == MPI_COMM_NULL);
}

void spawned(CheckedProgram& program, const char* path) {
  char mark[] = "child";
  char* arguments[] = {mark, nullptr};
  int errors[kChildren] = {-1, -1};
  MPI_Comm children;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (MPI_Comm_spawn(path, arguments, kChildren, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, errors) != MPI_SUCCESS)
    return;  // Debian's MPICH 4.0 cannot: it is built for one process manager and comes with another
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  for (int error : errors) program.equal(error, MPI_SUCCESS);
  talk_with_children(program, children);

  char* commands[] = {const_cast<char*>(path), const_cast<char*>(path)};
  char** arguments_of_each[] = {arguments, arguments};
  const int numbers[] = {1, 1};
  const MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
  MPI_Comm_spawn_multiple(2, commands, arguments_of_each, numbers, infos, 0, MPI_COMM_WORLD, &children, errors);
  talk_with_children(program, children);
}

// The even ranks accept, the odd ones connect; the port's name goes by a message.
void connected(CheckedProgram& program) {
  if (program.size() < 2) return;
  const bool accepts = program.rank() % 2 == 0;
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm half, others;
  MPI_Comm_split(MPI_COMM_WORLD, accepts ? 0 : 1, 0, &half);
  for (MPI_Comm comm : {MPI_COMM_SELF, MPI_COMM_WORLD}) MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  if (program.rank() == 0 && MPI_Open_port(MPI_INFO_NULL, port) != MPI_SUCCESS) port[0] = 0;
  MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (port[0] == 0) return;  // PyPI's MPICH has no room for a port's name where its addresses are long
  MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
  const int code = accepts ? MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &others)
                           : MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &others);
  if (code != MPI_SUCCESS) return;  // Debian's MPICH 4.0, again
  int remote = 0, place = 0, in = -1;
  MPI_Comm_remote_size(others, &remote);
  MPI_Comm_rank(half, &place);
  program.equal(remote, accepts ? program.size() / 2 : (program.size() + 1) / 2);
  const int own = program.rank();
  if (place < remote) MPI_Sendrecv(&own, 1, MPI_INT, place, 3, &in, 1, MPI_INT, place, 3, others, MPI_STATUS_IGNORE);
  program.equal(in, place < remote ? 2 * place + (accepts ? 1 : 0) : -1);
  MPI_Comm_disconnect(&others);
  if (program.rank() == 0) MPI_Close_port(port);
  MPI_Comm_free(&half);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm parents;
  MPI_Comm_get_parent(&parents);
  if (parents != MPI_COMM_NULL) return child(parents);
  CheckedProgram program;
  spawned(program, argv[0]);
  connected(program);
  return program.finish();
}
