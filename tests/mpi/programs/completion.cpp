// The wait and test families over arrays that mix requests of every kind; persistent requests.
#include <algorithm>

#include "checked_program.h"
#include "library_sum.h"

namespace {

// Requests of Spillway's and of the MPI library's own, with a null one between them, and what they bring.
class MixedRequests {
 public:
  static constexpr int kCount = 7;

  MixedRequests(CheckedProgram& program, int round) : program_(program), round_(round) {
    out_ = patterned(program.rank(), round, 1000);
    in_.assign(1000, -1);
    broadcast_ = program.rank() == 0 ? round : -1;
    one_ = 1;
    MPI_Irecv(in_.data(), 1000, MPI_INT, program.left(), round, MPI_COMM_WORLD, &requests_[0]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests_[1]);
    requests_[2] = MPI_REQUEST_NULL;
    MPI_Isend(out_.data(), 1000, MPI_INT, program.right(), round, MPI_COMM_WORLD, &requests_[3]);
    MPI_Ibcast(&broadcast_, 1, MPI_INT, 0, MPI_COMM_WORLD, &requests_[4]);
    library_.start(&one_, &sum_, MPI_COMM_WORLD, &requests_[5]);
    MPI_Issend(out_.data(), 10, MPI_INT, program.right(), round + 1000, MPI_COMM_WORLD, &requests_[6]);
    MPI_Irecv(late_, 10, MPI_INT, program.left(), round + 1000, MPI_COMM_WORLD, &late_request_);
  }

  MPI_Request* requests() { return requests_; }

  void check() {
    MPI_Wait(&late_request_, MPI_STATUS_IGNORE);
    for (MPI_Request request : requests_) program_.holds(request == MPI_REQUEST_NULL);
    program_.holds(in_ == patterned(program_.left(), round_, 1000));
    program_.equal(broadcast_, round_);
    program_.equal(sum_, program_.size());
    program_.equal(late_[9], pattern(program_.left(), round_, 9));
  }

  void status_of_receive(const MPI_Status& status) { program_.status(status, program_.left(), round_, 1000, MPI_INT); }

