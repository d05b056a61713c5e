// Key-value jobs in C++: the functions of mpid.h with types, and MapReduce programs as a map and a reduce function.
// Header only, over the C interface. Keys and values are std::string (of any bytes), int32_t, int64_t or double.
#ifndef SPILLWAY_MPID_HPP
#define SPILLWAY_MPID_HPP

#include <spillway/mpid.h>
#include <spillway/input_plan.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace spillway::mpid {

// How a type is passed: `View` is what one looks at without copying, `Holder` what the C interface takes.
template <typename T>
struct Item;

template <>
struct Item<std::string> {
  static constexpr const char* kName = "bytes";
  using View = std::string_view;
  struct Holder {
    explicit Holder(View view) : bytes{view.data(), view.size()} {}
    [[nodiscard]] const void* pointer() const { return &bytes; }
    MPI_D_Bytes bytes;
  };
  static View view(const void* item) {
    const auto& bytes = *static_cast<const MPI_D_Bytes*>(item);
    return {static_cast<const char*>(bytes.data), bytes.size};
  }
};

template <typename T>
struct NumberItem {
  using View = T;
  struct Holder {
    explicit Holder(View view) : number(view) {}
    [[nodiscard]] const void* pointer() const { return &number; }
    T number;
  };
  static View view(const void* item) { return *static_cast<const T*>(item); }
};

template <>
struct Item<int32_t> : NumberItem<int32_t> {
  static constexpr const char* kName = "int32";
};
template <>
struct Item<int64_t> : NumberItem<int64_t> {
  static constexpr const char* kName = "int64";
};
template <>
struct Item<double> : NumberItem<double> {
  static constexpr const char* kName = "double";
};

template <typename T>
using View = typename Item<T>::View;

// Entries of MPI_D_Init()'s configuration; those of the classes are added.
using Configuration = std::map<std::string, std::string>;

template <typename K, typename V>
void init(int& argc, char**& argv, MPI_D_Mode mode, Configuration configuration = {}) {
  configuration[MPI_D_KEY_CLASS] = Item<K>::kName;
  configuration[MPI_D_VALUE_CLASS] = Item<V>::kName;
  configuration.emplace(MPI_D_INPUT_PLAN, input_plan());
  std::vector<MPI_D_Entry> entries;
  for (const auto& [key, value] : configuration) entries.push_back({key.c_str(), value.c_str()});
  entries.push_back({nullptr, nullptr});
  MPI_D_Init(&argc, &argv, mode, entries.data());
}

template <typename K, typename V>
void send(View<K> key, View<V> value) {
  const typename Item<K>::Holder key_holder(key);
  const typename Item<V>::Holder value_holder(value);
  MPI_D_Send(key_holder.pointer(), value_holder.pointer());
}

// False at the end. Views stay until the next call.
template <typename K, typename V>
bool receive(View<K>& key, View<V>& value) {
  const void* key_pointer = nullptr;
  const void* value_pointer = nullptr;
  if (MPI_D_Recv(&key_pointer, &value_pointer) != MPI_SUCCESS || key_pointer == nullptr) return false;
  key = Item<K>::view(key_pointer);
  value = Item<V>::view(value_pointer);
  return true;
}

// The records of an A task, group by group: `while (groups.next()) for (V value : groups.values()) ...`. Each group's
// values can be gone through once; those that are not are skipped.
template <typename K, typename V>
class Groups {
 public:
  using IsSame = std::function<bool(View<K>, View<K>)>;
  // Without `is_same`, keys are the same where their bytes are.
  explicit Groups(IsSame is_same = nullptr) : is_same_(std::move(is_same)) { advance(); }

  bool next() {
    while (is_in_group_) advance();
    if (!has_record_) return false;
    key_ = K(next_key_);
    is_in_group_ = true;
    return true;
  }

  [[nodiscard]] const K& key() const { return key_; }

  class Values {
   public:
    struct End {};
    class Iterator {
     public:
      explicit Iterator(Groups& groups) : groups_(groups) {}
      View<V> operator*() const { return groups_.value_; }
      Iterator& operator++() {
        groups_.advance();
        return *this;
      }
      bool operator!=(End) const { return groups_.is_in_group_; }

     private:
      Groups& groups_;
    };
    explicit Values(Groups& groups) : groups_(groups) {}
    Iterator begin() { return Iterator(groups_); }
    End end() { return {}; }

   private:
    Groups& groups_;
  };
  Values values() { return Values(*this); }
  // Of the values, which are numbers.
  V sum() {
    V sum{};
    for (const V value : values()) sum += value;
    return sum;
  }

