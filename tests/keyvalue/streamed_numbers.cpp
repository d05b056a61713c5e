// A stream whose records tests know: each O task sends the numbers 0 to RECORDS - 1 as keys, with the time as value,
// and ends a window after each WINDOW of them (0: never). A tasks print for each window how many records have come,
// their sum, whether those of each sender came in order, the longest time that one was on its
// way, and how long the window lasted for the task; to standard error, as Open MPI's launcher mixes parts of the lines
// that several processes print to standard output. Options:
// pause=MICROSECONDS between records; slow=MICROSECONDS for each record of A; stop=RECORDS an A task receives; killed
// (O task 0 in the middle of its records); late=MILLISECONDS for which an A task only lets records come, and then
// prints how many had been sent before it received one.
#include <time.h>
#include <unistd.h>
#include <spillway/mpid.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

namespace {

using Options = std::map<std::string, int64_t>;

int64_t now_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{1000000} * now.tv_sec + now.tv_nsec / 1000;
}

void rest(int64_t microseconds) {
  if (microseconds > 0) usleep(static_cast<useconds_t>(microseconds));
}

void send_numbers(Options& options) {
  int task = 0;
  MPI_D_Comm_rank(COMM_BIPARTITE_O, &task);
  for (int64_t i = 0; i < options["records"]; ++i) {
    if (options["window"] > 0 && i > 0 && i % options["window"] == 0) MPI_D_End_window();
    if (options["killed"] != 0 && task == 0 && i == options["records"] / 2) raise(SIGKILL);
    spillway::mpid::send<int64_t, int64_t>(i * 1000 + task, now_us());
    if (options["pause"] > 0) {
      MPI_D_Flush();
      rest(options["pause"]);
    }
  }
}

void print_window(Options& options, int task, int window) {
  int64_t key = 0;
  int64_t sent_us = 0;
  int64_t count = 0;
  int64_t sum = 0;
  int64_t longest = 0;
  int64_t early = 0;
  for (const int64_t end_us = now_us() + 1000 * options["late"]; now_us() < end_us;) MPI_D_Flush();
  const int64_t begin_us = now_us();
  bool is_in_order = true;
  std::map<int64_t, int64_t> last;
  while ((options["stop"] == 0 || count < options["stop"]) && spillway::mpid::receive<int64_t, int64_t>(key, sent_us)) {
    early += sent_us < begin_us ? 1 : 0;
    longest = std::max(longest, now_us() - sent_us);
    const auto known = last.find(key % 1000);
    is_in_order = is_in_order && (known == last.end() || known->second < key);
    last[key % 1000] = key;
    ++count;
    sum += key / 1000;
    rest(options["slow"]);
  }
  std::fprintf(stderr, "task %d window %d: %lld records, sum %lld, %s, %lld of %lld us\n", task, window,
               static_cast<long long>(count), static_cast<long long>(sum), is_in_order ? "in order" : "out of order",
               static_cast<long long>(longest), static_cast<long long>(now_us() - begin_us));
  if (options["late"] > 0) std::fprintf(stderr, "early: %lld\n", static_cast<long long>(early));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const size_t equals = word.find('=');
    options[word.substr(0, equals)] = equals == std::string::npos ? 1 : std::atoll(word.c_str() + equals + 1);
  }
  spillway::mpid::init<int64_t, int64_t>(argc, argv, MPI_D_MODE_STREAMING);
  if (COMM_BIPARTITE_O != MPI_D_COMM_NULL) {
    send_numbers(options);
  } else {
    int task = 0;
    MPI_D_Comm_rank(COMM_BIPARTITE_A, &task);
    int window = 0;
    do {
      print_window(options, task, window++);
    } while (options["stop"] == 0 && MPI_D_Next_window());
  }
  return MPI_D_Finalize();
}
