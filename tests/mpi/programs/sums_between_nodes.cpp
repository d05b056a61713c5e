// `sums_between_nodes any-word operation KiB rounds [open]`: sums of vectors of so many KiB, again and again, so many
// at a time. `own_` before the operation: with an operation of the program's, which it frees at once.
#include <cstdlib>
#include <deque>
#include <string>

#include "checked_program.h"

namespace {

using Vector = std::vector<uint64_t>;

void add(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) static_cast<uint64_t*>(inout)[i] += static_cast<uint64_t*>(in)[i];
}

// Each rank has its number plus one, and the number of the round, in all places.
class Sums {
 public:
  Sums(CheckedProgram& program, const std::string& operation, size_t length)
      : program_(program),
        has_own_sum_(operation.starts_with("own_")),
        operation_(has_own_sum_ ? operation.substr(4) : operation),
        is_persistent_(operation.ends_with("_init")),
        rank_(static_cast<uint64_t>(program.rank())),
        size_(static_cast<uint64_t>(program.size())),
        own_(length),
        sums_(operation.find("scatter") != std::string::npos ? length / size_ : length),
        counts_(size_, static_cast<int>(length / size_)) {
    if (is_persistent_) make();
  }
  Sums(const Sums&) = delete;
  Sums& operator=(const Sums&) = delete;
  ~Sums() {
    if (is_persistent_) MPI_Request_free(&request_);
  }

  void begin(uint64_t round) {
    round_ = round;
    own_.assign(own_.size(), rank_ + 1 + round);
    sums_.assign(sums_.size(), 0);
    if (is_persistent_)
      MPI_Start(&request_);
    else
      make();
  }

  void end() {
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
    program_.holds(sums_ == Vector(sums_.size(), sum_of(ranks())));
  }

 private:
  void make() {
    const MPI_Comm world = MPI_COMM_WORLD;
    const MPI_Datatype type = MPI_UINT64_T;
    const int length = static_cast<int>(own_.size()), part = counts_[0];
    const uint64_t* own = own_.data();
    uint64_t* sums = sums_.data();
    MPI_Op op = MPI_SUM;
    if (has_own_sum_) MPI_Op_create(add, 1, &op);
    if (operation_ == "reduce_scatter_block") MPI_Reduce_scatter_block(own, sums, part, type, op, world);
    if (operation_ == "ireduce_scatter_block") MPI_Ireduce_scatter_block(own, sums, part, type, op, world, &request_);
    if (operation_ == "ireduce_scatter") MPI_Ireduce_scatter(own, sums, counts_.data(), type, op, world, &request_);
    if (operation_ == "ireduce") MPI_Ireduce(own, sums, length, type, op, 0, world, &request_);
    if (operation_ == "iallreduce") MPI_Iallreduce(own, sums, length, type, op, world, &request_);
    if (operation_ == "scan") MPI_Scan(own, sums, length, type, op, world);
    if (operation_ == "exscan") MPI_Exscan(own, sums, length, type, op, world);
    if (operation_ == "iscan") MPI_Iscan(own, sums, length, type, op, world, &request_);
    if (operation_ == "iexscan") MPI_Iexscan(own, sums, length, type, op, world, &request_);
    if (operation_ == "ibarrier") MPI_Ibarrier(world, &request_);
#ifdef SPILLWAY_TEST_HAS_MPI_4
    const MPI_Info none = MPI_INFO_NULL;
    if (operation_ == "reduce_scatter_block_init")
      MPI_Reduce_scatter_block_init(own, sums, part, type, op, world, none, &request_);
    if (operation_ == "reduce_scatter_init")
      MPI_Reduce_scatter_init(own, sums, counts_.data(), type, op, world, none, &request_);
    if (operation_ == "reduce_init") MPI_Reduce_init(own, sums, length, type, op, 0, world, none, &request_);
    if (operation_ == "allreduce_init") MPI_Allreduce_init(own, sums, length, type, op, world, none, &request_);
    if (operation_ == "scan_init") MPI_Scan_init(own, sums, length, type, op, world, none, &request_);
    if (operation_ == "exscan_init") MPI_Exscan_init(own, sums, length, type, op, world, none, &request_);
    if (operation_ == "barrier_init") MPI_Barrier_init(world, none, &request_);
#endif
    if (has_own_sum_) MPI_Op_free(&op);
  }

  // The first so many are in this rank's sum.
  uint64_t ranks() const {
    const auto does = [&](const char* what) { return operation_.find(what) != std::string::npos; };
    if (does("exscan")) return rank_;
    if (does("scan")) return rank_ + 1;
    if (does("reduce") && !does("allreduce") && !does("scatter") && rank_ != 0) return 0;
    return size_;
  }
  uint64_t sum_of(uint64_t ranks) const { return ranks * (ranks + 1) / 2 + ranks * round_; }

  CheckedProgram& program_;
  bool has_own_sum_;
  std::string operation_;
  bool is_persistent_;
  uint64_t rank_, size_;
  uint64_t round_ = 0;
  Vector own_, sums_;
  std::vector<int> counts_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
#ifdef SPILLWAY_TEST_HAS_MPI_4
  constexpr bool kHasPersistent = true;
#else
  constexpr bool kHasPersistent = false;
#endif
  if (argc > 4 && (kHasPersistent || !std::string(argv[2]).ends_with("_init"))) {
    const size_t length = (static_cast<size_t>(atoi(argv[3])) << 10) / sizeof(uint64_t);
    const int rounds = atoi(argv[4]), open = argc > 5 ? atoi(argv[5]) : 1;
    std::deque<Sums> sums;
    for (int i = 0; i < open; ++i) sums.emplace_back(program, argv[2], length);
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < open; ++i) sums[static_cast<size_t>(i)].begin(static_cast<uint64_t>(round * open + i));
      for (Sums& each : sums) each.end();
    }
  }
  return program.finish();
}