 private:
  void advance() {
    has_record_ = receive<K, V>(next_key_, value_);
    is_in_group_ = is_in_group_ && has_record_ && (is_same_ ? is_same_(next_key_, key_) : has_same_bytes());
  }
  bool has_same_bytes() const {
    if constexpr (std::is_arithmetic_v<K>) {
      return std::memcmp(&next_key_, &key_, sizeof key_) == 0;  // NaN is one key, 0 and -0 are two
    } else {
      return next_key_ == View<K>(key_);
    }
  }

  IsSame is_same_;
  K key_{};
  View<K> next_key_{};
  View<V> value_{};
  bool has_record_ = false;
  bool is_in_group_ = false;
};

template <typename K, typename V>
struct Emitter {
  void operator()(View<K> key, View<V> value) const { send<K, V>(key, value); }
};

// To the driver of the iteration mode.
template <typename K, typename V>
struct DriverEmitter {
  void operator()(View<K> key, View<V> value) const {
    const typename Item<K>::Holder key_holder(key);
    const typename Item<V>::Holder value_holder(value);
    MPI_D_Send_to_driver(key_holder.pointer(), value_holder.pointer());
  }
};

// The processes of a job, which look at its input together before the first task: at each part of it one of them, on
// the host that has it.
struct Processes {
  [[nodiscard]] bool looks_at(size_t part) const { return MPI_D_Is_nearest(static_cast<int>(part)) != 0; }

  // Collective: what all of them have, in their order.
  [[nodiscard]] std::vector<std::string> all(const std::vector<std::string>& own) const {
    std::string bytes;
    for (const std::string& item : own) {
      const uint64_t size = item.size();
      bytes.append(reinterpret_cast<const char*>(&size), sizeof size).append(item);
    }
    MPI_D_Bytes gathered{bytes.data(), bytes.size()};
    MPI_D_Allgather(&gathered);
    std::vector<std::string> items;
    const auto* at = static_cast<const char*>(gathered.data);
    for (const char* end = at + gathered.size; at != end;) {
      uint64_t size = 0;
      std::memcpy(&size, at, sizeof size);
      items.emplace_back(at + sizeof size, size);
      at += sizeof size + size;
    }
    return items;
  }

  // Collective: of what all of them have.
  [[nodiscard]] uint64_t sum(uint64_t own) const {
    uint64_t sum = 0;
    for (const std::string& number : all({std::to_string(own)})) sum += std::stoull(number);
    return sum;
  }
};

namespace detail {

// The functions of a program as those of the C interface. `Program` has partition and combine, and where records are
// sorted compare.
template <typename K, typename V, typename Program>
struct Callbacks {
  static void set(Program& program) {
    if constexpr (requires { program.compare; })
      if (program.compare) MPI_D_Set_compare(compare, &program);
    if (program.partition) MPI_D_Set_partition(partition, &program);
    if (is_sum(program))
      MPI_D_Set_combine_op(MPI_D_OP_SUM);
    else if (program.combine)
      MPI_D_Set_combine(combine, &program);
  }

  // The library adds numbers by itself, without a call for each.
  static bool is_sum([[maybe_unused]] const Program& program) {
#ifdef __cpp_rtti
    if constexpr (std::is_arithmetic_v<V>)
      return program.combine.template target<std::plus<>>() != nullptr ||
             program.combine.template target<std::plus<V>>() != nullptr;
#endif
    return false;
  }

  static Groups<K, V> groups(Program& program) {
    if (!program.compare) return Groups<K, V>();
    return Groups<K, V>([&program](View<K> a, View<K> b) { return program.compare(a, b) == 0; });
  }

  static int compare(const void* first, const void* second, void* program) {
    return static_cast<Program*>(program)->compare(Item<K>::view(first), Item<K>::view(second));
  }
  static int partition(const void* key, const void* value, int tasks, void* program) {
    return static_cast<Program*>(program)->partition(Item<K>::view(key), Item<V>::view(value), tasks);
  }
  static const void* combine(const void*, void* into, const void* value, void* program) {
    thread_local V combined;
    combined = static_cast<Program*>(program)->combine(Item<V>::view(into), Item<V>::view(value));
    thread_local typename Item<V>::Holder holder{View<V>()};
    holder = typename Item<V>::Holder(combined);
    return holder.pointer();
  }
};

struct Task {
  bool is_o = COMM_BIPARTITE_O != MPI_D_COMM_NULL;
  int number = 0;
  int count = 0;

