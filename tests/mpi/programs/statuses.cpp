// What a status says, and errors that are returned: truncation, wrong arguments, cancelled
// receives, requests given up.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "checked_program.h"

namespace {

constexpr int kUntouched = 4711;

MPI_Comm returning_errors(MPI_Comm from) {
  MPI_Comm made;
  MPI_Comm_dup(from, &made);
  MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  return made;
}

void empty_status(CheckedProgram& program, const MPI_Status& status) {
  int is_cancelled = 1;
  MPI_Test_cancelled(&status, &is_cancelled);
  program.equal(is_cancelled, 0);
  program.status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, MPI_BYTE);
}

void null_requests_give_the_empty_status(CheckedProgram& program) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  memset(&status, 0x55, sizeof status);
  MPI_Wait(&request, &status);
  empty_status(program, status);
  int flag = 0, index = 0;
  memset(&status, 0x55, sizeof status);
  MPI_Testany(1, &request, &index, &flag, &status);
  program.equal(flag, 1);
  program.equal(index, MPI_UNDEFINED);
  empty_status(program, status);
}

// Only calls that return many statuses set the error field.
void error_field(CheckedProgram& program) {
  int in[2] = {0, 0}, out = 1;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  for (int& value : in) MPI_Irecv(&value, 1, MPI_INT, program.left(), 2, MPI_COMM_WORLD, &requests[&value - in]);
  for (int i = 0; i < 2; ++i) MPI_Send(&out, 1, MPI_INT, program.right(), 2, MPI_COMM_WORLD);
  MPI_Waitall(2, requests, statuses);
  for (const MPI_Status& status : statuses) program.status(status, program.left(), 2, 1, MPI_INT);
  MPI_Status status;
  status.MPI_ERROR = kUntouched;
  MPI_Sendrecv(&out, 1, MPI_INT, program.right(), 3, in, 1, MPI_INT, program.left(), 3, MPI_COMM_WORLD, &status);
  program.equal(status.MPI_ERROR, kUntouched);
  MPI_Irecv(in, 1, MPI_INT, program.left(), 4, MPI_COMM_WORLD, requests);
  MPI_Send(&out, 1, MPI_INT, program.right(), 4, MPI_COMM_WORLD);
  MPI_Wait(requests, &status);
  program.equal(status.MPI_ERROR, kUntouched);
}

// A message may end in the middle of a datatype: MPI_Get_elements counts what has come, and no more than that is
// written.
void parts_of_a_datatype(CheckedProgram& program) {
  struct Mixed {
    int number;
    double value;
    int last;
  };
  const int lengths[] = {1, 1, 1};
  const MPI_Aint offsets[] = {offsetof(Mixed, number), offsetof(Mixed, value), offsetof(Mixed, last)};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_INT};
  MPI_Datatype unsized, mixed;
  MPI_Type_create_struct(3, lengths, offsets, types, &unsized);
  MPI_Type_create_resized(unsized, 0, sizeof(Mixed), &mixed);
  MPI_Type_commit(&mixed);
  MPI_Datatype begin;  // what one element and the first two members of the next hold
  const int begin_lengths[] = {1, 1, 1, 1, 1};
  const auto next = static_cast<MPI_Aint>(sizeof(Mixed));
  const MPI_Aint begin_offsets[] = {offsets[0], offsets[1], offsets[2], next, next + offsets[1]};
  const MPI_Datatype begin_types[] = {MPI_INT, MPI_DOUBLE, MPI_INT, MPI_INT, MPI_DOUBLE};
  MPI_Type_create_struct(5, begin_lengths, begin_offsets, begin_types, &begin);
  MPI_Type_commit(&begin);
  const Mixed out[2] = {{1, 2.5, 3}, {4, 5.5, 6}};
  Mixed in[3] = {{-1, -1, -1}, {-1, -1, -1}, {-1, -1, -1}};
  MPI_Status status;
  MPI_Sendrecv(out, 1, begin, program.right(), 1, in, 3, mixed, program.left(), 1, MPI_COMM_WORLD, &status);
  int count = 0, elements = 0;
  MPI_Count elements_x = 0;
  MPI_Get_count(&status, mixed, &count);
  MPI_Get_elements(&status, mixed, &elements);
  MPI_Get_elements_x(&status, mixed, &elements_x);
  program.equal(count, MPI_UNDEFINED);
  program.equal(elements, 5);
  program.equal(elements_x, 5);
  program.equal(in[0].number, 1);
  program.equal(in[0].value, 2.5);
  program.equal(in[0].last, 3);
  program.equal(in[1].number, 4);
  program.equal(in[1].value, 5.5);
  program.equal(in[1].last, -1);
  program.equal(in[2].number, -1);
  for (MPI_Datatype* type : {&unsized, &mixed, &begin}) MPI_Type_free(type);
}

