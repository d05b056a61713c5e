// An iteration whose result tests can compute: in round 0 O task t adds 1 to each of the keys t, t + O, ... below KEYS;
// in round r, what an O task has been sent of key k, x, it sends to the keys (3 k + r) mod KEYS and (k + 1) mod KEYS. A
// tasks add up what comes of a key, modulo a prime number, send that back, and to the driver with the round's number
// added. The driver prints the sum of all it gets, and ends the job after ROUNDS rounds. A task fails in FAILING_ROUND;
// with `waits` it stays there until it is killed.
#include <unistd.h>
#include <spillway/mpid.hpp>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace {

constexpr int64_t kPrime = 1000003;
using Job = spillway::mpid::Iteration<int64_t, int64_t>;

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4)
    return std::fputs(
               "usage: iterated-sums KEYS ROUNDS combine|apart|everywhere [FAILING_ROUND [FAILS_ONCE_FILE [waits]]]\n",
               stderr),
           2;
  const int64_t keys = std::atoll(argv[1]);
  const int rounds = std::atoi(argv[2]);
  const int failing = argc > 4 ? std::atoi(argv[4]) : -1;
  const bool is_everywhere = std::string(argv[3]) == "everywhere";  // each O task adds 1 to all keys
  int64_t round = -1;
  Job job{.map =
              [&](int task, int tasks, auto& received, auto& emit) {
                if (round == failing && task == 0 && (argc < 6 || access(argv[5], F_OK) != 0)) {
                  if (argc > 5) std::fclose(std::fopen(argv[5], "w"));
                  while (argc > 6) pause();
                  throw std::runtime_error("as it was told");
                }
                if (round == 0)
                  for (int64_t key = is_everywhere ? 0 : task; key < keys; key += is_everywhere ? 1 : tasks)
                    emit(key, 1);
                while (received.next())
                  for (const int64_t value : received.values()) {
                    emit((3 * received.key() + round) % keys, value);
                    emit((received.key() + 1) % keys, value);
                  }
              },
          .reduce =
              [&](int, int, auto& groups, auto& emit, auto& emit_to_driver) {
                while (groups.next()) {
                  int64_t sum = 0;
                  for (const int64_t value : groups.values()) sum += value;
                  emit(groups.key(), sum % kPrime);
                  emit_to_driver(groups.key(), sum % kPrime + round);
                }
              },
          .drive =
              [&](int number, auto& received) {
                int64_t sum = 0;
                int64_t count = 0;
                for (; received.next(); ++count)
                  for (const int64_t value : received.values()) sum += value;
                std::printf("round %d: %lld keys, sum %lld\n", number, static_cast<long long>(count),
                            static_cast<long long>(sum));
                return number + 1 < rounds;
              },
          .state = [&] { return std::to_string(round + 1); },
          .take_state = [&](std::string_view state) { round = std::atoll(std::string(state).c_str()); }};
  if (std::string(argv[3]) != "apart") job.combine = [](int64_t a, int64_t b) { return a + b; };
  return job.run(argc, argv);
}
