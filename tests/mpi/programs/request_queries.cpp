// MPI_Request_get_status and, since MPI 4.1, its forms for several requests: they tell what requests have come to and
// end none.
#include <array>

#include "checked_program.h"
#include "library_sum.h"

namespace {

constexpr int kTag = 31;
// Two receives of Spillway's, a barrier of the library's, none, and a persistent receive that is not started.
constexpr int kRequests = 5;
constexpr int kNone = 3;
constexpr int kNotStarted = 4;

#define SPILLWAY_TEST_HAS_MPI_4_1 (MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1))

using Requests = std::array<MPI_Request, kRequests>;
using Statuses = std::array<MPI_Status, kRequests>;

struct Some {
  int count = 0;
  std::array<int, kRequests> indices{};
};

#if SPILLWAY_TEST_HAS_MPI_4_1
bool all_complete(const Requests& requests, Statuses& statuses) {
  int flag = 0;
  MPI_Request_get_status_all(kRequests, requests.data(), &flag, statuses.data());
  return flag != 0;
}

int any_complete(const Requests& requests, MPI_Status& status, bool& found) {
  int flag = 0, index = 0;
  MPI_Request_get_status_any(kRequests, requests.data(), &index, &flag, &status);
  found = flag != 0;
  return index;
}

Some some_complete(const Requests& requests, Statuses& statuses) {
  Some some;
  MPI_Request_get_status_some(kRequests, requests.data(), &some.count, some.indices.data(), statuses.data());
  return some;
}
#else  // the same, as a program for an older MPI has to write it
bool is_started = false;  // the persistent receive

bool is_active(const Requests& requests, int i) {
  return requests[i] != MPI_REQUEST_NULL && (i != kNotStarted || is_started);
}

bool all_complete(const Requests& requests, Statuses& statuses) {
  for (int i = 0; i < kRequests; ++i) {
    int flag = 0;
    MPI_Request_get_status(requests[i], &flag, &statuses[i]);
    if (flag == 0) return false;
  }
  return true;
}

Some some_complete(const Requests& requests, Statuses& statuses) {
  Some some;
  for (int i = 0; i < kRequests; ++i) {
    int flag = 0;
    if (is_active(requests, i)) MPI_Request_get_status(requests[i], &flag, &statuses[some.count]);
    if (flag != 0) some.indices[some.count++] = i;
  }
  return some;
}

int any_complete(const Requests& requests, MPI_Status& status, bool& found) {
  Statuses statuses;
  const Some some = some_complete(requests, statuses);
  found = some.count > 0;
  if (found) status = statuses[0];
  return found ? some.indices[0] : MPI_UNDEFINED;
}
#endif

// MPICH 4.3 moves nothing on in a query that finds something complete.
void move_on() {
  int flag = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, kTag + 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

void empty_status(CheckedProgram& program, const MPI_Status& status) {
  program.status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, MPI_BYTE);
}

void send_right(CheckedProgram& program, int tag) {
  const int out = pattern(program.rank(), tag, 0);
  MPI_Send(&out, 1, MPI_INT, program.right(), tag, MPI_COMM_WORLD);
}

void nothing_has_come(CheckedProgram& program, const Requests& requests) {
  Statuses statuses;
  bool found = true;
  program.equal(some_complete(requests, statuses).count, 0);
  program.equal(any_complete(requests, statuses[0], found), MPI_UNDEFINED);
  program.holds(!found);
  program.holds(!all_complete(requests, statuses));
}

void the_second_and_the_barrier_have_come(CheckedProgram& program, const Requests& requests) {
  Statuses statuses;
  Some some;
  while ((some = some_complete(requests, statuses)).count < 2) move_on();
  program.equal(some.count, 2);
  program.equal(some.indices[0], 1);
  program.equal(some.indices[1], 2);
  program.status(statuses[0], program.left(), kTag + 1, 1, MPI_INT);
  MPI_Status status;
  bool found = false;
  program.equal(any_complete(requests, status, found), 1);
  program.holds(found);
  program.status(status, program.left(), kTag + 1, 1, MPI_INT);
  program.holds(!all_complete(requests, statuses));
}

void all_have_come(CheckedProgram& program, const Requests& requests) {
  Statuses statuses;
  while (!all_complete(requests, statuses)) move_on();
  for (int i = 0; i < 2; ++i) program.status(statuses[i], program.left(), kTag + i, 1, MPI_INT);
  empty_status(program, statuses[kNone]);
  empty_status(program, statuses[kNotStarted]);
  program.holds(all_complete(requests, statuses));
  for (int i = 0; i < kNone; ++i) program.holds(requests[i] != MPI_REQUEST_NULL);
}

void none_is_active(CheckedProgram& program, const Requests& requests) {
  Statuses statuses;
  program.holds(all_complete(requests, statuses));
  for (const MPI_Status& status : statuses) empty_status(program, status);
#if SPILLWAY_TEST_HAS_MPI_4_1
  bool found = false;
  program.equal(any_complete(requests, statuses[0], found), MPI_UNDEFINED);
  program.holds(found);
  empty_status(program, statuses[0]);
  program.equal(some_complete(requests, statuses).count, MPI_UNDEFINED);
#endif
  if (!program.is_strict()) return;  // libraries differ in whether an empty status says that there was no error
  MPI_Status empty;
  empty.MPI_ERROR = MPI_ERR_OTHER;
  MPI_Request none = MPI_REQUEST_NULL;
  int index = 0, flag = 0;
  MPI_Request_get_status(none, &flag, &empty);
  program.equal(empty.MPI_ERROR, MPI_SUCCESS);
  empty.MPI_ERROR = MPI_ERR_OTHER;
  MPI_Waitany(1, &none, &index, &empty);
  program.equal(empty.MPI_ERROR, MPI_SUCCESS);
  empty.MPI_ERROR = MPI_ERR_OTHER;
  MPI_Testany(1, &none, &index, &flag, &empty);
  program.equal(empty.MPI_ERROR, MPI_SUCCESS);
}

void a_started_one_is_active(CheckedProgram& program, Requests& requests) {
  Statuses statuses;
  MPI_Start(&requests[kNotStarted]);
#if !SPILLWAY_TEST_HAS_MPI_4_1
  is_started = true;
#endif
  program.holds(!all_complete(requests, statuses));
  MPI_Barrier(MPI_COMM_WORLD);
  send_right(program, kTag + 2);
  Some some;
  while ((some = some_complete(requests, statuses)).count < 1) move_on();
  program.equal(some.indices[0], kNotStarted);
  program.status(statuses[0], program.left(), kTag + 2, 1, MPI_INT);
  MPI_Wait(&requests[kNotStarted], MPI_STATUS_IGNORE);
  MPI_Request_free(&requests[kNotStarted]);
}

void query_all(CheckedProgram& program) {
  std::array<int, 3> in{-1, -1, -1};
  Requests requests;
  requests.fill(MPI_REQUEST_NULL);
  for (int i = 0; i < 2; ++i) MPI_Irecv(&in[i], 1, MPI_INT, program.left(), kTag + i, MPI_COMM_WORLD, &requests[i]);
  MPI_Recv_init(&in[2], 1, MPI_INT, program.left(), kTag + 2, MPI_COMM_WORLD, &requests[kNotStarted]);
  nothing_has_come(program, requests);

  // Between the two barriers only second messages are on their way.
  MPI_Barrier(MPI_COMM_WORLD);
  const LibrarySum library;
  const int one = 1;
  int sum = 0;
  library.start(&one, &sum, MPI_COMM_WORLD, &requests[2]);
  send_right(program, kTag + 1);
  the_second_and_the_barrier_have_come(program, requests);
  MPI_Barrier(MPI_COMM_WORLD);

  send_right(program, kTag);
  all_have_come(program, requests);
  MPI_Waitall(kNone, requests.data(), MPI_STATUSES_IGNORE);
  none_is_active(program, requests);
  a_started_one_is_active(program, requests);
  for (int i = 0; i < 3; ++i) program.equal(in[i], pattern(program.left(), kTag + i, 0));
}

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  query_all(program);
  return program.finish();
}
