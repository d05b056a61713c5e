// Partitioned communication (MPI 4.0): partitions become ready in any order, also from several threads, and arrive one
// by one.
#include <algorithm>
#include <thread>

#include "checked_program.h"

#ifdef SPILLWAY_TEST_HAS_MPI_4
namespace {

constexpr int kPartitions = 8;
constexpr int kLength = 3000;

std::vector<int> part(int rank, int round, int partition) {
  return patterned(rank, round * kPartitions + partition, kLength);
}

class Channel {
 public:
  explicit Channel(CheckedProgram& program)
      : program_(program), out_(size_t{kPartitions} * kLength), in_(out_.size(), -1) {
    MPI_Precv_init(in_.data(), kPartitions, kLength, MPI_INT, program.left(), 7, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests_[0]);
    MPI_Psend_init(out_.data(), kPartitions, kLength, MPI_INT, program.right(), 7, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &requests_[1]);
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel() {
    for (MPI_Request& request : requests_) MPI_Request_free(&request);
  }

  void start(int round) {
    round_ = round;
    std::fill(in_.begin(), in_.end(), -1);
    MPI_Startall(2, requests_);
  }
  void fill(int partition) {
    const std::vector<int> values = part(program_.rank(), round_, partition);
    std::copy(values.begin(), values.end(), out_.begin() + partition * kLength);
  }
  MPI_Request receiving() const { return requests_[0]; }
  MPI_Request sending() const { return requests_[1]; }
  bool has_arrived(int partition) const {
    int flag = 0;
    MPI_Parrived(receiving(), partition, &flag);
    return flag != 0;
  }
  void check(int partition) {
    const std::vector<int> values = part(program_.left(), round_, partition);
    program_.holds(std::equal(values.begin(), values.end(), in_.begin() + partition * kLength));
  }
  void finish() {
    MPI_Waitall(2, requests_, MPI_STATUSES_IGNORE);
    for (int partition = 0; partition < kPartitions; ++partition) check(partition);
  }

 private:
  CheckedProgram& program_;
  int round_ = 0;
  std::vector<int> out_, in_;
  MPI_Request requests_[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

void one_by_one(Channel& channel, int round) {
  channel.start(round);
  for (int i = 0; i < kPartitions; ++i) {
    const int partition = (3 * i + round) % kPartitions;
    channel.fill(partition);
    MPI_Pready(partition, channel.sending());
  }
  for (int partition = 0; partition < kPartitions; ++partition) {
    while (!channel.has_arrived(partition)) {
    }
    channel.check(partition);
  }
  channel.finish();
}

[[maybe_unused]] void range_and_list(Channel& channel, int round) {
  channel.start(round);
  for (int partition = 0; partition < kPartitions; ++partition) channel.fill(partition);
  int odd[] = {7, 5};  // not const: MPICH 4.0 wants it so
  MPI_Pready_range(0, 4, channel.sending());
  MPI_Pready_list(2, odd, channel.sending());
  MPI_Pready(6, channel.sending());
  channel.finish();
}

// The other rank does nothing but wait for another message.
[[maybe_unused]] void while_others_sleep(CheckedProgram& program, Channel& channel, int round) {
  channel.start(round);
  int word = 0;
  if (program.rank() != 0) MPI_Recv(&word, 1, MPI_INT, program.rank() - 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int partition = kPartitions; partition-- > 0;) {
    channel.fill(partition);
    MPI_Pready(partition, channel.sending());
  }
  if (program.rank() + 1 < program.size()) MPI_Send(&word, 1, MPI_INT, program.rank() + 1, 8, MPI_COMM_WORLD);
  channel.finish();
}

[[maybe_unused]] void by_threads(Channel& channel, int round) {
  channel.start(round);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 2; ++thread)
    threads.emplace_back([&channel, thread] {
      for (int partition = thread; partition < kPartitions; partition += 2) {
        channel.fill(partition);
        MPI_Pready(partition, channel.sending());
      }
    });
  for (std::thread& thread : threads) thread.join();
  channel.finish();
}

void partitions(CheckedProgram& program) {
  Channel channel(program);
  one_by_one(channel, 0);
#ifndef OMPI_MAJOR_VERSION  // Open MPI 5.0 takes partitions of one round for those of another
  range_and_list(channel, 1);
  while_others_sleep(program, channel, 2);
  by_threads(channel, 3);
  one_by_one(channel, 4);
#endif
}

}  // namespace
#endif

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CheckedProgram program;
#ifdef SPILLWAY_TEST_HAS_MPI_4
  if (provided == MPI_THREAD_MULTIPLE) partitions(program);
#endif
  return program.finish();
}