 private:
  CheckedProgram& program_;
  LibrarySum library_;
  int round_;
  MPI_Request requests_[kCount];
  MPI_Request late_request_;
  std::vector<int> out_, in_;
  int broadcast_, one_, sum_ = 0;
  int late_[10];
};

constexpr int kCount = MixedRequests::kCount;

void wait_all(CheckedProgram& program, int round) {
  MixedRequests mixed(program, round);
  MPI_Status statuses[kCount];
  MPI_Waitall(kCount, mixed.requests(), statuses);
  mixed.status_of_receive(statuses[0]);
  mixed.check();
}

void wait_any(CheckedProgram& program, int round) {
  MixedRequests mixed(program, round);
  std::vector<int> ended;
  for (int index = 0; index != MPI_UNDEFINED;) {
    MPI_Status status;
    MPI_Waitany(kCount, mixed.requests(), &index, &status);
    if (index == 0) mixed.status_of_receive(status);
    if (index != MPI_UNDEFINED) ended.push_back(index);
  }
  std::sort(ended.begin(), ended.end());
  program.holds(ended == std::vector<int>{0, 1, 3, 4, 5, 6});
  mixed.check();
}

void wait_some(CheckedProgram& program, int round) {
  MixedRequests mixed(program, round);
  std::vector<int> ended;
  for (;;) {
    int count = 0, indices[kCount];
    MPI_Status statuses[kCount];
    MPI_Waitsome(kCount, mixed.requests(), &count, indices, statuses);
    if (count == MPI_UNDEFINED) break;
    for (int i = 0; i < count; ++i) {
      ended.push_back(indices[i]);
      if (indices[i] == 0) mixed.status_of_receive(statuses[i]);
    }
  }
  std::sort(ended.begin(), ended.end());
  program.holds(ended == std::vector<int>{0, 1, 3, 4, 5, 6});
  mixed.check();
}

void test_all(CheckedProgram& program, int round) {
  MixedRequests mixed(program, round);
  MPI_Status statuses[kCount];
  for (int flag = 0; flag == 0;) MPI_Testall(kCount, mixed.requests(), &flag, statuses);
  mixed.status_of_receive(statuses[0]);
  mixed.check();
}

void test_any(CheckedProgram& program, int round) {
  MixedRequests mixed(program, round);
  std::vector<int> ended;
  for (;;) {
    int flag = 0, index = -1;
    MPI_Status status;
    MPI_Testany(kCount, mixed.requests(), &index, &flag, &status);
    if (flag == 0) continue;
    if (index == MPI_UNDEFINED) break;
    ended.push_back(index);
    if (index == 0) mixed.status_of_receive(status);
  }
  program.equal(ended.size(), size_t{6});
  mixed.check();
}

void test_some(CheckedProgram& program, int round) {
  MixedRequests mixed(program, round);
  int ended = 0;
  for (;;) {
    int count = 0, indices[kCount];
    MPI_Status statuses[kCount];
    MPI_Testsome(kCount, mixed.requests(), &count, indices, statuses);
    if (count == MPI_UNDEFINED) break;
    for (int i = 0; i < count; ++i)
      if (indices[i] == 0) mixed.status_of_receive(statuses[i]);
    ended += count;
  }
  program.equal(ended, 6);
  mixed.check();
}

void test_each(CheckedProgram& program, int round) {
  MixedRequests mixed(program, round);
  for (int i = 0; i < kCount; ++i)
    for (int flag = 0; flag == 0;) MPI_Test(&mixed.requests()[i], &flag, MPI_STATUS_IGNORE);
  mixed.check();
}

void nothing_to_wait_for(CheckedProgram& program) {
  int index = 0, flag = 0, count = 0;
  program.equal(MPI_Waitall(0, nullptr, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  MPI_Waitany(0, nullptr, &index, MPI_STATUS_IGNORE);
  program.equal(index, MPI_UNDEFINED);
  MPI_Testall(0, nullptr, &flag, MPI_STATUSES_IGNORE);
  program.equal(flag, 1);
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int indices[2];
  MPI_Waitsome(2, requests, &count, indices, MPI_STATUSES_IGNORE);
  program.equal(count, MPI_UNDEFINED);
}

// The library's collective goes on although this rank waits, or tests, for something of Spillway's.
void library_requests_go_on(CheckedProgram& program, bool is_polling) {
  const LibrarySum library;
  MPI_Request barrier, receive;
  int data = -1, sum = 0;
  const int own = program.rank();
  if (program.rank() == 0) MPI_Irecv(&data, 1, MPI_INT, program.size() - 1, 3, MPI_COMM_WORLD, &receive);
  library.start(&own, &sum, MPI_COMM_WORLD, &barrier);
  if (program.rank() != 0 || program.size() == 1) MPI_Wait(&barrier, MPI_STATUS_IGNORE);
  if (program.rank() == program.size() - 1) MPI_Send(&own, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
  if (program.rank() != 0) return;
  for (int flag = 0; is_polling && flag == 0;) MPI_Test(&receive, &flag, MPI_STATUS_IGNORE);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  MPI_Wait(&barrier, MPI_STATUS_IGNORE);
  program.equal(data, program.size() - 1);
}

using Prepare = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

void persistent_requests(CheckedProgram& program, Prepare prepare_send, int tag) {
  constexpr int kLength = 5000;
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  std::vector<int> out(kLength), in(kLength);
  MPI_Request requests[2];
  prepare_send(out.data(), kLength / 2, pair, program.right(), tag, MPI_COMM_WORLD, &requests[1]);
  MPI_Recv_init(in.data(), kLength / 2, pair, program.left(), tag, MPI_COMM_WORLD, &requests[0]);
  MPI_Type_free(&pair);
  for (int round = 0; round < 4; ++round) {
    const std::vector<int> next = patterned(program.rank(), round, kLength);
    std::copy(next.begin(), next.end(), out.begin());  // the requests know the memory, not the vector
    MPI_Status statuses[2];
    MPI_Start(&requests[0]);
    MPI_Barrier(MPI_COMM_WORLD);  // the ready mode needs the receive
    MPI_Start(&requests[1]);
    MPI_Waitall(2, requests, statuses);
    program.status(statuses[0], program.left(), tag, kLength, MPI_INT);
    program.holds(in == patterned(program.left(), round, kLength));
    program.holds(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL);
    int index = 0, flag = 0;
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    program.equal(index, MPI_UNDEFINED);
    MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    program.equal(flag, 1);
  }
  for (MPI_Request& request : requests) MPI_Request_free(&request);
  program.holds(requests[0] == MPI_REQUEST_NULL);
}

void every_persistent_mode(CheckedProgram& program) {
  std::vector<char> buffer(1 << 20);
  MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size()));
  int tag = 0;
  for (Prepare prepare : {MPI_Send_init, MPI_Ssend_init, MPI_Rsend_init}) persistent_requests(program, prepare, ++tag);
  // Open MPI 4.1 sends the data of the first start again and again.
  if (program.is_strict()) persistent_requests(program, MPI_Bsend_init, ++tag);
  void* address = nullptr;
  int bytes = 0;
  MPI_Buffer_detach(&address, &bytes);
}

void started_together(CheckedProgram& program) {
  int out = 0, in = 0, nobody = 7;
  MPI_Request requests[3];
  MPI_Recv_init(&in, 1, MPI_INT, program.left(), 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(&out, 1, MPI_INT, program.right(), 1, MPI_COMM_WORLD, &requests[1]);
  // MPICH 4.0 takes a receive from nobody for one that is not started.
  const int source = program.is_strict() ? MPI_PROC_NULL : program.rank(), to_itself = 8;
  MPI_Recv_init(&nobody, 1, MPI_INT, source, 2, MPI_COMM_WORLD, &requests[2]);
  for (out = 10; out < 15; ++out) {
    MPI_Startall(3, requests);
    if (!program.is_strict()) MPI_Send(&to_itself, 1, MPI_INT, program.rank(), 2, MPI_COMM_WORLD);
    for (int i = 0; i < 3; ++i) {
      int index = -1;
      MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE);
      program.holds(index != MPI_UNDEFINED);
    }
    program.equal(in, out);
  }
  for (MPI_Request& request : requests) MPI_Request_free(&request);
}

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  int round = 0;
  for (auto operation : {wait_all, wait_any, wait_some, test_all, test_any, test_some, test_each})
    operation(program, round++);
  nothing_to_wait_for(program);
  library_requests_go_on(program, false);
  library_requests_go_on(program, true);
  every_persistent_mode(program);
  started_together(program);
  return program.finish();
}
