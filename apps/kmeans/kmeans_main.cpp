// kmeans: spherical K-means of sparse vectors with MPI, rows spread over ranks. With --rows controlled it asks Spillway
// for what it needs, if it runs there; otherwise it is an ordinary MPI program.
#include <mpi.h>

#include <cinttypes>
#include <cstdio>
#include <memory>
#include <span>
#include <utility>

#include "agreement.h"
#include "centroids.h"
#include "cluster_iteration.h"
#include "csr_file.h"
#include "file_io.h"
#include "first_centroids.h"
#include "iteration_times.h"
#include "kmeans_options.h"
#include "mpi_program.h"
#include "open_together.h"
#include "option_values.h"
#include "output_together.h"
#include "program.h"
#include "progress.h"
#include "row_partition.h"
#include "row_source.h"
#include "rows_in_memory.h"
#include "unit_row_file.h"

namespace apps::kmeans {
namespace {

constexpr char kWantOfMemory[] = "not enough memory for centroids and sums; use fewer clusters or more memory";

// With values on rank 0 only.
Centroids start_together(MPI_Comm communicator, int rank, const CsrReader& matrix, const KmeansOptions& options) {
  Centroids centroids({options.clusters, matrix.column_count()});
  run_together(communicator, [&] {
    check_message_size(centroids.shape());
    if (rank == 0) {
      centroids = centroids_at(matrix, draw_rows(matrix, options.clusters, options.seed));
    }
  });
  return centroids;
}

std::unique_ptr<RowSource> open_rows(const KmeansOptions& options, const CsrReader& matrix, uint64_t first_row,
                                     uint64_t row_count) {
  switch (options.rows) {
    case RowPlace::file:
      return std::make_unique<RowsInFile>(matrix, first_row, row_count, options.scratch_directory);
    case RowPlace::controlled:
      return std::make_unique<ControlledRows>(matrix, first_row, row_count);
    case RowPlace::memory:
      break;
  }
  return std::make_unique<RowsInMemory>(matrix, first_row, row_count);
}

void print_sizes(MPI_Comm communicator, int rank, const CsrReader& matrix, uint64_t clusters, uint64_t read_only,
                 uint64_t written) {
  const uint64_t mine[3] = {read_only, written, read_only + written};
  uint64_t sums[3] = {};
  uint64_t largest[3] = {};
  MPI_Reduce(mine, sums, 3, MPI_UINT64_T, MPI_SUM, 0, communicator);
  MPI_Reduce(mine, largest, 3, MPI_UINT64_T, MPI_MAX, 0, communicator);
  if (rank == 0) {
    constexpr double kMiB = 1 << 20;
    std::printf("matrix: %" PRIu64 " rows, %" PRIu64 " columns, %" PRIu64 " entries; %" PRIu64 " clusters\n",
                matrix.row_count(), matrix.column_count(), matrix.entry_count(), clusters);
    std::printf("data of all ranks: %.1f MiB (%.1f read only, %.1f written in each iteration)\n", sums[2] / kMiB,
                sums[0] / kMiB, sums[1] / kMiB);
    std::printf("data of the largest rank: %.1f MiB\n", largest[2] / kMiB);
    std::fflush(stdout);
  }
}

void iterate(const KmeansOptions& options, int rank, ClusterIteration& iteration) {
  const Progress progress(rank == 0 ? options.progress : ProgressStyle::none, options.iterations);
  IterationTimes times;
  for (uint64_t done = 1; done <= options.iterations && iteration.advance(); ++done) {
    if (rank == 0) {
      times.print_next();
      std::printf("rows reassigned: %" PRIu64 "\n", iteration.reassigned_rows());
      std::fflush(stdout);
      progress.show(done, times.total_seconds());
    }
  }
  if (rank == 0) {
    progress.finish();
    times.print_mean();
    std::printf("objective: %.9e\n", iteration.objective());
  }
}

void run(const KmeansOptions& options) {
  const MPI_Comm communicator = MPI_COMM_WORLD;
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  const CsrReader matrix = open_together(communicator, options.matrix, kMatrixKind);
  const RowPartition partition = RowPartition::balanced(communicator, matrix);
  const uint64_t first_row = partition.first_row(rank);
  const uint64_t row_count = partition.row_count(rank);
  Centroids first = start_together(communicator, rank, matrix, options);
  std::unique_ptr<RowSource> rows;
  run_together(communicator, [&] { rows = open_rows(options, matrix, first_row, row_count); });
  if (rank == 0 && !rows->is_direct()) {
    warn_of_page_cache("kmeans");
  }
  ClusterIteration iteration(communicator, *rows, row_count, matrix.row_count(), std::move(first));
  print_sizes(communicator, rank, matrix, options.clusters, rows->bytes(), iteration.written_bytes());

  MPI_Barrier(communicator);  // the first iteration's time is not to contain the reading of others
  iterate(options, rank, iteration);
  if (!options.output.empty()) {
    const std::span<const int32_t> clusters = iteration.clusters();
    write_together(communicator, {{options.output, matrix.row_count() * sizeof(int32_t), [&](const File& file) {
                                     file.write_at(first_row * sizeof(int32_t), clusters.data(), clusters.size_bytes());
                                   }}});
  }
}

}  // namespace
}  // namespace apps::kmeans

int main(int argument_count, char** arguments) {
  return apps::run_mpi_program("kmeans", argument_count, arguments, apps::kmeans::kWantOfMemory, [&](int rank) {
    const apps::kmeans::KmeansOptions options = apps::kmeans::parse_kmeans_options(argument_count, arguments);
    if (options.wants_help) {
      std::fputs(rank == 0 ? apps::kmeans::kmeans_help() : "", stdout);
      return;
    }
    apps::kmeans::run(options);
  });
}
