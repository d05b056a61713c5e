// `sums_between_nodes any-word operation KiB rounds`: sums of vectors of so many KiB, again and again.
#include <cstdlib>
#include <string>

#include "checked_program.h"

namespace {

using Vector = std::vector<uint64_t>;

// Each rank has its number plus one in all places.
class Sums {
 public:
  Sums(CheckedProgram& program, size_t length)
      : program_(program),
        rank_(static_cast<uint64_t>(program.rank())),
        size_(static_cast<uint64_t>(program.size())),
        own_(length, rank_ + 1) {}

  void make(const std::string& operation) {
    const MPI_Comm world = MPI_COMM_WORLD;
    const MPI_Datatype type = MPI_UINT64_T;
    const int length = static_cast<int>(own_.size()), part = length / static_cast<int>(size_);
    const bool is_scattered = operation.find("scatter") != std::string::npos;
    const std::vector<int> counts(size_, part);
    Vector sums(is_scattered ? static_cast<size_t>(part) : own_.size());
    MPI_Request request = MPI_REQUEST_NULL;
    uint64_t wanted = sum_of(size_);
    if (operation == "reduce_scatter_block")
      MPI_Reduce_scatter_block(own_.data(), sums.data(), part, type, MPI_SUM, world);
    if (operation == "ireduce_scatter_block")
      MPI_Ireduce_scatter_block(own_.data(), sums.data(), part, type, MPI_SUM, world, &request);
    if (operation == "ireduce_scatter")
      MPI_Ireduce_scatter(own_.data(), sums.data(), counts.data(), type, MPI_SUM, world, &request);
    if (operation == "ireduce") {
      MPI_Ireduce(own_.data(), sums.data(), length, type, MPI_SUM, 0, world, &request);
      if (rank_ != 0) wanted = 0;
    }
    if (operation == "iallreduce") MPI_Iallreduce(own_.data(), sums.data(), length, type, MPI_SUM, world, &request);
    if (operation == "scan") MPI_Scan(own_.data(), sums.data(), length, type, MPI_SUM, world);
    if (operation == "exscan") MPI_Exscan(own_.data(), sums.data(), length, type, MPI_SUM, world);
    if (operation == "iscan") MPI_Iscan(own_.data(), sums.data(), length, type, MPI_SUM, world, &request);
    if (operation == "iexscan") MPI_Iexscan(own_.data(), sums.data(), length, type, MPI_SUM, world, &request);
    if (operation == "scan" || operation == "iscan") wanted = sum_of(rank_ + 1);
    if (operation == "exscan" || operation == "iexscan") wanted = sum_of(rank_);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    program_.holds(sums == Vector(sums.size(), wanted));
  }

 private:
  static uint64_t sum_of(uint64_t ranks) { return ranks * (ranks + 1) / 2; }

  CheckedProgram& program_;
  uint64_t rank_, size_;
  Vector own_;
};

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  const size_t bytes = argc > 3 ? static_cast<size_t>(atoi(argv[3])) << 10 : 0;
  Sums sums(program, bytes / sizeof(uint64_t));
  for (int round = 0; argc > 4 && round < atoi(argv[4]); ++round) sums.make(argv[2]);
  return program.finish();
}
