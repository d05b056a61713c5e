// Requests that the program itself completes, which are the MPI library's, in one array with those of Spillway; and MPI
// 4's exchanges with a request.
#include <array>
#include <atomic>
#include <thread>

#include "checked_program.h"

namespace {

struct Calls {
  int queries = 0, frees = 0, cancels = 0;
  int elements = 0;
};

int query(void* state, MPI_Status* status) {
  auto* calls = static_cast<Calls*>(state);
  ++calls->queries;
  MPI_Status_set_elements(status, MPI_INT, calls->elements);
  MPI_Status_set_cancelled(status, calls->cancels > 0 ? 1 : 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int released(void* state) {
  ++static_cast<Calls*>(state)->frees;
  return MPI_SUCCESS;
}

int cancelled(void* state, int) {
  ++static_cast<Calls*>(state)->cancels;
  return MPI_SUCCESS;
}

void alone(CheckedProgram& program) {
  Calls calls;
  calls.elements = 5;
  MPI_Request request;
  MPI_Status status;
  int flag = 1, count = -1;
  MPI_Grequest_start(query, released, cancelled, &calls, &request);
  MPI_Test(&request, &flag, &status);
  program.equal(flag, 0);
  MPI_Cancel(&request);
  program.equal(calls.cancels, 1);
  MPI_Grequest_complete(request);
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  program.equal(count, 5);
  MPI_Test_cancelled(&status, &flag);
  program.equal(flag, 1);
  program.equal(calls.frees, 1);
  program.holds(calls.queries >= 1);
  program.holds(request == MPI_REQUEST_NULL);
}

// A receive, a request of the program's, a collective, and none.
void among_others(CheckedProgram& program) {
  for (int round = 0; round < 3; ++round) {
    Calls calls;
    int in = -1;
    const int own = program.rank() * 10 + round;
    std::array<MPI_Request, 4> requests{};
    MPI_Irecv(&in, 1, MPI_INT, program.left(), round, MPI_COMM_WORLD, &requests[0]);
    MPI_Grequest_start(query, released, cancelled, &calls, &requests[1]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]);
    requests[3] = MPI_REQUEST_NULL;
    MPI_Send(&own, 1, MPI_INT, program.right(), round, MPI_COMM_WORLD);
    const int count = static_cast<int>(requests.size());
    if (round == 0) {
      MPI_Grequest_complete(requests[1]);
      MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE);
    }
    if (round == 1) {
      for (int left = 3; left > 0; --left) {
        int index = -1;
        if (left == 1) MPI_Grequest_complete(requests[1]);  // the only one that is not complete
        MPI_Waitany(count, requests.data(), &index, MPI_STATUS_IGNORE);
        program.equal(index == 1, left == 1);
      }
    }
    if (round == 2) {
      int flag = 1;
      MPI_Testall(count, requests.data(), &flag, MPI_STATUSES_IGNORE);
      program.equal(flag, 0);
      MPI_Grequest_complete(requests[1]);
      for (flag = 0; flag == 0;) MPI_Testall(count, requests.data(), &flag, MPI_STATUSES_IGNORE);
    }
    program.equal(in, program.left() * 10 + round);
    program.equal(calls.frees, 1);
  }
}

// What these are made for: a thread of the program's does the work while the rank waits in MPI.
void completed_by_a_thread(CheckedProgram& program) {
  for (int round = 0; round < 3; ++round) {
    Calls calls;
    MPI_Request request;
    MPI_Grequest_start(query, released, cancelled, &calls, &request);
    std::atomic<int> work = 0;
    std::thread worker([&] {
      work = round + 1;
      MPI_Grequest_complete(request);
    });
    MPI_Request waited = request;
    MPI_Wait(&waited, MPI_STATUS_IGNORE);
    worker.join();
    program.equal(work.load(), round + 1);
    program.equal(calls.frees, 1);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

#ifdef SPILLWAY_TEST_HAS_MPI_4
void exchanges(CheckedProgram& program) {
  constexpr int kLength = 30000;
  const std::vector<int> out = patterned(program.rank(), 1, kLength);
  std::vector<int> in(kLength, -1), replaced = patterned(program.rank(), 2, kLength);
  MPI_Request requests[2];
  MPI_Isendrecv(out.data(), kLength, MPI_INT, program.right(), 1, in.data(), kLength, MPI_INT, program.left(), 1,
                MPI_COMM_WORLD, &requests[0]);
  MPI_Isendrecv_replace(replaced.data(), kLength, MPI_INT, program.left(), 2, program.right(), 2, MPI_COMM_WORLD,
                        &requests[1]);
  MPI_Status statuses[2];
  MPI_Waitall(2, requests, statuses);
  program.status(statuses[0], program.left(), 1, kLength, MPI_INT);
  program.status(statuses[1], program.right(), 2, kLength, MPI_INT);
  program.holds(in == patterned(program.left(), 1, kLength));
  program.holds(replaced == patterned(program.right(), 2, kLength));
}
#else
void exchanges(CheckedProgram&) {}  // new in MPI 4.0
#endif

}  // namespace

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CheckedProgram program(argc, argv);
  program.equal(provided, MPI_THREAD_MULTIPLE);
  alone(program);
  among_others(program);
  completed_by_a_thread(program);
  if (program.is_strict()) exchanges(program);  // MPICH 4.0 gives no status
  return program.finish();
}
