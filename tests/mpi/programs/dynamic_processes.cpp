// Processes that are started, or met, while the program runs. They are the MPI library's: what is checked is that
// ranks with few slots reach them and each other.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "checked_program.h"

namespace {

constexpr int kChildren = 2;
constexpr int kLength = 300000;
enum Way { kBlocking, kNonblocking, kPersistent, kMatched, kWays };

// What a child does, once for each way of the parents: it adds its number to what the parents' first rank sends, and
// sends it back.
int child(MPI_Comm parents, const char* arrived) {
  int rank = 0;
  MPI_Comm_rank(parents, &rank);
  std::vector<int> data(kLength);
  for (int way = 0; way < kWays; ++way) {
    MPI_Recv(data.data(), kLength, MPI_INT, 0, way, parents, MPI_STATUS_IGNORE);
    if (way == kNonblocking && rank == 0) close(open(arrived, O_CREAT | O_WRONLY, 0600));
    for (int& value : data) value += rank;
    MPI_Send(data.data(), kLength, MPI_INT, 0, way, parents);
  }
  MPI_Comm all;
  MPI_Intercomm_merge(parents, 1, &all);
  int sum = 0, one = 1;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&parents);
  MPI_Finalize();
  return 0;
}

void exchange(CheckedProgram& program, int way, int rank, MPI_Comm children) {
  const std::vector<int> out = patterned(way, rank, kLength);
  std::vector<int> in(kLength, -1);
  MPI_Request requests[2];
  MPI_Message message;
  switch (way) {
    case kBlocking:
      MPI_Send(out.data(), kLength, MPI_INT, rank, way, children);
      MPI_Recv(in.data(), kLength, MPI_INT, rank, way, children, MPI_STATUS_IGNORE);
      break;
    case kNonblocking:
      MPI_Irecv(in.data(), kLength, MPI_INT, rank, way, children, &requests[0]);
      MPI_Isend(out.data(), kLength, MPI_INT, rank, way, children, &requests[1]);
      // The second rank has it from the child, by a file, that the message has come; this one sleeps until then.
      if (rank == 0 && program.size() > 1) MPI_Recv(nullptr, 0, MPI_INT, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      break;
    case kPersistent:
      MPI_Recv_init(in.data(), kLength, MPI_INT, rank, way, children, &requests[0]);
      MPI_Send_init(out.data(), kLength, MPI_INT, rank, way, children, &requests[1]);
      MPI_Startall(2, requests);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      for (MPI_Request& request : requests) MPI_Request_free(&request);
      break;
    default:
      MPI_Isend(out.data(), kLength, MPI_INT, rank, way, children, &requests[1]);
      MPI_Mprobe(rank, way, children, &message, MPI_STATUS_IGNORE);
      if (rank == 0) {
        MPI_Mrecv(in.data(), kLength, MPI_INT, &message, MPI_STATUS_IGNORE);
      } else {
        MPI_Imrecv(in.data(), kLength, MPI_INT, &message, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      }
      MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  }
  std::vector<int> wanted = out;
  for (int& value : wanted) value += rank;
  program.holds(in == wanted);
}

void say_when_it_has_come(CheckedProgram& program, const std::string& arrived) {
  int looks = 0;
  while (unlink(arrived.c_str()) != 0 && ++looks < 20000) usleep(1000);
  program.holds(looks < 20000);
  MPI_Send(nullptr, 0, MPI_INT, 0, 8, MPI_COMM_WORLD);
}

void talk_with_children(CheckedProgram& program, MPI_Comm children, const std::string& arrived) {
  int remote = 0;
  MPI_Comm_remote_size(children, &remote);
  program.equal(remote, kChildren);
  for (int way = 0; way < kWays; ++way) {
    for (int rank = 0; rank < kChildren && program.rank() == 0; ++rank) exchange(program, way, rank, children);
    if (way == kNonblocking && program.rank() == 1) say_when_it_has_come(program, arrived);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (program.size() == 1) unlink(arrived.c_str());
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
  long number = getpid();
  MPI_Bcast(&number, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  const char* folder = getenv("TMPDIR");
  std::string arrived = std::string(folder != nullptr ? folder : "/var/tmp") + "/spillway-" + std::to_string(number);
  char* arguments[] = {arrived.data(), nullptr};
  int errors[kChildren] = {-1, -1};
  MPI_Comm children;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (MPI_Comm_spawn(path, arguments, kChildren, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, errors) != MPI_SUCCESS)
    return;  // Debian's MPICH 4.0 cannot: it is built for one process manager and comes with another
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  for (int error : errors) program.equal(error, MPI_SUCCESS);
  talk_with_children(program, children, arrived);

  char* commands[] = {const_cast<char*>(path), const_cast<char*>(path)};
  char** arguments_of_each[] = {arguments, arguments};
  const int numbers[] = {1, 1};
  const MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
  MPI_Comm_spawn_multiple(2, commands, arguments_of_each, numbers, infos, 0, MPI_COMM_WORLD, &children, errors);
  talk_with_children(program, children, arrived);
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
  if (parents != MPI_COMM_NULL) return child(parents, argv[1]);
  CheckedProgram program;
  spawned(program, argv[0]);
  connected(program);
  return program.finish();
}