// Up to `longest` integers. Beyond what it sends eagerly, Open MPI 4.1 writes past the end of the receiver's buffer.
void too_long_messages(CheckedProgram& program, int longest) {
  MPI_Comm comm = returning_errors(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // to which MPICH takes the errors of MPI_Waitall
  for (int length = 10; length <= longest; length *= 10) {
    const auto half = static_cast<size_t>(length) / 2;
    const std::vector<int> out = patterned(program.rank(), 1, static_cast<size_t>(length));
    std::vector<int> in(half + 1, -1);
    MPI_Request send;
    MPI_Isend(out.data(), length, MPI_INT, program.right(), 1, comm, &send);
    MPI_Status status;
    program.error_class(MPI_Recv(in.data(), static_cast<int>(half), MPI_INT, program.left(), 1, comm, &status),
                        MPI_ERR_TRUNCATE);
    program.equal(in[half], -1);
    MPI_Wait(&send, MPI_STATUS_IGNORE);

    // The one that fails among two is named by its status; the other, and the next message, are as good as ever.
    MPI_Request requests[2], sends[2];
    MPI_Status statuses[2];
    std::vector<int> whole(static_cast<size_t>(length));
    MPI_Irecv(in.data(), static_cast<int>(half), MPI_INT, program.left(), 2, comm, &requests[0]);
    MPI_Irecv(whole.data(), length, MPI_INT, program.left(), 3, comm, &requests[1]);
    MPI_Isend(out.data(), length, MPI_INT, program.right(), 3, comm, &sends[1]);
    MPI_Isend(out.data(), length, MPI_INT, program.right(), 2, comm, &sends[0]);
    const int code = MPI_Waitall(2, requests, statuses);
    program.error_class(code, MPI_ERR_IN_STATUS);
    program.error_class(statuses[0].MPI_ERROR, MPI_ERR_TRUNCATE);
    if (requests[1] != MPI_REQUEST_NULL) MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    program.holds(whole == patterned(program.left(), 1, static_cast<size_t>(length)));
    MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
    MPI_Barrier(comm);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&comm);
}

void wrong_arguments(CheckedProgram& program) {
  MPI_Comm comm = returning_errors(MPI_COMM_WORLD);
  int data = 0, size = program.size();
  program.error_class(MPI_Send(&data, 1, MPI_INT, size, 0, comm), MPI_ERR_RANK);
  program.error_class(MPI_Send(&data, -1, MPI_INT, 0, 0, comm), MPI_ERR_COUNT);
  program.error_class(MPI_Send(&data, 1, MPI_INT, 0, -5, comm), MPI_ERR_TAG);
  program.error_class(MPI_Recv(&data, 1, MPI_DATATYPE_NULL, 0, 0, comm, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
  program.error_class(MPI_Recv(&data, 1, MPI_INT, -7, 0, comm, MPI_STATUS_IGNORE), MPI_ERR_RANK);
  program.error_class(MPI_Bcast(&data, 1, MPI_INT, size, comm), MPI_ERR_ROOT);
  program.error_class(MPI_Allreduce(MPI_IN_PLACE, &data, 1, MPI_INT, MPI_OP_NULL, comm), MPI_ERR_OP);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  program.error_class(MPI_Send(&data, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&comm);
}

int handled_errors = 0;
MPI_Comm handled_comm = MPI_COMM_NULL;

void note_error(MPI_Comm* comm, int*, ...) {
  ++handled_errors;
  handled_comm = *comm;
}

void error_handler_of_the_communicator(CheckedProgram& program) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(note_error, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  int data = 0;
  MPI_Send(&data, 1, MPI_INT, program.size() + 3, 0, comm);
  program.equal(handled_errors, 1);
  program.holds(handled_comm == comm);
  const int four[4] = {1, 2, 3, 4};
  MPI_Request requests[3];
  for (MPI_Request& request : requests) MPI_Isend(four, 4, MPI_INT, program.right(), 0, comm, &request);
  MPI_Recv(&data, 1, MPI_INT, program.left(), 0, comm, MPI_STATUS_IGNORE);
  program.equal(handled_errors, 2);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  program.equal(handled_errors, 2);
  int in[8];
  MPI_Irecv(in, 4, MPI_INT, program.left(), 0, comm, &requests[0]);
  MPI_Irecv(in + 4, 4, MPI_INT, program.left(), 0, comm, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  program.equal(in[7], 4);
  program.equal(handled_errors, 2);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
}

void cancelled_receives(CheckedProgram& program) {
  int data = 5, is_cancelled = 0;
  MPI_Request request;
  MPI_Status status;
  MPI_Irecv(&data, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &is_cancelled);
  program.equal(is_cancelled, 1);

  // The message that it would have taken is there for the next.
  MPI_Barrier(MPI_COMM_WORLD);
  const int out = pattern(program.rank(), 99, 0);
  MPI_Sendrecv(&out, 1, MPI_INT, program.right(), 99, &data, 1, MPI_INT, program.left(), 99, MPI_COMM_WORLD, &status);
  program.equal(data, pattern(program.left(), 99, 0));

  // A receive that has its message either is not cancelled, or leaves the message.
  MPI_Request send;
  MPI_Isend(&out, 1, MPI_INT, program.rank(), 98, MPI_COMM_WORLD, &send);
  data = 0;
  MPI_Irecv(&data, 1, MPI_INT, program.rank(), 98, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &is_cancelled);
  if (is_cancelled != 0) MPI_Recv(&data, 1, MPI_INT, program.rank(), 98, MPI_COMM_WORLD, &status);
  program.equal(data, out);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
}

// A synchronous send that is not received is cancelled, where the library can do that: Open MPI cannot. Its message is
// gone then, and the next one comes.
void cancelled_sends(CheckedProgram& program) {
  const bool is_under_spillway = getenv("SPILLWAY_SOCKET") != nullptr;
  const int last = program.size() - 1;
  if (last == 0) return;
  for (const int count : {1, 100000}) {
    MPI_Barrier(MPI_COMM_WORLD);  // what was sent in the round before has been looked for
    std::vector<int> data(static_cast<size_t>(count), program.rank());
    int is_cancelled = 0;
    if (program.rank() == 0) {
      MPI_Request request;
      MPI_Status status;
      MPI_Issend(data.data(), count, MPI_INT, last, 94, MPI_COMM_WORLD, &request);
      MPI_Cancel(&request);
      int is_complete = 0;
      for (const double end = MPI_Wtime() + 1; is_complete == 0 && MPI_Wtime() < end;)
        MPI_Test(&request, &is_complete, &status);
      if (is_complete != 0) MPI_Test_cancelled(&status, &is_cancelled);
      program.holds(is_cancelled != 0 || !is_under_spillway);
      std::vector<int> next(data.size(), 77);
      MPI_Request others[2];
      MPI_Isend(next.data(), count, MPI_INT, last, 94, MPI_COMM_WORLD, &others[0]);
      MPI_Isend(&is_cancelled, 1, MPI_INT, last, 93, MPI_COMM_WORLD, &others[1]);
      MPI_Wait(&request, &status);
      MPI_Waitall(2, others, MPI_STATUSES_IGNORE);
    }
    if (program.rank() != last) continue;
    MPI_Recv(&is_cancelled, 1, MPI_INT, 0, 93, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (is_cancelled == 0) MPI_Recv(data.data(), count, MPI_INT, 0, 94, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(data.data(), count, MPI_INT, 0, 94, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    program.equal(data.back(), 77);
    int is_there = 1;
    MPI_Iprobe(0, 94, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
    program.equal(is_there, 0);
  }
}

// Of one to the rank itself, it is known at once whether it is cancelled.
void cancelled_sends_to_oneself(CheckedProgram& program) {
  int data = 7, is_complete = 0, is_cancelled = 0;
  MPI_Request request;
  MPI_Status status;
  MPI_Issend(&data, 1, MPI_INT, program.rank(), 91, MPI_COMM_WORLD, &request);
  MPI_Probe(program.rank(), MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  program.equal(status.MPI_TAG, 91);
  MPI_Cancel(&request);
  MPI_Request_get_status(request, &is_complete, &status);
  if (is_complete != 0) MPI_Test_cancelled(&status, &is_cancelled);
  program.holds(is_cancelled != 0 || getenv("SPILLWAY_SOCKET") == nullptr);
  if (is_cancelled == 0) MPI_Recv(&data, 1, MPI_INT, program.rank(), 91, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Iprobe(program.rank(), 91, MPI_COMM_WORLD, &is_complete, MPI_STATUS_IGNORE);
  program.equal(is_complete, 0);
}

// A synchronous send that has been received is not cancelled.
void sends_that_are_cancelled_too_late(CheckedProgram& program) {
  const int out = pattern(program.rank(), 92, 0);
  int in = 0, is_cancelled = 1;
  MPI_Request requests[2];
  MPI_Status status;
  MPI_Irecv(&in, 1, MPI_INT, program.left(), 92, MPI_COMM_WORLD, &requests[0]);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Issend(&out, 1, MPI_INT, program.right(), 92, MPI_COMM_WORLD, &requests[1]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Cancel(&requests[1]);
  MPI_Wait(&requests[1], &status);
  MPI_Test_cancelled(&status, &is_cancelled);
  program.equal(is_cancelled, 0);
  program.equal(in, pattern(program.left(), 92, 0));
}

// A request that is given up completes all the same.
void freed_requests(CheckedProgram& program) {
  const int out = pattern(program.rank(), 97, 0);
  volatile int in = -1;
  MPI_Request request;
  MPI_Irecv(const_cast<int*>(&in), 1, MPI_INT, program.left(), 97, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
  program.holds(request == MPI_REQUEST_NULL);
  MPI_Send(&out, 1, MPI_INT, program.right(), 97, MPI_COMM_WORLD);
  int flag = 0;
  while (in == -1) MPI_Iprobe(MPI_ANY_SOURCE, 96, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  program.equal(static_cast<int>(in), pattern(program.left(), 97, 0));
  MPI_Barrier(MPI_COMM_WORLD);
}

void looking_at_a_request(CheckedProgram& program) {
  const int out = 6;
  int in = 0, flag = 1;
  MPI_Request request;
  MPI_Status status;
  MPI_Irecv(&in, 1, MPI_INT, program.left(), 95, MPI_COMM_WORLD, &request);
  MPI_Request_get_status(request, &flag, &status);
  program.equal(flag, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(&out, 1, MPI_INT, program.right(), 95, MPI_COMM_WORLD);
  while (flag == 0) MPI_Request_get_status(request, &flag, &status);
  program.status(status, program.left(), 95, 1, MPI_INT);
  program.holds(request != MPI_REQUEST_NULL);
  program.equal(in, 6);
  MPI_Wait(&request, &status);
  program.status(status, program.left(), 95, 1, MPI_INT);
  MPI_Request_get_status(MPI_REQUEST_NULL, &flag, &status);
  program.equal(flag, 1);
  empty_status(program, status);
}

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  null_requests_give_the_empty_status(program);
  error_field(program);
  parts_of_a_datatype(program);
  too_long_messages(program, program.is_strict() ? 100000 : 1000);
  wrong_arguments(program);
  error_handler_of_the_communicator(program);
  cancelled_receives(program);
  cancelled_sends(program);
  cancelled_sends_to_oneself(program);
  sends_that_are_cancelled_too_late(program);
  freed_requests(program);
  looking_at_a_request(program);
  return program.finish();
}