  Task() {
    const MPI_D_Comm side = is_o ? COMM_BIPARTITE_O : COMM_BIPARTITE_A;
    MPI_D_Comm_rank(side, &number);
    MPI_D_Comm_size(side, &count);
  }
};

// Ends the job for what the program has thrown, with the task that it was in.
[[noreturn]] inline void fail(const std::exception& error) {
  std::string cause = error.what();
  if (COMM_BIPARTITE_O != MPI_D_COMM_NULL || COMM_BIPARTITE_A != MPI_D_COMM_NULL) {
    const Task task;
    cause = (task.is_o ? "O task " : "A task ") + std::to_string(task.number) + ": " + cause;
  }
  MPI_D_Fail(cause.c_str());
  std::abort();  // not reached
}

}  // namespace detail

// A program in the MapReduce mode. What its functions throw ends the job, with what() as its cause: that of `map` and
// `reduce` with the task; that of `partition`, `combine` and `compare` with the function's name and the key, and with
// task and record where they were called in a task. `combine` and `compare` are called by several threads at a time.
template <typename K, typename V>
struct MapReduce {
  std::function<void(int task, int tasks, const Emitter<K, V>& emit)> map;
  std::function<void(int task, int tasks, Groups<K, V>& groups)> reduce;
  // Optional, as those that follow. Sums of numbers are fastest as std::plus<>().
  std::function<V(View<V>, View<V>)> combine = nullptr;
  std::function<int(View<K>, View<K>)> compare = nullptr;               // less than, equal to or greater than 0
  std::function<int(View<K>, View<V>, int tasks)> partition = nullptr;  // from 0 to tasks - 1
  std::function<void(const Processes&)> begin = nullptr;                // in all processes, before the first task

  // The whole program but for its options. Returns its exit status.
  int run(int& argc, char**& argv, const Configuration& configuration = {}) {
    init<K, V>(argc, argv, MPI_D_MODE_MAPREDUCE, configuration);
    try {
      Functions::set(*this);
      if (begin) begin(Processes());
      while (MPI_D_Next_task()) run_task();
    } catch (const std::exception& error) {
      detail::fail(error);
    }
    return MPI_D_Finalize() == MPI_SUCCESS ? 0 : 1;
  }

 private:
  using Functions = detail::Callbacks<K, V, MapReduce>;

  void run_task() {
    const detail::Task task;
    if (task.is_o) {
      map(task.number, task.count, Emitter<K, V>());
      return;
    }
    Groups<K, V> groups = Functions::groups(*this);
    reduce(task.number, task.count, groups);
  }
};

// A program in the iteration mode: as long as `drive` says so, a round of O tasks (`map`) and A tasks (`reduce`). A
// task is in the same process in all rounds, so what belongs to it may be kept there. Exceptions as above.
template <typename K, typename V>
struct Iteration {
  // `received` is what A tasks of the last round have emitted for this task.
  std::function<void(int task, int tasks, Groups<K, V>& received, const Emitter<K, V>& emit)> map;
  std::function<void(int task, int tasks, Groups<K, V>& groups, const Emitter<K, V>& emit,
                     const DriverEmitter<K, V>& emit_to_driver)>
      reduce;
  // In the driver, after round 0 and so on: what A tasks have emitted for it. Whether there is another round.
  std::function<bool(int round, Groups<K, V>& received)> drive;
  std::function<void(const Processes&)> begin =
      nullptr;                                   // in all processes, before the first round; as all that follows
  std::function<std::string()> state = nullptr;  // optional. Of the driver, before each round: everybody
  std::function<void(std::string_view state)> take_state = nullptr;  // gets it
  std::function<V(View<V>, View<V>)> combine = nullptr;              // of what O tasks emit
  std::function<int(View<K>, View<K>)> compare = nullptr;
  std::function<int(View<K>, View<V>, int tasks)> partition = nullptr;  // for both directions

  int run(int& argc, char**& argv, const Configuration& configuration = {}) {
    init<K, V>(argc, argv, MPI_D_MODE_ITERATION, configuration);
    try {
      Functions::set(*this);
      if (begin) begin(Processes());
      for (bool goes_on = true; goes_on;) goes_on = run_round();
    } catch (const std::exception& error) {
      detail::fail(error);
    }
    return MPI_D_Finalize() == MPI_SUCCESS ? 0 : 1;
  }

 private:
  using Functions = detail::Callbacks<K, V, Iteration>;

