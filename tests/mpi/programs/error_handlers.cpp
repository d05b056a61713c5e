// Error handlers of the program's own: they may communicate, and they may jump out of the call that failed. Errors of
// operations whose communicator has been freed.
#include <csetjmp>

#include "checked_program.h"

namespace {

CheckedProgram* the_program = nullptr;
std::jmp_buf before_the_call;
int calls = 0, last_class = MPI_SUCCESS;

void count_call(MPI_Comm*, int* code, ...) {
  ++calls;
  MPI_Error_class(*code, &last_class);
}

void jump_back(MPI_Comm* comm, int* code, ...) {
  count_call(comm, code);
  std::longjmp(before_the_call, 1);
}

void send_around(MPI_Comm* comm, int* code, ...) {
  count_call(comm, code);
  const int rank = the_program->rank();
  int got = -1;
  MPI_Sendrecv(&rank, 1, MPI_INT, the_program->right(), 7, &got, 1, MPI_INT, the_program->left(), 7, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  the_program->equal(got, the_program->left());
}

class WithHandler {
 public:
  WithHandler(MPI_Comm comm, MPI_Comm_errhandler_function* function) : comm_(comm) {
    MPI_Comm_get_errhandler(comm, &before_);
    MPI_Comm_create_errhandler(function, &handler_);
    MPI_Comm_set_errhandler(comm, handler_);
    calls = 0;
  }
  WithHandler(const WithHandler&) = delete;
  WithHandler& operator=(const WithHandler&) = delete;
  ~WithHandler() {
    MPI_Comm_set_errhandler(comm_, before_);
    MPI_Errhandler_free(&handler_);
    MPI_Errhandler_free(&before_);
  }

 private:
  MPI_Comm comm_;
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL, handler_ = MPI_ERRHANDLER_NULL;
};

// What follows a jump is Spillway's still: with one slot, a barrier of the library's would never end.
void handler_jumps(CheckedProgram& program) {
  const WithHandler with_handler(MPI_COMM_WORLD, jump_back);
  int data = 0;
  if (setjmp(before_the_call) == 0) {
    MPI_Send(&data, 1, MPI_INT, program.size(), 0, MPI_COMM_WORLD);
    program.holds(false);
  }
  program.equal(calls, 1);
  program.equal(last_class, MPI_ERR_RANK);
  MPI_Barrier(MPI_COMM_WORLD);
  if (setjmp(before_the_call) == 0) {
    const int two[2] = {};
    MPI_Send(two, 2, MPI_INT, program.rank(), 1, MPI_COMM_WORLD);
    MPI_Recv(&data, 1, MPI_INT, program.rank(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    program.holds(false);
  }
  program.equal(calls, 2);
  program.equal(last_class, MPI_ERR_TRUNCATE);
  MPI_Barrier(MPI_COMM_WORLD);
}

// What a call returns after its error handler: libraries differ (MPICH 4.3 says success then), Spillway gives the
// error.
void returned(CheckedProgram& program, int code, int wanted,
              std::source_location where = std::source_location::current()) {
  if (program.is_strict()) program.error_class(code, wanted, where);
}

void handler_communicates(CheckedProgram& program) {
  const WithHandler with_handler(MPI_COMM_SELF, send_around);
  int data = 0;
  returned(program, MPI_Send(&data, 1, MPI_INT, 1, 0, MPI_COMM_SELF), MPI_ERR_RANK);
  program.equal(calls, 1);
}

// A receive that is open when its communicator is freed, and fails later.
void communicator_is_gone(CheckedProgram& program) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(count_call, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Errhandler_free(&handler);
  calls = 0;
  int data = 0, two[2] = {};
  MPI_Request requests[3];
  for (int i = 0; i < 3; ++i) MPI_Irecv(&data, 1, MPI_INT, program.left(), i, comm, &requests[i]);
  for (int i = 0; i < 3; ++i) MPI_Send(two, 2, MPI_INT, program.right(), i, comm);
  MPI_Comm_free(&comm);
  int index = -1;
  program.error_class(MPI_Wait(&requests[1], MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  program.equal(calls, 1);
  program.error_class(MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
  program.equal(calls, 2);
  MPI_Status statuses[3];
  program.error_class(MPI_Waitall(3, requests, statuses), MPI_ERR_IN_STATUS);
  program.equal(calls, 3);
}

// All ranks hear of it, and nobody waits for the others.
void operation_is_not_for_the_datatype(CheckedProgram& program) {
  const WithHandler with_handler(MPI_COMM_WORLD, count_call);
  double in = 1, out = 0;
  const int count = 1;
  const std::vector<int> counts(static_cast<size_t>(program.size()), count);
  std::vector<double> all(counts.size());
  returned(program, MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD), MPI_ERR_OP);
  returned(program, MPI_Reduce(&in, &out, 1, MPI_DOUBLE, MPI_MINLOC, 0, MPI_COMM_WORLD), MPI_ERR_OP);
  returned(program, MPI_Scan(&in, &out, 1, MPI_DOUBLE, MPI_BXOR, MPI_COMM_WORLD), MPI_ERR_OP);
  returned(program, MPI_Exscan(&in, &out, 1, MPI_DOUBLE, MPI_BOR, MPI_COMM_WORLD), MPI_ERR_OP);
  returned(program, MPI_Reduce_scatter(all.data(), &out, counts.data(), MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD),
           MPI_ERR_OP);
  program.equal(calls, 5);
  MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  program.equal(out, program.size());
}

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  the_program = &program;
  handler_jumps(program);
  handler_communicates(program);
  if (program.is_strict()) communicator_is_gone(program);  // of which Open MPI 4.1 calls no error handler
  operation_is_not_for_the_datatype(program);
  return program.finish();
}
