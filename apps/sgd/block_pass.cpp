#include "block_pass.h"

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "agreement.h"

namespace apps::sgd {

namespace {

constexpr int kRowTag = 1;
constexpr int kColumnTag = 2;

void receive(LargeArray<float>& factors, uint64_t values, int sender, int tag, MPI_Comm communicator) {
  factors = LargeArray<float>(values);
  MPI_Recv(factors.data(), static_cast<int>(values), MPI_FLOAT, sender, tag, communicator, MPI_STATUS_IGNORE);
}

void send(LargeArray<float>& factors, int receiver, int tag, MPI_Comm communicator) {
  MPI_Send(factors.data(), static_cast<int>(factors.size()), MPI_FLOAT, receiver, tag, communicator);
  factors.release();
}

// MPI counts with int.
void check_fits_message(uint64_t values) {
  if (values > std::numeric_limits<int>::max()) {
    throw std::runtime_error("a message would have " + std::to_string(values) +
                             " factors, more than MPI can count (2^31 - 1); use more ranks or fewer --factors");
  }
}

}  // namespace

BlockPass::BlockPass(const RankGrid& ranks, const BlockGrid& grid, BlockPlace& place, const Model& model)
    : ranks_(ranks),
      place_(place),
      model_(model),
      row_values_(grid.row_count(ranks.row()) * model.factors),
      column_values_(grid.column_count(ranks.column()) * model.factors) {
  run_together(ranks.communicator(), [&] {
    if (ranks_.side() > 1) {
      check_fits_message(row_values_);
      check_fits_message(column_values_);
    }
    if (has_factors()) {
      row_factors_ = LargeArray<float>(row_values_);
      column_factors_ = LargeArray<float>(column_values_);
      fill_starting_values(model_, Purpose::rows_factors, grid.first_rows[ranks.row()], row_factors_);
      fill_starting_values(model_, Purpose::columns_factors, grid.first_columns[ranks.column()], column_factors_);
    }
  });
}

void BlockPass::iterate() {
  pass([this](const Block& block) {
    const Visit visit = {iteration_count_, static_cast<uint64_t>(ranks_.rank())};
    update_factors(model_, visit, block, row_factors_, column_factors_);
  });
  ++iteration_count_;
}

double BlockPass::error(uint64_t entry_count) {
  double mine = 0;
  pass([&](const Block& block) { mine = squared_error(model_, block, row_factors_, column_factors_); });
  std::vector<double> all(ranks_.rank_count());  // added up by each rank alike, in the blocks' order
  MPI_Allgather(&mine, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, ranks_.communicator());
  return root_mean_square(all, entry_count);
}

template <typename Work>
void BlockPass::pass(const Work& work) {
  if (!has_factors()) {
    receive_factors();
  }
  work(place_.bring());
  place_.put_away();
  if (ranks_.side() > 1) {
    send_factors();
    if (has_factors()) {
      receive_factors();
    }
  }
}

void BlockPass::receive_factors() {
  receive(row_factors_, row_values_, ranks_.rank_at(0, -1), kRowTag, ranks_.communicator());
  receive(column_factors_, column_values_, ranks_.rank_at(1, 0), kColumnTag, ranks_.communicator());
}

// Never in a circle of ranks that all send: whoever is next waits for these two messages, in this order.
void BlockPass::send_factors() {
  send(row_factors_, ranks_.rank_at(0, 1), kRowTag, ranks_.communicator());
  send(column_factors_, ranks_.rank_at(-1, 0), kColumnTag, ranks_.communicator());
}

}  // namespace apps::sgd
