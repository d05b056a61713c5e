// How long records of a stream are on their way. Each O task sends so many messages of 100 bytes a second, for so many
// seconds; A tasks count them by key, as a job that looks for the most frequent ones does. A message's time begins when
// it was due, so it includes what a sender is behind; tasks must be on one machine, as they compare its clock.
#include <time.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstdio>
#include <fstream>
#include <spillway/mpid.hpp>
#include <spillway/number_lines.hpp>
#include <unordered_map>

namespace {

using namespace spillway::mpid;

constexpr char kUsage[] = "usage: mpidrun -M streaming [options] stream-latency MESSAGES_PER_SECOND SECONDS\n";
constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kPauseNs = 200'000;  // what is due meanwhile is sent together
constexpr int64_t kKeys = 1000;

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

void send_messages(int64_t rate, int64_t seconds) {
  Payload payload{};
  const int64_t begin_ns = now_ns();
  const int64_t count = rate * seconds;
  for (int64_t sent = 0; sent < count;) {
    const int64_t now = now_ns();
    for (int64_t due; sent < count && (due = begin_ns + sent * kSecondNs / rate) <= now; ++sent) {
      payload.due_ns = due;
      send<int64_t, std::string>(sent * sent % kKeys, {reinterpret_cast<const char*>(&payload), kPayloadBytes});
    }
    MPI_D_Flush();
    const int64_t next = std::max(begin_ns + sent * kSecondNs / rate, now + kPauseNs);
    const timespec until{next / kSecondNs, next % kSecondNs};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  }
  const double took_s = static_cast<double>(now_ns() - begin_ns) / kSecondNs;
  std::printf("sent: %lld messages, %.0f/s of %lld/s, memory %.1f MiB\n", static_cast<long long>(count),
              static_cast<double>(count) / took_s, static_cast<long long>(rate), resident_mib());
}

void count_messages(int64_t seconds) {
  Histogram times;
  std::unordered_map<int64_t, int64_t> counts;
  const int64_t looks_at_ns = now_ns() + kSecondNs * seconds / 5;
  double early_mib = 0;
  int64_t key = 0;
  for (std::string_view value; receive<int64_t, std::string>(key, value);) {
    Payload payload{};
    std::memcpy(&payload, value.data(), kPayloadBytes);
    const int64_t now = now_ns();
    times.add(static_cast<uint64_t>(now - payload.due_ns));
    ++counts[key];
    if (early_mib == 0 && now >= looks_at_ns) early_mib = resident_mib();
  }
  const auto most = std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  std::printf("received: %llu messages, p50 %.0f us, p99 %.0f us, p99.9 %.0f us, max %.0f us\n",
              static_cast<unsigned long long>(times.total()), times.microseconds(0.5), times.microseconds(0.99),
              times.microseconds(0.999), times.microseconds(1));
  std::printf("counted: %zu keys, of the most frequent one %lld; memory %.1f MiB after a fifth, %.1f MiB at the end\n",
              counts.size(), most == counts.end() ? 0LL : static_cast<long long>(most->second), early_mib,
              resident_mib());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs(kUsage, stderr), 2;
  try {
    const int64_t rate = number_argument("MESSAGES_PER_SECOND", argv[1]);
    const int64_t seconds = number_argument("SECONDS", argv[2]);
    init<int64_t, std::string>(argc, argv, MPI_D_MODE_STREAMING);
    COMM_BIPARTITE_O != MPI_D_COMM_NULL ? send_messages(rate, seconds) : count_messages(seconds);
    return MPI_D_Finalize();
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "stream-latency: %s\n", error.what()), 1;
  }
}