  bool run_round() {
    const bool is_driver = MPI_D_Is_driver() != 0;
    if (state && take_state) {
      const std::string of_driver = is_driver ? state() : std::string();
      MPI_D_Bytes bytes{of_driver.data(), of_driver.size()};
      MPI_D_Bcast(&bytes);
      take_state({static_cast<const char*>(bytes.data), bytes.size});
    }
    while (MPI_D_Next_task()) run_task();
    bool goes_on = false;
    if (is_driver) {
      int round = 0;
      MPI_D_Round(&round);
      Groups<K, V> received = Functions::groups(*this);
      goes_on = drive(round, received);
    }
    return MPI_D_Next_round(goes_on) != 0;
  }

  void run_task() {
    const detail::Task task;
    Groups<K, V> groups = Functions::groups(*this);
    if (task.is_o) {
      map(task.number, task.count, groups, Emitter<K, V>());
    } else {
      reduce(task.number, task.count, groups, Emitter<K, V>(), DriverEmitter<K, V>());
    }
  }
};

// What an A task of a stream receives: `while (windows.next()) while (windows.receive(key, value)) ...`. There is at
// least one window, and all A tasks have as many.
template <typename K, typename V>
class Windows {
 public:
  bool next() { return ++number_ == 0 || MPI_D_Next_window() != 0; }
  // Of the current one, from 0.
  [[nodiscard]] int64_t number() const { return number_; }
  bool receive(View<K>& key, View<V>& value) { return mpid::receive<K, V>(key, value); }

 private:
  int64_t number_ = -1;
};

// A program in the streaming mode: `source` runs in O tasks and `sink` in A tasks, all at the same time. Exceptions as
// above.
template <typename K, typename V>
struct Streaming {
  std::function<void(int task, int tasks, const Emitter<K, V>& emit)> source;
  // Ranks of `tasks` are the numbers of A tasks.
  std::function<void(MPI_Comm tasks, Windows<K, V>& windows)> sink;
  std::function<V(View<V>, View<V>)> combine = nullptr;  // optional, as what follows
  std::function<int(View<K>, View<V>, int tasks)> partition = nullptr;

  int run(int& argc, char**& argv, const Configuration& configuration = {}) {
    init<K, V>(argc, argv, MPI_D_MODE_STREAMING, configuration);
    const detail::Task task;
    MPI_Comm side = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, task.is_o ? 0 : 1, task.number, &side);
    try {
      detail::Callbacks<K, V, Streaming>::set(*this);
      if (task.is_o) {
        source(task.number, task.count, Emitter<K, V>());
      } else {
        Windows<K, V> windows;
        sink(side, windows);
      }
    } catch (const std::exception& error) {
      detail::fail(error);
    }
    MPI_Comm_free(&side);
    return MPI_D_Finalize() == MPI_SUCCESS ? 0 : 1;
  }
};

// For a source that sends a record every so many seconds from now on. Waiting passes on what it has sent, and ends
// windows that are due.
class Pace {
 public:
  explicit Pace(double seconds) : seconds_(seconds) {}

  // Until the next one is due.
  void wait() {
    const auto due = begin_ + std::chrono::nanoseconds(std::llround(1e9 * seconds_ * count_++));
    for (auto now = Clock::now(); now < due; now = Clock::now()) {
      std::this_thread::sleep_until(std::min(due, now + std::chrono::milliseconds(1)));
      MPI_D_Flush();
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point begin_ = Clock::now();
  double seconds_;
  double count_ = 0;
};

// The texts of all tasks, one behind the other, in the first of them; nothing in the others. Together below 2 GiB.
inline std::string gathered(MPI_Comm tasks, const std::string& text) {
  int count = 0;
  MPI_Comm_size(tasks, &count);
  const int size = static_cast<int>(text.size());
  std::vector<int> sizes(static_cast<size_t>(count));
  MPI_Gather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, tasks);
  std::vector<int> begins(sizes.size());
  std::exclusive_scan(sizes.begin(), sizes.end(), begins.begin(), 0);
  std::string all(static_cast<size_t>(begins.back()) + static_cast<size_t>(sizes.back()), '\0');
  MPI_Gatherv(text.data(), size, MPI_CHAR, all.data(), sizes.data(), begins.data(), MPI_CHAR, 0, tasks);
  return all;
}

// main() of a program, whose words are wrong or else are what `function` runs with; it returns the exit status. The
// usage begins with the program's name. An exception before the job begins is said, with that name.
template <typename Function>
int guarded_main(const std::string& usage, bool has_wrong_words, Function function) {
  if (has_wrong_words) return std::fprintf(stderr, "usage: mpidrun [options] %s\n", usage.c_str()), 2;
  try {
    return function();
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "%s: %s\n", usage.substr(0, usage.find(' ')).c_str(), error.what()), 1;
  }
}

}  // namespace spillway::mpid

#endif
