// Moves the ghosts' values to their owners, once per iteration.
//
// Which rows the values belong to is exchanged once, at the start; an iteration moves values only, one message for each
// pair of ranks. The few sums that all ranks need travel in front of them, so that an iteration has a single point at
// which a rank waits for others: each such point costs a rank that is out of core a round trip to storage.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <vector>

#include "large_array.h"
#include "local_graph.h"
#include "row_partition.h"

namespace apps::pagerank {

enum class ExchangeMethod {
  // Nonblocking sends and receives: the values can be released as soon as the sends are complete, while this rank still
  // waits for what others send.
  messages,
  // One MPI_Alltoallv: both vectors live until all have exchanged.
  alltoallv,
};

// One rank's part of sums over all ranks.
struct Sums {
  double dangling = 0;  // rank of its vertices without successors
  double change = 0;    // L1 difference that its last iteration made
};

class GhostExchange {
 public:
  // Collective. Sends the rows of `graph`'s ghosts to their owners and releases them in `graph`.
  GhostExchange(MPI_Comm communicator, const RowPartition& partition, LocalGraph& graph, ExchangeMethod method);

  // What the ranks have sent to this one. values[...] of each is in the order of rows_from().
  class Arrivals {
   public:
    [[nodiscard]] const double* values_from(int rank) const { return messages_.data() + first_values_[rank]; }
    [[nodiscard]] const Sums& totals() const { return totals_; }

   private:
    friend class GhostExchange;
    explicit Arrivals(const std::vector<uint64_t>& first_values) : first_values_(first_values) {}
    LargeArray<double> messages_;
    const std::vector<uint64_t>& first_values_;
    Sums totals_;
  };

  // Collective. Sums `contributions` for all ghosts of other ranks, sends them, and waits for what others send.
  // `contributions` are released before it waits. The totals are the same on all ranks, bit by bit.
  [[nodiscard]] Arrivals exchange(const LocalGraph& graph, LargeArray<double> contributions, Sums mine) const;

  // The rows, counted from this rank's first, of the values that `rank` sends. Its own are among them.
  [[nodiscard]] std::span<const uint32_t> rows_from(int rank) const {
    return std::span<const uint32_t>(rows_).subspan(first_rows_[rank], first_rows_[rank + 1] - first_rows_[rank]);
  }

  [[nodiscard]] int rank_count() const { return rank_count_; }

  // Of the rows, which stay; of both vectors of values, which live during an exchange.
  [[nodiscard]] uint64_t kept_bytes() const { return rows_.size_bytes(); }
  [[nodiscard]] uint64_t transient_bytes() const { return (outgoing_.back() + incoming_.back()) * sizeof(double); }

 private:
  void send_messages(const LocalGraph& graph, LargeArray<double>& contributions, Sums mine,
                     LargeArray<double>& incoming) const;
  void send_alltoallv(const LocalGraph& graph, LargeArray<double>& contributions, Sums mine,
                      LargeArray<double>& incoming) const;
  void fill_message(const LocalGraph& graph, const double* contributions, Sums mine, int peer, double* into) const;
  [[nodiscard]] int outgoing_count(int peer) const { return static_cast<int>(outgoing_[peer + 1] - outgoing_[peer]); }
  [[nodiscard]] int incoming_count(int peer) const { return static_cast<int>(incoming_[peer + 1] - incoming_[peer]); }

  MPI_Comm communicator_;
  ExchangeMethod method_;
  int rank_ = 0;
  int rank_count_ = 0;
  LargeArray<uint32_t> rows_;
  std::vector<uint64_t> first_rows_;    // in rows_, by sender, and one more
  std::vector<uint64_t> outgoing_;      // first double of the message to each peer, and one more
  std::vector<uint64_t> incoming_;      // first double of the message from each peer, and one more
  std::vector<uint64_t> first_values_;  // incoming_, but of the first value
};

}  // namespace apps::pagerank
