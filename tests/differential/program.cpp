#include "program.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "typed_block.h"

namespace {

using Step = void (*)(Program&, Random&);

// A step that is here more often is drawn more often.
const std::vector<Step> kSteps = {
    exchange,
    exchange,
    exchange,
    persistent_exchange,
    ring,
    chain,
    flood_one,
    cancelled_receives,
    blocking_collective,
    blocking_collective,
    blocking_collective,
    blocking_collective,
    nonblocking_collectives,
    nonblocking_collectives,
#if MPI_VERSION >= 4
    persistent_collectives,
#endif
    make_communicator,
    make_communicator,
    free_communicator,
    change_memory,
    change_memory,
    change_memory,
};

void wait_one_by_one(Program& program, Random& own, std::vector<MPI_Request>& requests,
                     std::vector<MPI_Status>& statuses, bool are_persistent) {
  std::vector<size_t> order(requests.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  own.shuffle(order);
  for (size_t i : order) {
    if (own.chance(50)) {
      MPI_Wait(&requests[i], &statuses[i]);
      continue;
    }
    for (int is_done = 0; !is_done;) {
      // In MPICH 4.3 this call ends a persistent request, whose status is lost then.
      if (!are_persistent && own.chance(20)) MPI_Request_get_status(requests[i], &is_done, MPI_STATUS_IGNORE);
      MPI_Test(&requests[i], &is_done, &statuses[i]);
      if (!is_done) program.delay();
    }
  }
}

void one_after_the_other(Program& program, bool is_wait, std::vector<MPI_Request>& requests,
                         std::vector<MPI_Status>& statuses) {
  const int number = static_cast<int>(requests.size());
  for (int done = 0; done < number;) {
    int index = MPI_UNDEFINED;
    int is_done = 1;
    MPI_Status status;
    if (is_wait) {
      MPI_Waitany(number, requests.data(), &index, &status);
    } else {
      MPI_Testany(number, requests.data(), &index, &is_done, &status);
    }
    if (is_done && index != MPI_UNDEFINED) {
      statuses[static_cast<size_t>(index)] = status;
      ++done;
    } else {
      program.delay();
    }
  }
}

void some_at_a_time(Program& program, bool is_wait, std::vector<MPI_Request>& requests,
                    std::vector<MPI_Status>& statuses) {
  const int number = static_cast<int>(requests.size());
  std::vector<int> indices(requests.size());
  std::vector<MPI_Status> found(requests.size());
  for (int done = 0; done < number;) {
    int ended = 0;
    (is_wait ? MPI_Waitsome : MPI_Testsome)(number, requests.data(), &ended, indices.data(), found.data());
    for (int i = 0; i < ended; ++i) {
      statuses[static_cast<size_t>(indices[static_cast<size_t>(i)])] = found[static_cast<size_t>(i)];
      ++done;
    }
    if (ended == 0) program.delay();
  }
}

}  // namespace

std::vector<MPI_Status> complete(Program& program, Random& own, std::vector<MPI_Request>& requests,
                                 bool are_persistent) {
  std::vector<MPI_Status> statuses(requests.size());
  if (requests.empty()) return statuses;
  const int number = static_cast<int>(requests.size());
  // How many numbers are drawn here depends on the schedule; the caller's generator must not.
  Random choices{own.next()};
  const int way = choices.below(8);
  program.announce("completion of " + std::to_string(number) + " requests, way " + std::to_string(way));
  switch (way) {
    case 0:
      for (int is_done = 0; !is_done;) {
        MPI_Testall(number, requests.data(), &is_done, statuses.data());
        if (!is_done) program.delay();
      }
      break;
    case 1:
    case 2:
      wait_one_by_one(program, choices, requests, statuses, are_persistent);
      break;
    case 3:
      one_after_the_other(program, true, requests, statuses);
      break;
    case 4:
      one_after_the_other(program, false, requests, statuses);
      break;
    case 5:
      some_at_a_time(program, true, requests, statuses);
      break;
    case 6:
      some_at_a_time(program, false, requests, statuses);
      break;
    default:
      MPI_Waitall(number, requests.data(), statuses.data());
  }
  return statuses;
}

uint64_t digest_of(const MPI_Status& status, MPI_Datatype type) {
  int count = 0;
  MPI_Get_elements(&status, type, &count);
  // MPI libraries give this constant different values.
  const int source = status.MPI_SOURCE == MPI_PROC_NULL ? -1 : status.MPI_SOURCE;
  return mixed(mixed(mixed(static_cast<uint64_t>(source)) + static_cast<uint64_t>(source == -1 ? 0 : status.MPI_TAG)) +
               static_cast<uint64_t>(count));
}

Program::Program(const Options& options) : options_(options), delays_({}) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  delays_ = Random{options.delay_seed, static_cast<uint64_t>(rank_)};
  Communicator world;
  world.handle = MPI_COMM_WORLD;
  world.groups.resize(1);
  for (int i = 0; i < size_; ++i) world.groups[0].push_back(i);
  world.my_rank = rank_;
  communicators_.push_back(world);
}

