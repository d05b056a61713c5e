// pagerank: the ranks of a graph's nodes. Lines are `node neighbour neighbour ...`, sorted by node, one for each. O
// tasks keep their lines, A tasks add up what nodes get. Ranks are kept times the number of nodes.
#include <spillway/mpid.hpp>
#include <spillway/number_lines.hpp>

using namespace spillway::mpid;
constexpr double kDamping = 0.85;
constexpr int64_t kNodes = -2, kWithoutLinks = -1;  // the driver's keys: how many, and ranks that all nodes share

int main(int argc, char** argv) {
  return guarded_main("keyvalue-pagerank OUTPUT_DIRECTORY ITERATIONS FILE...", argc < 4, [&] {
    const LineSplits splits({argv + 3, argv + argc}, 4 << 20);
    SortedNumberLines sorted;
    const std::string directory = argv[1];
    const auto iterations = static_cast<double>(number_argument("ITERATIONS", argv[2]));
    std::map<int, NeighbourLines> lines_of_task;
    std::vector<double> state = {0, 0, 0};
    double &round = state[0], &nodes = state[1], &without_links = state[2];
    const auto map = [&](int task, int tasks, auto& received, auto& emit) {
      const auto& lines = lines_of_task.try_emplace(task, splits, sorted, task, tasks).first->second;
      std::vector<double> ranks(lines.size(), round == 0 ? 1 : 1 - kDamping + kDamping * without_links / nodes);
      while (received.next()) ranks[lines.index_of(received.key())] += kDamping * received.sum();
      if (round == iterations) {
        PartFile output(directory, task);
        for (size_t i = 0; i < ranks.size(); ++i) output << lines.node(i) << "\t" << ranks[i] / nodes << "\n";
        return output.finish();
      }
      for (size_t i = 0; i < ranks.size(); ++i) {
        const auto neighbours = lines.neighbours(i);
        for (const int64_t node : neighbours) emit(node, ranks[i] / neighbours.size());
        if (neighbours.empty()) emit(kWithoutLinks, ranks[i]);
      }
      emit(kNodes, static_cast<double>(ranks.size()));
    };
    const auto reduce = [](int, int, auto& groups, auto& emit, auto& emit_to_driver) {
      while (groups.next())
        groups.key() < 0 ? emit_to_driver(groups.key(), groups.sum()) : emit(groups.key(), groups.sum());
    };
    const auto drive = [&](int, auto& received) {
      without_links = 0;
      while (received.next()) (received.key() == kNodes ? nodes : without_links) = received.sum();
      return round++ < iterations;
    };
    const auto partition = [&](int64_t key, double, int tasks) {
      const bool is_for_a = COMM_BIPARTITE_O != MPI_D_COMM_NULL;
      return is_for_a ? static_cast<int>(static_cast<uint64_t>(key) % tasks) : sorted.task_of(key, tasks);
    };
    Iteration<int64_t, double> job{
        .map = map,
        .reduce = reduce,
        .drive = drive,
        .begin = [&](auto& all) { PartFile::check(directory), sorted = SortedNumberLines(splits, all); },
        .state = [&] { return bytes_of_numbers(state); },
        .take_state = [&](auto bytes) { std::ranges::copy(numbers_of_bytes(bytes), state.begin()); },
        .combine = std::plus<>(),
        .partition = partition};
    return job.run(argc, argv, splits.configuration());
  });
}
