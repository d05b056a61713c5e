// The state of a random program on one rank, and the steps that it is made of.
//
// All ranks draw the same steps from the seed. A step works on one communicator; ranks outside it do nothing, but all
// know which communicators there are and who is in them. What a rank receives goes into its digest, in a fixed order
// or, where MPI leaves the order open, as a sum.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "random.h"

struct Options {
  uint64_t seed = 1;
  int steps = 40;
  uint64_t delay_seed = 0;  // 0: no delays
  int memory_mib = 8;       // of one rank, about
  bool is_verbose = false;
  // Calls nonblocking collectives in place of persistent ones: those of MPICH 4.0 lose datatypes when they are started
  // again, and with them pieces of the result.
  bool replaces_persistent_collectives = false;
};

// An intracommunicator has one group of world ranks, an intercommunicator has two.
struct Communicator {
  bool is_inter() const { return groups.size() == 2; }
  bool is_mine() const { return handle != MPI_COMM_NULL; }
  int size(int group) const { return static_cast<int>(groups[static_cast<size_t>(group)].size()); }
  // The group that receives what this one sends.
  int other(int group) const { return is_inter() ? 1 - group : 0; }

  MPI_Comm handle = MPI_COMM_NULL;
  std::vector<std::vector<int>> groups;
  bool is_cartesian = false;
  int my_group = 0;
  int my_rank = 0;
};

// Memory that stays across steps.
struct Piece {
  char* bytes;
  size_t size;
};

class Program {
 public:
  explicit Program(const Options& options);

  void run();

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool replaces_persistent_collectives() const { return options_.replaces_persistent_collectives; }
  size_t memory_bytes() const { return static_cast<size_t>(options_.memory_mib) << 20; }
  std::vector<Communicator>& communicators() { return communicators_; }
  std::vector<Piece>& pieces() { return pieces_; }

  // A generator for what differs between the ranks.
  Random own_random(const Random& shared) const;
  // A key for the contents of this rank's block number `index` in this step.
  uint64_t key(int index) const;

  void announce(const std::string& what) const;
  void add(uint64_t value) { digest_ = mixed(digest_ ^ value); }
  // Sleeps, computes or does nothing, by the seed of the delays. The results do not depend on it.
  void delay();

  // Bytes of one message, of which a step may have about `shares` in memory.
  int message_bytes(Random& random, int shares) const;
  // A communicator of those there are, with or without the intercommunicators.
  const Communicator& some_communicator(Random& random, bool may_be_inter) const;

 private:
  void one_step(int number);
  void print_digests();

  const Options options_;
  int rank_ = 0;
  int size_ = 0;
  int step_ = 0;
  uint64_t digest_ = 0;
  Random delays_;
  std::vector<Communicator> communicators_;
  std::vector<Piece> pieces_;
};

// Ends all of `requests` by one of MPI's families of waits and tests. The statuses are in the order of the requests.
std::vector<MPI_Status> complete(Program& program, Random& own, std::vector<MPI_Request>& requests,
                                 bool are_persistent = false);

// Source, tag and number of elements as a number.
uint64_t digest_of(const MPI_Status& status, MPI_Datatype type);

// The steps.
void exchange(Program& program, Random& random);
void persistent_exchange(Program& program, Random& random);
void ring(Program& program, Random& random);
void chain(Program& program, Random& random);
void flood_one(Program& program, Random& random);
void cancelled_receives(Program& program, Random& random);
void blocking_collective(Program& program, Random& random);
void nonblocking_collectives(Program& program, Random& random);
#if MPI_VERSION >= 4
void persistent_collectives(Program& program, Random& random);
#endif
void make_communicator(Program& program, Random& random);
void free_communicator(Program& program, Random& random);
void change_memory(Program& program, Random& random);
void free_all_memory(Program& program);
