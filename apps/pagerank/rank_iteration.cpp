#include "rank_iteration.h"

#include <cmath>
#include <utility>

#include "blocked_sum.h"

namespace apps::pagerank {

RankIteration::RankIteration(const LocalGraph& graph, const GhostExchange& exchange, int rank, uint64_t vertex_count,
                             double damping)
    : graph_(graph),
      exchange_(exchange),
      rank_(rank),
      vertex_count_(static_cast<double>(vertex_count)),
      damping_(damping),
      ranks_(graph.row_count(), 1.0 / vertex_count_) {}

LargeArray<double> RankIteration::contributions(double* dangling) const {
  const std::span<const uint32_t> out_degrees = graph_.out_degrees();
  LargeArray<double> contributions(ranks_.size());
  BlockedSum dangling_sum;
  for (size_t row = 0; row < ranks_.size(); ++row) {
    if (out_degrees[row] == 0) {
      dangling_sum.add(ranks_[row]);
      contributions[row] = 0;
    } else {
      contributions[row] = ranks_[row] / out_degrees[row];
    }
  }
  *dangling = dangling_sum.total();
  return contributions;
}

void RankIteration::advance() {
  Sums mine{.change = local_change_};
  LargeArray<double> pushed = contributions(&mine.dangling);
  const GhostExchange::Arrivals arrivals = exchange_.exchange(graph_, std::move(pushed), mine);
  previous_change_ = arrivals.totals().change;

  // What the rank's rows push to each other comes last and from contributions computed anew: to keep either the
  // contributions or the sums would cost a vector more while the rank waits.
  LargeArray<double> next(ranks_.size(), 0.0);
  for (int sender = 0; sender < exchange_.rank_count(); ++sender) {
    if (sender != rank_) {
      const double* value = arrivals.values_from(sender);
      for (uint32_t row : exchange_.rows_from(sender)) {
        next[row] += *value++;
      }
    }
  }
  double ignored = 0;
  const uint32_t* row = exchange_.rows_from(rank_).data();
  graph_.sum_ghosts(rank_, contributions(&ignored).data(), [&](double sum) { next[*row++] += sum; });

  const double base = ((1 - damping_) + damping_ * arrivals.totals().dangling) / vertex_count_;
  BlockedSum change;
  for (size_t index = 0; index < next.size(); ++index) {
    next[index] = base + damping_ * next[index];
    change.add(std::abs(next[index] - ranks_[index]));
  }
  local_change_ = change.total();
  ranks_ = std::move(next);
  ++iteration_count_;
}

}  // namespace apps::pagerank