void Program::run() {
  for (int number = 1; number <= options_.steps; ++number) one_step(number);
  step_ = options_.steps + 1;
  announce("end");
  free_all_memory(*this);
  print_digests();
}

void Program::one_step(int number) {
  step_ = number;
  Random random{options_.seed, static_cast<uint64_t>(number)};
  delay();
  random.among(kSteps)(*this, random);
}

void Program::print_digests() {
  std::vector<uint64_t> digests(static_cast<size_t>(size_));
  MPI_Gather(&digest_, 1, MPI_UINT64_T, digests.data(), 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (rank_ != 0) return;
  for (int i = 0; i < size_; ++i) {
    printf("rank %d of %d: %016llx\n", i, size_, static_cast<unsigned long long>(digests[static_cast<size_t>(i)]));
  }
  fflush(stdout);
}

Random Program::own_random(const Random& shared) const {
  Random copy = shared;
  return Random{copy.next(), static_cast<uint64_t>(rank_)};
}

uint64_t Program::key(int index) const {
  return Random{options_.seed, static_cast<uint64_t>(step_), static_cast<uint64_t>(rank_), static_cast<uint64_t>(index)}
      .next();
}

void Program::announce(const std::string& what) const {
  if (!options_.is_verbose) return;
  // In one piece, so that the lines of several ranks do not mix.
  const std::string line = "trace rank " + std::to_string(rank_) + " step " + std::to_string(step_) + " digest " +
                           std::to_string(digest_) + ": " + what + "\n";
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

void Program::delay() {
  if (options_.delay_seed == 0) return;
  switch (delays_.below(12)) {
    case 0:
      usleep(static_cast<useconds_t>(delays_.below(3000)));
      return;
    case 1: {
      volatile uint64_t value = 0;
      for (int i = delays_.below(300000); i > 0; --i) value = value + static_cast<uint64_t>(i);
      return;
    }
    case 2:
      sched_yield();
      return;
    default:
      return;
  }
}

int Program::message_bytes(Random& random, int shares) const {
  static const std::vector<int> thresholds = {
      0,     1,      8,      64,     199,    200,    201,    1000,    4096, 8191, 8192, 8193,           20000,  65536,
      65537, 131072, 262143, 262144, 262145, 300000, 500000, 1 << 20, 0,    48,   200,  (2 << 20) + 24, 3 << 20};
  int bytes = random.among(thresholds);
  if (random.chance(30)) bytes += random.below(200);
  const size_t most = memory_bytes() / static_cast<size_t>(2 * std::max(shares, 1));
  return static_cast<int>(std::min(static_cast<size_t>(bytes), most));
}

const Communicator& Program::some_communicator(Random& random, bool may_be_inter) const {
  for (;;) {
    const Communicator& found = random.among(communicators_);
    if (may_be_inter || !found.is_inter()) return found;
  }
}
