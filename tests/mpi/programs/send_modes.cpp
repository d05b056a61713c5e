// Every send mode, blocking and nonblocking, around a ring: what is sent arrives, and each mode keeps its promise.
#include "checked_program.h"

namespace {

using Send = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
using Isend = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

constexpr int kLengths[] = {0, 1, 49, 50, 51, 2048, 2049, 40000, 300000};

// A receive is posted on every rank before any sends, which the ready mode needs.
void around_the_ring(CheckedProgram& program, Send send, Isend isend, int tag) {
  for (int length : kLengths) {
    const std::vector<int> out = patterned(program.rank(), tag, static_cast<size_t>(length));
    std::vector<int> in(static_cast<size_t>(length) + 1, -1);
    MPI_Request receive, request;
    MPI_Status status;
    MPI_Irecv(in.data(), length, MPI_INT, program.left(), tag, MPI_COMM_WORLD, &receive);
    MPI_Barrier(MPI_COMM_WORLD);
    if (send != nullptr) {
      send(out.data(), length, MPI_INT, program.right(), tag, MPI_COMM_WORLD);
    } else {
      isend(out.data(), length, MPI_INT, program.right(), tag, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      program.holds(request == MPI_REQUEST_NULL);
    }
    MPI_Wait(&receive, &status);
    program.status(status, program.left(), tag, length, MPI_INT);
    std::vector<int> wanted = patterned(program.left(), tag, static_cast<size_t>(length));
    wanted.push_back(-1);
    program.holds(in == wanted);
  }
}

void every_mode(CheckedProgram& program) {
  constexpr int kBufferBytes = 4 << 20;
  std::vector<char> buffer(kBufferBytes);
  MPI_Buffer_attach(buffer.data(), kBufferBytes);
  int tag = 0;
  for (Send send : {MPI_Send, MPI_Bsend, MPI_Ssend, MPI_Rsend}) around_the_ring(program, send, nullptr, ++tag);
  for (Isend isend : {MPI_Isend, MPI_Ibsend, MPI_Issend, MPI_Irsend}) around_the_ring(program, nullptr, isend, ++tag);
  void* address = nullptr;
  int bytes = 0;
  MPI_Buffer_detach(&address, &bytes);
  program.holds(address == buffer.data());
  program.equal(bytes, kBufferBytes);
}

// A buffered send is complete before its receive begins, and its memory is free again at once.
void buffered_send_to_oneself(CheckedProgram& program) {
  std::vector<char> buffer(MPI_BSEND_OVERHEAD + 4000);
  MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size()));
  std::vector<int> data = patterned(program.rank(), 1, 500);
  const std::vector<int> wanted = data;
  MPI_Bsend(data.data(), 500, MPI_INT, program.rank(), 3, MPI_COMM_WORLD);
  data.assign(500, 0);
  MPI_Recv(data.data(), 500, MPI_INT, program.rank(), 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  program.holds(data == wanted);
  void* address = nullptr;
  int bytes = 0;
  MPI_Buffer_detach(&address, &bytes);
}

// A synchronous send is not complete before the receive has begun, which waits here for a second message.
void synchronous_send_waits(CheckedProgram& program) {
  if (program.size() == 1 || program.rank() > 1) return;
  int data = 17;
  if (program.rank() == 1) {
    MPI_Recv(&data, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&data, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    program.equal(data, 17);
    return;
  }
  MPI_Request request;
  int is_done = 1;
  MPI_Issend(&data, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
  for (int i = 0; i < 10; ++i) {
    MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
    program.equal(is_done, 0);
  }
  MPI_Send(&data, 1, MPI_INT, 1, 6, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void send_and_receive(CheckedProgram& program) {
  for (int length : kLengths) {
    const auto count = static_cast<size_t>(length);
    std::vector<int> out = patterned(program.rank(), 8, count), in(count);
    MPI_Status status;
    MPI_Sendrecv(out.data(), length, MPI_INT, program.right(), 8, in.data(), length, MPI_INT, program.left(), 8,
                 MPI_COMM_WORLD, &status);
    program.status(status, program.left(), 8, length, MPI_INT);
    program.holds(in == patterned(program.left(), 8, count));
    MPI_Sendrecv_replace(out.data(), length, MPI_INT, program.left(), 9, program.right(), MPI_ANY_TAG, MPI_COMM_WORLD,
                         &status);
    program.status(status, program.right(), 9, length, MPI_INT);
    program.holds(out == patterned(program.right(), 8, count));
  }
}

void nobody(CheckedProgram& program) {
  int data = 5;
  MPI_Status status;
  MPI_Request requests[2];
  for (Send send : {MPI_Send, MPI_Ssend, MPI_Rsend}) send(&data, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
  MPI_Recv(&data, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
  program.status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, MPI_INT);
  MPI_Isend(&data, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(&data, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Status statuses[2];
  MPI_Waitall(2, requests, statuses);
  // MPICH 4.0 leaves the source alone.
  if (program.is_strict()) program.status(statuses[1], MPI_PROC_NULL, MPI_ANY_TAG, 0, MPI_INT);
  MPI_Sendrecv(&data, 1, MPI_INT, MPI_PROC_NULL, 1, &data, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
  program.status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, MPI_INT);
  MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
  program.status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, MPI_INT);
  program.equal(data, 5);
}

// Thousands of sends in flight to everybody, oneself among them, before the first receive.
void many_in_flight(CheckedProgram& program) {
  constexpr int kPerPeer = 300;
  std::vector<int> out, in(static_cast<size_t>(kPerPeer * program.size()));
  for (int peer = 0; peer < program.size(); ++peer)
    for (int i = 0; i < kPerPeer; ++i) out.push_back(pattern(program.rank(), peer, static_cast<size_t>(i)));
  std::vector<MPI_Request> requests(out.size());
  for (size_t i = 0; i < out.size(); ++i)
    MPI_Isend(&out[i], 1, MPI_INT, static_cast<int>(i) / kPerPeer, static_cast<int>(i) % kPerPeer, MPI_COMM_WORLD,
              &requests[i]);
  for (size_t i = in.size(); i-- > 0;)
    MPI_Recv(&in[i], 1, MPI_INT, static_cast<int>(i) / kPerPeer, static_cast<int>(i) % kPerPeer, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  for (size_t i = 0; i < in.size(); ++i)
    program.equal(in[i], pattern(static_cast<int>(i) / kPerPeer, program.rank(), i % kPerPeer));
}

}  // namespace

// A rank that waits for several messages matches a synchronous one at once: its sender sends the others only then.
void synchronous_send_to_one_who_waits_for_more(CheckedProgram& program) {
  if (program.size() == 1 || program.rank() > 1) return;
  int data[] = {5, 6, 7};
  if (program.rank() == 1) {
    for (int& value : data) MPI_Ssend(&value, 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
    return;
  }
  MPI_Request requests[3];
  for (int i = 0; i < 3; ++i) MPI_Irecv(&data[2 - i], 1, MPI_INT, 1, 8, MPI_COMM_WORLD, &requests[i]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  program.holds(data[0] == 7 && data[1] == 6 && data[2] == 5);
}

// The same for a rank that waits in a collective operation for what the sender and others contribute.
void synchronous_send_to_one_in_a_collective_call(CheckedProgram& program) {
  int data = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  if (program.rank() == 0 && program.size() > 1) MPI_Irecv(&data, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &request);
  MPI_Barrier(MPI_COMM_WORLD);
  const int value = program.rank() + 40;
  if (program.rank() == 1) MPI_Ssend(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
  std::vector<int> values(static_cast<size_t>(program.size()));
  MPI_Gather(&value, 1, MPI_INT, values.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (program.rank() == 0 && program.size() > 1) program.equal(data, 41);
}

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  every_mode(program);
  buffered_send_to_oneself(program);
  synchronous_send_waits(program);
  synchronous_send_to_one_who_waits_for_more(program);
  synchronous_send_to_one_in_a_collective_call(program);
  send_and_receive(program);
  nobody(program);
  many_in_flight(program);
  return program.finish();
}
