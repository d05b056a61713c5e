#include "ghost_exchange.h"

#include <limits>
#include <string>

#include "agreement.h"

namespace apps::pagerank {

namespace {

constexpr int kTag = 1;
constexpr uint64_t kSumsInFront = sizeof(Sums) / sizeof(double);
static_assert(kSumsInFront == 2);

// Positions of consecutive parts: the sum of all sizes before, for each part and the end.
std::vector<uint64_t> positions_of(const std::vector<uint64_t>& sizes) {
  std::vector<uint64_t> positions(sizes.size() + 1, 0);
  for (size_t part = 0; part < sizes.size(); ++part) {
    positions[part + 1] = positions[part] + sizes[part];
  }
  return positions;
}

// MPI counts with int; positions of fewer than 2^31 elements are safe in every call used here.
void check_fits_int(uint64_t elements) {
  if (elements > std::numeric_limits<int>::max()) {
    throw std::runtime_error("exchanges " + std::to_string(elements) +
                             " values at once, more than MPI can count (2^31 - 1); use more ranks");
  }
}

std::vector<int> as_int(const std::vector<uint64_t>& values) { return {values.begin(), values.end()}; }

}  // namespace

GhostExchange::GhostExchange(MPI_Comm communicator, const RowPartition& partition, LocalGraph& graph,
                             ExchangeMethod method)
    : communicator_(communicator), method_(method), rank_count_(partition.rank_count()) {
  MPI_Comm_rank(communicator_, &rank_);
  std::vector<uint64_t> sent(rank_count_);
  std::vector<uint64_t> received(rank_count_);
  for (int peer = 0; peer < rank_count_; ++peer) {
    sent[peer] = graph.part(peer).ghost_count;
  }
  MPI_Alltoall(sent.data(), 1, MPI_UINT64_T, received.data(), 1, MPI_UINT64_T, communicator_);
  first_rows_ = positions_of(received);
  const std::vector<uint64_t> first_sent = positions_of(sent);
  run_together(communicator_, [&] {
    check_fits_int(first_rows_.back() + kSumsInFront * rank_count_);
    check_fits_int(first_sent.back() + kSumsInFront * rank_count_);
    rows_ = LargeArray<uint32_t>(first_rows_.back());
  });
  MPI_Alltoallv(graph.ghost_rows(), as_int(sent).data(), as_int(first_sent).data(), MPI_UINT32_T, rows_.data(),
                as_int(received).data(), as_int(first_rows_).data(), MPI_UINT32_T, communicator_);
  graph.release_ghost_rows();

  for (int peer = 0; peer < rank_count_; ++peer) {
    sent[peer] = peer == rank_ ? 0 : sent[peer] + kSumsInFront;
    received[peer] = peer == rank_ ? 0 : received[peer] + kSumsInFront;
  }
  outgoing_ = positions_of(sent);
  incoming_ = positions_of(received);
  for (int peer = 0; peer < rank_count_; ++peer) {
    first_values_.push_back(incoming_[peer] + kSumsInFront);
  }
}

GhostExchange::Arrivals GhostExchange::exchange(const LocalGraph& graph, LargeArray<double> contributions,
                                                Sums mine) const {
  Arrivals arrivals(first_values_);
  arrivals.messages_ = LargeArray<double>(incoming_.back());
  if (method_ == ExchangeMethod::messages) {
    send_messages(graph, contributions, mine, arrivals.messages_);
  } else {
    send_alltoallv(graph, contributions, mine, arrivals.messages_);
  }
  for (int peer = 0; peer < rank_count_; ++peer) {
    const double* sums = arrivals.messages_.data() + incoming_[peer];
    arrivals.totals_.dangling += peer == rank_ ? mine.dangling : sums[0];
    arrivals.totals_.change += peer == rank_ ? mine.change : sums[1];
  }
  return arrivals;
}

void GhostExchange::send_messages(const LocalGraph& graph, LargeArray<double>& contributions, Sums mine,
                                  LargeArray<double>& incoming) const {
  std::vector<MPI_Request> receives;
  std::vector<MPI_Request> sends;
  for (int step = 1; step < rank_count_; ++step) {
    const int peer = (rank_ + rank_count_ - step) % rank_count_;
    MPI_Irecv(incoming.data() + incoming_[peer], incoming_count(peer), MPI_DOUBLE, peer, kTag, communicator_,
              &receives.emplace_back());
  }
  LargeArray<double> outgoing(outgoing_.back());
  for (int step = 1; step < rank_count_; ++step) {
    const int peer = (rank_ + step) % rank_count_;
    double* const message = outgoing.data() + outgoing_[peer];
    fill_message(graph, contributions.data(), mine, peer, message);
    MPI_Isend(message, outgoing_count(peer), MPI_DOUBLE, peer, kTag, communicator_, &sends.emplace_back());
  }
  contributions.release();
  MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE);
  outgoing.release();
  MPI_Waitall(static_cast<int>(receives.size()), receives.data(), MPI_STATUSES_IGNORE);
}

void GhostExchange::send_alltoallv(const LocalGraph& graph, LargeArray<double>& contributions, Sums mine,
                                   LargeArray<double>& incoming) const {
  std::vector<int> outgoing_counts(rank_count_);
  std::vector<int> incoming_counts(rank_count_);
  LargeArray<double> outgoing(outgoing_.back());
  for (int peer = 0; peer < rank_count_; ++peer) {
    outgoing_counts[peer] = outgoing_count(peer);
    incoming_counts[peer] = incoming_count(peer);
    if (peer != rank_) {
      fill_message(graph, contributions.data(), mine, peer, outgoing.data() + outgoing_[peer]);
    }
  }
  contributions.release();
  MPI_Alltoallv(outgoing.data(), outgoing_counts.data(), as_int(outgoing_).data(), MPI_DOUBLE, incoming.data(),
                incoming_counts.data(), as_int(incoming_).data(), MPI_DOUBLE, communicator_);
}

void GhostExchange::fill_message(const LocalGraph& graph, const double* contributions, Sums mine, int peer,
                                 double* into) const {
  *into++ = mine.dangling;
  *into++ = mine.change;
  graph.sum_ghosts(peer, contributions, [&into](double sum) { *into++ = sum; });
}

}  // namespace apps::pagerank
