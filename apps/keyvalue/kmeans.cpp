// kmeans: centers of points, which are lines of numbers. O tasks keep their points, and send for each center what its
// closest points sum up to: their number, squared distances and columns. The first centers are the first points.
#include <spillway/mpid.hpp>
#include <spillway/number_lines.hpp>

using namespace spillway::mpid;

int main(int argc, char** argv) {
  return guarded_main("keyvalue-kmeans OUTPUT_FILE CLUSTERS ROUNDS FILE...", argc < 5, [&] {
    const LineSplits splits({argv + 4, argv + argc}, 4 << 20);
    const auto clusters = number_argument("CLUSTERS", argv[2]), rounds = number_argument("ROUNDS", argv[3]);
    NumberRows centers;
    std::map<int, NumberRows> points_of_task;
    const auto begin = [&](auto& processes) {
      if (MPI_D_Is_driver()) OutputFile::check(argv[1]);
      centers = first_rows(splits, clusters, processes);
    };
    const auto map = [&](int task, int tasks, auto&, auto& emit) {
      NumberRows& points = points_of_task.try_emplace(task, centers.columns()).first->second;
      if (points.size() == 0) splits.for_each_line(task, tasks, [&](auto line) { points.append(line); });
      std::vector sums(clusters, std::vector<double>(2 + centers.columns()));
      for (size_t i = 0; i < points.size(); ++i) {
        const auto [center, distance] = std::as_const(centers).closest_to(points[i]);
        ++sums[center][0], sums[center][1] += distance;
        for (size_t column = 0; column < centers.columns(); ++column) sums[center][2 + column] += points[i][column];
      }
      for (int64_t center = 0; center < clusters; ++center)
        if (sums[center][0] != 0) emit(center, bytes_of_numbers(sums[center]));
    };
    const auto reduce = [](int, int, auto& groups, auto&, auto& emit_to_driver) {
      while (groups.next()) emit_to_driver(groups.key(), bytes_of_numbers(sums_of_values(groups.values())));
    };
    const auto drive = [&](int round, auto& received) {
      double inertia = 0, moved = 0;
      while (received.next())
        for (const auto part : received.values()) {
          const auto sums = numbers_of_bytes(part);
          double scale = sums[1] / sums[0];  // the order of sums changes a center a little, too
          std::vector<double> mean(sums.begin() + 2, sums.end());
          for (double& number : mean) number /= sums[0], scale += number * number;
          inertia += sums[1], moved += squared_distance(centers[received.key()], mean) > 1e-20 * scale;
          std::ranges::copy(mean, centers[received.key()].begin());
        }
      std::printf("round %d: inertia %.15g, moved %.0f\n", round + 1, inertia, moved);
      std::fflush(stdout);
      if (moved != 0 && round + 1 < rounds) return true;
      centers.write(argv[1]);
      return false;
    };
    Iteration<int64_t, std::string> job{.map = map,
                                        .reduce = reduce,
                                        .drive = drive,
                                        .begin = begin,
                                        .state = [&] { return bytes_of_numbers(centers.numbers()); },
                                        .take_state = [&](auto state) { centers.numbers() = numbers_of_bytes(state); },
                                        .combine = sums_of_numbers};
    return job.run(argc, argv, splits.configuration());
  });
}
