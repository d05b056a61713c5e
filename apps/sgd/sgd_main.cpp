// sgd: matrix factorization by stochastic gradient descent with MPI, on q x q ranks of which q work at a time. An
// ordinary MPI program; with --blocks controlled it also tells Spillway what it needs.
#include <mpi.h>

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <memory>

#include "agreement.h"
#include "block_loader.h"
#include "block_pass.h"
#include "block_place.h"
#include "csr_file.h"
#include "factor_output.h"
#include "iteration_times.h"
#include "mpi_program.h"
#include "open_together.h"
#include "option_values.h"
#include "program.h"
#include "progress.h"
#include "rank_grid.h"
#include "sgd_options.h"

namespace apps::sgd {
namespace {

constexpr char kWantOfMemory[] = "not enough memory for this rank's part; use more ranks or more memory";

void print_sizes(const RankGrid& ranks, const CsrReader& matrix, const LocalBlock& local, const Model& model) {
  const BlockShape shape = {model.order, local.grid.row_count(ranks.row()), local.entry_count};
  const uint64_t segments =
      (local.grid.row_count(ranks.row()) + local.grid.column_count(ranks.column())) * model.factors * sizeof(float);
  const uint64_t block = shape.bytes();
  const uint64_t mine = block + segments;
  uint64_t blocks = 0;
  uint64_t largest = 0;
  MPI_Reduce(&block, &blocks, 1, MPI_UINT64_T, MPI_SUM, 0, ranks.communicator());
  MPI_Reduce(&mine, &largest, 1, MPI_UINT64_T, MPI_MAX, 0, ranks.communicator());
  if (ranks.rank() == 0) {
    constexpr double kMiB = 1 << 20;
    // Each segment is with one rank at a time.
    const uint64_t factors = (matrix.row_count() + matrix.column_count()) * model.factors * sizeof(float);
    std::printf("matrix: %" PRIu64 " rows, %" PRIu64 " columns, %" PRIu64 " entries\n", matrix.row_count(),
                matrix.column_count(), matrix.entry_count());
    std::printf("data of all ranks: %.1f MiB (%.1f read only, %.1f written in each iteration)\n",
                static_cast<double>(blocks + factors) / kMiB, static_cast<double>(blocks) / kMiB,
                static_cast<double>(factors) / kMiB);
    std::printf("data of the largest rank: %.1f MiB\n", static_cast<double>(largest) / kMiB);
    std::fflush(stdout);
  }
}

void iterate(const RankGrid& ranks, const SgdOptions& options, uint64_t entry_count, BlockPass& pass) {
  const Progress progress(ranks.rank() == 0 ? options.progress : ProgressStyle::none, options.iterations);
  IterationTimes times;
  while (pass.iteration_count() < options.iterations) {
    pass.iterate();
    if (ranks.rank() == 0) {
      times.print_next();
      progress.show(pass.iteration_count(), times.total_seconds());
    }
    if (options.reports_error && pass.iteration_count() < options.iterations) {
      const double error = pass.error(entry_count);
      if (ranks.rank() == 0) {
        std::printf("root mean square error after iteration %" PRIu64 ": %.9g\n", pass.iteration_count(), error);
        std::fflush(stdout);
      }
      times.restart();
    }
  }
  if (ranks.rank() == 0) {
    progress.finish();
    times.print_mean();
  }
}

void print_result(const RankGrid& ranks, uint64_t entry_count, BlockPass& pass) {
  const double error = pass.error(entry_count);
  if (ranks.rank() == 0) {
    std::printf("root mean square error: %.9g\n", error);
    std::fflush(stdout);
  }
  agree(ranks.communicator(),
        std::isfinite(error) ? "" : "the factors have grown beyond all bounds; start again with a smaller --rate");
}

void run(const SgdOptions& options) {
  const RankGrid ranks(MPI_COMM_WORLD);
  const CsrReader matrix = open_together(ranks.communicator(), options.matrix, kMatrixKind);
  const LocalBlock local = cut_matrix(ranks, matrix);
  print_sizes(ranks, matrix, local, options.model);
  std::unique_ptr<BlockPlace> place;
  run_together(ranks.communicator(), [&] {
    place =
        make_place(options.blocks,
                   load_block(matrix, local.grid, ranks.row(), ranks.column(), options.model.order, local.entry_count),
                   options.scratch_directory);
  });
  if (ranks.rank() == 0 && !place->is_direct()) {
    warn_of_page_cache("sgd");
  }
  BlockPass pass(ranks, local.grid, *place, options.model);
  MPI_Barrier(ranks.communicator());  // the first iteration's time is not to contain the reading of others
  iterate(ranks, options, matrix.entry_count(), pass);
  print_result(ranks, matrix.entry_count(), pass);
  if (!options.output.empty()) {
    write_factors(ranks, local.grid, pass, options.model.factors, options.output);
  }
}

}  // namespace
}  // namespace apps::sgd

int main(int argument_count, char** arguments) {
  return apps::run_mpi_program("sgd", argument_count, arguments, apps::sgd::kWantOfMemory, [&](int rank) {
    const apps::sgd::SgdOptions options = apps::sgd::parse_sgd_options(argument_count, arguments);
    if (options.wants_help) {
      std::fputs(rank == 0 ? apps::sgd::sgd_help().c_str() : "", stdout);
      return;
    }
    apps::sgd::run(options);
  });
}
