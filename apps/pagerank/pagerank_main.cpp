// pagerank: PageRank with MPI, one-dimensional decomposition, push. An ordinary MPI program.
#include <mpi.h>

#include <cinttypes>
#include <cstdio>
#include <memory>
#include <vector>

#include "agreement.h"
#include "blocked_sum.h"
#include "csr_file.h"
#include "ghost_exchange.h"
#include "iteration_times.h"
#include "local_graph.h"
#include "mpi_program.h"
#include "open_together.h"
#include "option_values.h"
#include "pagerank_options.h"
#include "progress.h"
#include "rank_iteration.h"
#include "rank_output.h"
#include "row_partition.h"

namespace apps::pagerank {
namespace {

constexpr char kWantOfMemory[] = "not enough memory; use more ranks or more memory";

void print_sizes(MPI_Comm communicator, int rank, const CsrReader& csr, const LocalGraph& graph,
                 const GhostExchange& exchange) {
  // The two vectors of contributions and of next ranks, and the ranks themselves.
  constexpr uint64_t kRankVectors = 3;
  const uint64_t read_only = graph.bytes() + exchange.kept_bytes();
  const uint64_t written = exchange.transient_bytes() + kRankVectors * graph.row_count() * sizeof(double);
  const uint64_t mine[3] = {read_only, written, read_only + written};
  uint64_t sums[3] = {};
  uint64_t largest[3] = {};
  MPI_Reduce(mine, sums, 3, MPI_UINT64_T, MPI_SUM, 0, communicator);
  MPI_Reduce(mine, largest, 3, MPI_UINT64_T, MPI_MAX, 0, communicator);
  if (rank == 0) {
    constexpr double kMiB = 1 << 20;
    std::printf("graph: %" PRIu64 " vertices, %" PRIu64 " edges\n", csr.row_count(), csr.entry_count());
    std::printf("data of all ranks: %.1f MiB (%.1f read only, %.1f written in each iteration)\n", sums[2] / kMiB,
                sums[0] / kMiB, sums[1] / kMiB);
    std::printf("data of the largest rank: %.1f MiB\n", largest[2] / kMiB);
    std::fflush(stdout);
  }
}

void iterate(const PageRankOptions& options, int rank, RankIteration& iteration) {
  const Progress progress(rank == 0 ? options.progress : ProgressStyle::none, options.iterations);
  IterationTimes times;
  while (iteration.iteration_count() < options.iterations) {
    iteration.advance();
    if (rank == 0) {
      times.print_next();
      progress.show(iteration.iteration_count(), times.total_seconds());
    }
    // Known to all ranks without another exchange; the first iteration has none before it.
    if (iteration.iteration_count() > 1 && iteration.previous_change() < options.tolerance) {
      break;
    }
  }
  if (rank == 0) {
    progress.finish();
    times.print_mean();
  }
}

void print_result(MPI_Comm communicator, int rank, const RankIteration& iteration) {
  BlockedSum sum;
  for (double value : iteration.ranks()) {
    sum.add(value);
  }
  const double mine[2] = {sum.total(), iteration.local_change()};
  double sums[2] = {};
  MPI_Reduce(mine, sums, 2, MPI_DOUBLE, MPI_SUM, 0, communicator);
  if (rank == 0) {
    std::printf("sum of ranks: %.12f\nchange in the last iteration: %.3e\n", sums[0], sums[1]);
  }
}

void run(const PageRankOptions& options) {
  const MPI_Comm communicator = MPI_COMM_WORLD;
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  const CsrReader csr = open_together(communicator, options.graph, kGraphKind);
  const RowPartition partition = RowPartition::balanced(communicator, csr);
  std::unique_ptr<LocalGraph> graph;
  run_together(communicator, [&] { graph = std::make_unique<LocalGraph>(csr, partition, rank); });
  const GhostExchange exchange(communicator, partition, *graph, options.exchange);
  print_sizes(communicator, rank, csr, *graph, exchange);

  RankIteration iteration(*graph, exchange, rank, csr.row_count(), options.damping);
  MPI_Barrier(communicator);  // the first iteration's time is not to contain the reading of others
  iterate(options, rank, iteration);
  print_result(communicator, rank, iteration);

  const uint64_t first_row = partition.first_row(rank);
  if (!options.output.empty()) {
    write_ranks(communicator, options.output, iteration.ranks(), first_row, csr.row_count());
  }
  for (uint64_t place = 1;
       const RankedVertex& ranked : gather_highest(communicator, iteration.ranks(), first_row, options.top_count)) {
    std::printf("%" PRIu64 "\t%" PRIu64 "\t%.9e\n", place++, ranked.vertex, ranked.rank);
  }
}

}  // namespace
}  // namespace apps::pagerank

int main(int argument_count, char** arguments) {
  return apps::run_mpi_program("pagerank", argument_count, arguments, apps::pagerank::kWantOfMemory, [&](int rank) {
    const apps::pagerank::PageRankOptions options = apps::pagerank::parse_pagerank_options(argument_count, arguments);
    if (options.wants_help) {
      std::fputs(rank == 0 ? apps::pagerank::pagerank_help() : "", stdout);
      return;
    }
    apps::pagerank::run(options);
  });
}
