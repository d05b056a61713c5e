// How long records of a stream are on their way to who keeps the most frequent keys. Each O task sends so many messages
// of 100 bytes a second, for so many seconds, of which each is a window; A tasks count them by key, and each knows its
// K most frequent ones of the window after every message. At a window's end the first of them puts these together, and
// compares them with what has been sent. A message's time begins when it was due, so it includes what a sender is
// behind; tasks must be on one machine, as they compare its clock.
#include <time.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <spillway/mpid.hpp>
#include <spillway/number_lines.hpp>
#include <sstream>
#include <unordered_map>

namespace {

using namespace spillway::mpid;

constexpr char kUsage[] = "stream-latency MESSAGES_PER_SECOND SECONDS [K]";
constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kPauseNs = 200'000;  // what is due meanwhile is sent together
constexpr size_t kDefaultK = 10;
constexpr int64_t kKeys = 1000;
constexpr int64_t kCycle = 4096;   // messages after which keys come again
constexpr int64_t kStride = 2531;  // odd: so they come in another order than that of their size

struct Payload {
  int64_t due_ns;
  char filler[84];
};
constexpr size_t kPayloadBytes = 92;  // with the key 100

int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return kSecondNs * now.tv_sec + now.tv_nsec;
}

double resident_mib() {
  std::ifstream file("/proc/self/statm");
  double all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

// Of messages by their number modulo kCycle. Keys are from 1 to below kKeys, key i as frequent as 1 / i.
std::array<int64_t, kCycle> keys_of_cycle() {
  std::array<int64_t, kCycle> keys{};
  for (int64_t number = 0; number < kCycle; ++number) {
    const double part = (static_cast<double>(number * kStride % kCycle) + 0.5) / kCycle;
    keys[static_cast<size_t>(number)] = static_cast<int64_t>(std::pow(kKeys, part));
  }
  return keys;
}

// Counts of times, to 1 in 64, in as much memory however many there are.
class Histogram {
 public:
  void add(uint64_t ns) {
    ++counts_[index_of(ns)];
    ++total_;
    most_ = std::max(most_, ns);
  }

  [[nodiscard]] double microseconds(double part) const {
    auto left = static_cast<uint64_t>(part * static_cast<double>(total_ - std::min<uint64_t>(total_, 1)));
    size_t index = 0;
    for (; index + 1 < counts_.size() && counts_[index] <= left; ++index) left -= counts_[index];
    return static_cast<double>(std::min(end_of(index), most_)) / 1000;
  }
  [[nodiscard]] uint64_t total() const { return total_; }

 private:
  static size_t index_of(uint64_t ns) {
    const int shift = std::max(static_cast<int>(std::bit_width(ns)) - 7, 0);
    return static_cast<size_t>(shift) * 64 + (ns >> shift);
  }
  static uint64_t end_of(size_t index) {
    const size_t shift = index < 128 ? 0 : index / 64 - 1;
    return (index - shift * 64 + 1) << shift;
  }

  std::array<uint64_t, size_t{60} * 64> counts_{};
  uint64_t total_ = 0;
  uint64_t most_ = 0;
};

struct Counted {
  int64_t key = 0;
  int64_t count = 0;
  bool operator<(const Counted& other) const {  // whether it comes first
    return count != other.count ? count > other.count : key < other.key;
  }
  bool operator==(const Counted&) const = default;
};

// Of a window: all counts, and the K most frequent keys, which are right after each add().
class TopK {
 public:
  explicit TopK(size_t k) : k_(k) {}

  void add(int64_t key) {
    const Counted counted{key, ++counts_[key]};
    auto at = std::ranges::find(top_, key, &Counted::key);
    if (at == top_.end()) {
      if (top_.size() == k_ && !(counted < top_.back())) return;
      if (top_.size() < k_) top_.emplace_back();
      at = top_.end() - 1;
    }
    *at = counted;
    for (; at != top_.begin() && *at < at[-1]; --at) std::swap(*at, at[-1]);
  }
  void clear() {
    counts_.clear();
    top_.clear();
  }

  [[nodiscard]] const std::vector<Counted>& top() const { return top_; }
  [[nodiscard]] size_t keys() const { return counts_.size(); }

 private:
  size_t k_;
  std::unordered_map<int64_t, int64_t> counts_;
  std::vector<Counted> top_;
};

std::string text_of(const std::vector<Counted>& top) {
  std::string text;
  for (const Counted& counted : top) text += std::to_string(counted.key) + " " + std::to_string(counted.count) + " ";
  return text;
}

std::vector<Counted> first_of(std::vector<Counted> all, size_t k) {
  std::sort(all.begin(), all.end());
  all.resize(std::min(all.size(), k));
  return all;
}

// Of the tops of all A tasks: no key is in two of them.
std::vector<Counted> together(const std::string& tops, size_t k) {
  std::vector<Counted> all;
  std::istringstream in(tops);
  for (Counted counted; in >> counted.key >> counted.count;) all.push_back(counted);
  return first_of(std::move(all), k);
}

class Benchmark {
 public:
  Benchmark(int64_t rate, int64_t seconds, size_t k) : rate_(rate), seconds_(seconds), k_(k) {}

  void send_messages(const Emitter<int64_t, std::string>& emit) const {
    Payload payload{};
    const int64_t begin_ns = now_ns();
    const int64_t count = rate_ * seconds_;
    double early_mib = 0;
    for (int64_t sent = 0; sent < count;) {
      const int64_t now = now_ns();
      for (int64_t due; sent < count && (due = due_ns(begin_ns, sent)) <= now; ++sent) {
        if (sent > 0 && sent % rate_ == 0) MPI_D_End_window();
        payload.due_ns = due;
        emit(key_of(sent), {reinterpret_cast<const char*>(&payload), kPayloadBytes});
      }
      MPI_D_Flush();
      if (early_mib == 0 && sent >= count / 5) early_mib = resident_mib();
      const int64_t next = std::max(due_ns(begin_ns, sent), now + kPauseNs);
      const timespec until{next / kSecondNs, next % kSecondNs};
      clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
    }
    const double took_s = static_cast<double>(now_ns() - begin_ns) / kSecondNs;
    std::printf("sent: %lld messages, %.0f/s of %lld/s; memory %.1f MiB after a fifth, %.1f MiB at the end\n",
                static_cast<long long>(count), static_cast<double>(count) / took_s, static_cast<long long>(rate_),
                early_mib, resident_mib());
  }

  void count_messages(MPI_Comm tasks, Windows<int64_t, std::string>& windows) const {
    Histogram times;
    TopK window(k_);
    const int64_t looks_at_ns = now_ns() + kSecondNs * seconds_ / 5;
    double early_mib = 0;
    std::vector<Counted> all_top;
    size_t keys = 0;
    while (windows.next()) {
      int64_t key = 0;
      for (std::string_view value; windows.receive(key, value);) {
        Payload payload{};
        std::memcpy(&payload, value.data(), kPayloadBytes);
        window.add(key);
        const int64_t now = now_ns();
        times.add(static_cast<uint64_t>(now - payload.due_ns));
        if (early_mib == 0 && now >= looks_at_ns) early_mib = resident_mib();
      }
      const std::string tops = gathered(tasks, text_of(window.top()));
      if (is_first(tasks)) all_top = checked(together(tops, k_), windows.number(), tasks);
      keys = window.keys();
      window.clear();
    }
    std::printf(
        "received: %llu messages, p50 %.0f us, p99 %.0f us, p99.9 %.0f us, max %.0f us; "
        "memory %.1f MiB after a fifth, %.1f MiB at the end\n",
        static_cast<unsigned long long>(times.total()), times.microseconds(0.5), times.microseconds(0.99),
        times.microseconds(0.999), times.microseconds(1), early_mib, resident_mib());
    if (is_first(tasks))
      std::printf("top %zu of %lld windows: as sent; the last one, of %zu keys here: %s\n", k_,
                  static_cast<long long>(windows.number()), keys, text_of(all_top).c_str());
  }

 private:
  [[nodiscard]] int64_t due_ns(int64_t begin_ns, int64_t number) const {
    return begin_ns + number / rate_ * kSecondNs + number % rate_ * kSecondNs / rate_;
  }
  [[nodiscard]] int64_t key_of(int64_t number) const { return keys_[static_cast<size_t>(number % kCycle)]; }

  static bool is_first(MPI_Comm tasks) {
    int task = 0;
    MPI_Comm_rank(tasks, &task);
    return task == 0;
  }

  // What all O tasks have sent in a window.
  [[nodiscard]] std::vector<Counted> expected(int64_t window, int o_tasks) const {
    std::unordered_map<int64_t, int64_t> counts;
    for (int64_t place = 0; place < std::min(kCycle, rate_); ++place)
      counts[key_of(window * rate_ + place)] += o_tasks * ((rate_ - place - 1) / kCycle + 1);
    std::vector<Counted> all;
    for (const auto& [key, count] : counts) all.push_back({key, count});
    return first_of(std::move(all), k_);
  }

  [[nodiscard]] std::vector<Counted> checked(std::vector<Counted> top, int64_t window, MPI_Comm tasks) const {
    int processes = 0, a_tasks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    MPI_Comm_size(tasks, &a_tasks);
    const std::vector<Counted> sent = expected(window, processes - a_tasks);
    if (top != sent)
      throw std::runtime_error("window " + std::to_string(window) + ": most frequent are " + text_of(top) +
                               "instead of " + text_of(sent));
    return top;
  }

  int64_t rate_;
  int64_t seconds_;
  size_t k_;
  std::array<int64_t, kCycle> keys_ = keys_of_cycle();
};

}  // namespace

int main(int argc, char** argv) {
  return guarded_main(kUsage, argc < 3 || argc > 4, [&] {
    const Benchmark benchmark(number_argument("MESSAGES_PER_SECOND", argv[1]), number_argument("SECONDS", argv[2]),
                              argc == 4 ? static_cast<size_t>(number_argument("K", argv[3])) : kDefaultK);
    const auto source = [&](int, int, auto& emit) { benchmark.send_messages(emit); };
    const auto sink = [&](MPI_Comm tasks, auto& windows) { benchmark.count_messages(tasks, windows); };
    Streaming<int64_t, std::string> job{.source = source, .sink = sink};
    return job.run(argc, argv);
  });
}
