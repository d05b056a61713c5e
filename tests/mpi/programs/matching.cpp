// Which message goes to which receive: order, wildcards, tags, communicators, and the probes.
#include "checked_program.h"

namespace {

// Messages of a sender do not overtake each other, whatever their tags and sizes, for a receiver that takes all.
void wildcards_take_each_sender_in_order(CheckedProgram& program) {
  constexpr int kMessages = 150;
  constexpr int kLongest = 3000;
  if (program.rank() != 0) {
    for (int i = 0; i < kMessages; ++i) {
      const std::vector<int> data(static_cast<size_t>(i % 5 == 0 ? kLongest : 2), i);
      MPI_Send(data.data(), static_cast<int>(data.size()), MPI_INT, 0, i % 3, MPI_COMM_WORLD);
    }
    return;
  }
  std::vector<int> next(static_cast<size_t>(program.size()), 0);
  std::vector<int> data(kLongest);
  for (int i = 0; i < kMessages * (program.size() - 1); ++i) {
    MPI_Status status;
    MPI_Recv(data.data(), kLongest, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    const int number = next[static_cast<size_t>(status.MPI_SOURCE)]++;
    program.equal(data[0], number);
    program.equal(status.MPI_TAG, number % 3);
    int count = 0;
    MPI_Get_count(&status, MPI_INT, &count);
    program.equal(count, number % 5 == 0 ? kLongest : 2);
    program.equal(data[static_cast<size_t>(count) - 1], number);
  }
}

void receives_choose_by_source_and_tag(CheckedProgram& program) {
  constexpr int kTags = 5;
  std::vector<int> out;
  for (int tag = 0; tag < kTags; ++tag)
    for (int peer = 0; peer < program.size(); ++peer)
      out.push_back(pattern(program.rank(), tag, static_cast<size_t>(peer)));
  std::vector<MPI_Request> requests(out.size());
  for (int i = 0; i < kTags * program.size(); ++i) {
    const auto at = static_cast<size_t>(i);
    MPI_Isend(&out[at], 1, MPI_INT, i % program.size(), i / program.size(), MPI_COMM_WORLD, &requests[at]);
  }
  for (int tag = kTags; tag-- > 0;)
    for (int peer = program.size(); peer-- > 0;) {
      int data = 0;
      MPI_Status status;
      MPI_Recv(&data, 1, MPI_INT, tag == 2 ? MPI_ANY_SOURCE : peer, tag, MPI_COMM_WORLD, &status);
      program.equal(data, pattern(status.MPI_SOURCE, tag, static_cast<size_t>(program.rank())));
      program.equal(status.MPI_TAG, tag);
    }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
}

// A message goes to the receive that was posted first, also when a later one describes it more closely.
void messages_choose_the_oldest_receive(CheckedProgram& program) {
  int any = 0, close = 0, data[2] = {1, 2};
  MPI_Request requests[2];
  MPI_Irecv(&any, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(&close, 1, MPI_INT, program.left(), 4, MPI_COMM_WORLD, &requests[1]);
  MPI_Send(&data[0], 1, MPI_INT, program.right(), 4, MPI_COMM_WORLD);
  MPI_Send(&data[1], 1, MPI_INT, program.right(), 4, MPI_COMM_WORLD);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  program.equal(any, 1);
  program.equal(close, 2);
  MPI_Barrier(MPI_COMM_WORLD);
}

void communicators_are_apart(CheckedProgram& program) {
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  int first = 1, second = 2, data = 0;
  MPI_Request requests[2];
  MPI_Isend(&first, 1, MPI_INT, program.right(), 4, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(&second, 1, MPI_INT, program.right(), 4, other, &requests[1]);
  MPI_Recv(&data, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, other, MPI_STATUS_IGNORE);
  program.equal(data, 2);
  MPI_Recv(&data, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  program.equal(data, 1);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Comm_free(&other);
}

// Messages to the right, for the probes of the right neighbour; what the i-th holds is patterned(rank, i, length).
class SendsToTheRight {
 public:
  SendsToTheRight(const CheckedProgram& program, size_t length, const std::vector<int>& tags) {
    for (size_t i = 0; i < tags.size(); ++i) data_.push_back(patterned(program.rank(), static_cast<int>(i), length));
    requests_.resize(tags.size());
    for (size_t i = 0; i < tags.size(); ++i)
      MPI_Isend(data_[i].data(), static_cast<int>(length), MPI_INT, program.right(), tags[i], MPI_COMM_WORLD,
                &requests_[i]);
  }

  void finish() {
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }

 private:
  std::vector<std::vector<int>> data_;
  std::vector<MPI_Request> requests_;
};

void probes_leave_the_message(CheckedProgram& program, size_t length) {
  const auto count = static_cast<int>(length);
  SendsToTheRight sends(program, length, {7, 8});
  MPI_Status status;
  int flag = 0;
  MPI_Probe(MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &status);
  program.status(status, program.left(), 8, count, MPI_INT);
  MPI_Probe(program.left(), MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  program.status(status, program.left(), 7, count, MPI_INT);
  MPI_Iprobe(program.left(), 7, MPI_COMM_WORLD, &flag, &status);
  program.equal(flag, 1);
  std::vector<int> in(length);
  for (int tag : {8, 7}) {
    MPI_Recv(in.data(), count, MPI_INT, program.left(), tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    program.holds(in == patterned(program.left(), tag - 7, length));
  }
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
  program.equal(flag, 0);
  sends.finish();
}

// A matched probe takes the message away from all other receives and probes.
void matched_probes_take_the_message(CheckedProgram& program, size_t length) {
  const auto count = static_cast<int>(length);
  SendsToTheRight sends(program, length, {1, 1, 2, 3});
  std::vector<int> in(length, -1), other(length, -1);
  MPI_Message message, second;
  MPI_Status status;
  MPI_Mprobe(program.left(), 1, MPI_COMM_WORLD, &message, &status);
  program.status(status, program.left(), 1, count, MPI_INT);
  MPI_Recv(in.data(), count, MPI_INT, program.left(), 1, MPI_COMM_WORLD, &status);
  program.holds(in == patterned(program.left(), 1, length));
  MPI_Mrecv(in.data(), count, MPI_INT, &message, &status);
  program.holds(message == MPI_MESSAGE_NULL);
  program.status(status, program.left(), 1, count, MPI_INT);
  program.holds(in == patterned(program.left(), 0, length));

  int flag = 0;
  while (flag == 0) MPI_Improbe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &flag, &second, &status);
  program.status(status, program.left(), 3, count, MPI_INT);
  MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
  program.status(status, program.left(), 2, count, MPI_INT);
  MPI_Message none;
  MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &none, &status);
  program.equal(flag, 0);
  MPI_Request receives[2];
  MPI_Status statuses[2];
  MPI_Imrecv(in.data(), count, MPI_INT, &second, &receives[0]);
  MPI_Imrecv(other.data(), count, MPI_INT, &message, &receives[1]);
  MPI_Waitall(2, receives, statuses);
  program.status(statuses[0], program.left(), 3, count, MPI_INT);
  program.status(statuses[1], program.left(), 2, count, MPI_INT);
  program.holds(in == patterned(program.left(), 3, length));
  program.holds(other == patterned(program.left(), 2, length));
  sends.finish();
}

void matched_probe_of_nobody(CheckedProgram& program) {
  MPI_Message message;
  MPI_Status status;
  int data = 3;
  MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status);
  program.holds(message == MPI_MESSAGE_NO_PROC);
  program.status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, MPI_INT);
  MPI_Mrecv(&data, 1, MPI_INT, &message, &status);
  program.status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, MPI_INT);
  program.equal(data, 3);
}

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  wildcards_take_each_sender_in_order(program);
  MPI_Barrier(MPI_COMM_WORLD);
  receives_choose_by_source_and_tag(program);
  messages_choose_the_oldest_receive(program);
  communicators_are_apart(program);
  for (size_t length : {size_t{0}, size_t{3}, size_t{1000}, size_t{500000}}) {
    probes_leave_the_message(program, length);
    matched_probes_take_the_message(program, length);
  }
  matched_probe_of_nobody(program);
  return program.finish();
}
