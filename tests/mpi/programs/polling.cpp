// Programs that poll instead of waiting: the rank that holds the slot must let those run that it polls for.
#include "checked_program.h"
#include "library_sum.h"

namespace {

constexpr int kRounds = 5;

void await_by_test(MPI_Request* request) {
  for (int flag = 0; flag == 0;) MPI_Test(request, &flag, MPI_STATUS_IGNORE);
}

// A token goes round; whoever does not have it polls.
void token_by_test(CheckedProgram& program) {
  int token = 0, incoming = 0;
  for (int round = 0; round < kRounds; ++round) {
    MPI_Request receive, send;
    MPI_Irecv(&incoming, 1, MPI_INT, program.left(), round, MPI_COMM_WORLD, &receive);
    if (program.rank() != 0) {
      await_by_test(&receive);
      token = incoming;
    }
    ++token;
    MPI_Isend(&token, 1, MPI_INT, program.right(), round, MPI_COMM_WORLD, &send);
    await_by_test(&send);
    if (program.rank() == 0) {
      await_by_test(&receive);
      token = incoming;
    }
  }
  program.equal(token,
                program.rank() == 0 ? kRounds * program.size() : (kRounds - 1) * program.size() + program.rank() + 1);
}

void token_by_probe(CheckedProgram& program) {
  int token = 0;
  for (int round = 0; round < kRounds; ++round) {
    MPI_Request send = MPI_REQUEST_NULL;
    if (program.rank() == 0) {
      ++token;
      MPI_Isend(&token, 1, MPI_INT, program.right(), 50, MPI_COMM_WORLD, &send);
    }
    MPI_Status status;
    for (int flag = 0; flag == 0;) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
    program.status(status, program.left(), 50, 1, MPI_INT);
    int incoming = 0;
    MPI_Recv(&incoming, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    token = incoming;
    if (program.rank() != 0) MPI_Send(&++token, 1, MPI_INT, program.right(), 50, MPI_COMM_WORLD);
  }
  program.equal(token,
                program.rank() == 0 ? kRounds * program.size() : (kRounds - 1) * program.size() + program.rank() + 1);
}

// A server that looks for work among everybody's requests, and clients that look for its answers.
void server_and_clients(CheckedProgram& program) {
  if (program.size() == 1) return;
  int number = program.rank();
  if (program.rank() != 0) {
    for (int round = 0; round < kRounds; ++round) {
      int answer = -1;
      MPI_Request requests[2];
      MPI_Irecv(&answer, 1, MPI_INT, 0, 61, MPI_COMM_WORLD, &requests[0]);
      MPI_Issend(&number, 1, MPI_INT, 0, 60, MPI_COMM_WORLD, &requests[1]);
      for (int flag = 0; flag == 0;) MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
      program.equal(answer, 2 * number);
    }
    return;
  }
  std::vector<int> in(static_cast<size_t>(program.size()));
  std::vector<MPI_Request> requests(in.size(), MPI_REQUEST_NULL);
  for (int client = 1; client < program.size(); ++client)
    MPI_Irecv(&in[static_cast<size_t>(client)], 1, MPI_INT, client, 60, MPI_COMM_WORLD,
              &requests[static_cast<size_t>(client)]);
  for (int served = 0; served < kRounds * (program.size() - 1);) {
    int client = 0, flag = 0;
    MPI_Testany(program.size(), requests.data(), &client, &flag, MPI_STATUS_IGNORE);
    if (flag == 0) continue;
    ++served;
    const auto at = static_cast<size_t>(client);
    program.equal(in[at], client);
    const int answer = 2 * in[at];
    MPI_Send(&answer, 1, MPI_INT, client, 61, MPI_COMM_WORLD);
    MPI_Irecv(&in[at], 1, MPI_INT, client, 60, MPI_COMM_WORLD, &requests[at]);
  }
  for (int client = 1; client < program.size(); ++client) {
    MPI_Cancel(&requests[static_cast<size_t>(client)]);
    MPI_Wait(&requests[static_cast<size_t>(client)], MPI_STATUS_IGNORE);
  }
}

// Shared memory of a window, which each rank looks at until its left neighbour has written there.
void token_by_shared_memory(CheckedProgram& program) {
  int* own = nullptr;
  MPI_Win window;
  MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window);
  const auto place_of = [&](int rank) {
    MPI_Aint bytes = 0;
    int unit = 0;
    int* place = nullptr;
    MPI_Win_shared_query(window, rank, &bytes, &unit, &place);
    return static_cast<volatile int*>(place);
  };
  volatile int *mine = place_of(program.rank()), *next = place_of(program.right());
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
  *mine = 0;
  MPI_Win_sync(window);
  MPI_Barrier(MPI_COMM_WORLD);
  if (program.rank() == program.size() - 1) *next = 1;
  while (*mine == 0) MPI_Win_sync(window);
  program.equal(static_cast<int>(*mine), program.rank() + 1);
  if (program.rank() != program.size() - 1) *next = program.rank() + 2;
  MPI_Win_sync(window);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

void library_collectives(CheckedProgram& program) {
  const LibrarySum library;
  for (int round = 0; round < kRounds; ++round) {
    const int one = 1;
    int sum = 0;
    MPI_Request request;
    library.start(&one, &sum, MPI_COMM_WORLD, &request);
    await_by_test(&request);
    program.equal(sum, program.size());
  }
}

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  token_by_test(program);
  token_by_probe(program);
  MPI_Barrier(MPI_COMM_WORLD);  // the probes are for any message
  server_and_clients(program);
  token_by_shared_memory(program);
  library_collectives(program);
  return program.finish();
}
