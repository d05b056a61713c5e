// A key-value job whose records are computed, so that tests know them: record i of O task t has the key
// (7919 t + 104729 i) mod DISTINCT, with first=KEY so much higher, and the value i. Each A task writes what it
// receives, in order, into a file of its own.
//
// With `pauses` it does so much more slowly.
//
// throws=compare, partition or combine: the function throws at the key 500. contradicts=partition, or as compare: less
// (true or false), smaller (all keys before all others), circle (keys modulo 3), random.
#include <fcntl.h>
#include <spillway/mpid.h>
#include <unistd.h>
#include <spillway/text_files.hpp>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Options = std::map<std::string, std::string>;

Options options_of(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const size_t equals = word.find('=');
    options[word.substr(0, equals)] = equals == std::string::npos ? "yes" : word.substr(equals + 1);
  }
  return options;
}

int64_t number(const Options& options, const std::string& name, int64_t otherwise) {
  const auto option = options.find(name);
  return option == options.end() ? otherwise : std::atoll(option->second.c_str());
}

struct Key {
  Key(const std::string& item_class, int64_t value) : number(value), real(static_cast<double>(value) - 0.5) {
    small = static_cast<int32_t>(value);
    text = std::to_string(value);
    bytes = {text.data(), text.size()};
    pointer = item_class == "int64"    ? static_cast<const void*>(&number)
              : item_class == "int32"  ? static_cast<const void*>(&small)
              : item_class == "double" ? static_cast<const void*>(&real)
              : item_class == "bytes"  ? static_cast<const void*>(&bytes)
                                       : static_cast<const void*>(text.c_str());
  }
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;

  int64_t number;
  int32_t small;
  double real;
  std::string text;
  MPI_D_Bytes bytes;
  const void* pointer;
};

std::string text_of(const std::string& item_class, const void* item) {
  if (item_class == "int64") return std::to_string(*static_cast<const int64_t*>(item));
  if (item_class == "int32") return std::to_string(*static_cast<const int32_t*>(item));
  if (item_class == "double") return std::to_string(std::lround(*static_cast<const double*>(item) + 0.5));
  if (item_class == "string") return static_cast<const char*>(item);
  const auto& bytes = *static_cast<const MPI_D_Bytes*>(item);
  return {static_cast<const char*>(bytes.data), bytes.size};
}

// With tasks=FILE: a line there for each task that begins. With killed-at=o3 or a2, the first start dies in that task;
// with `waits`, too, when somebody else kills it.
void note_task(const Options& options, const std::string& side, int task) {
  const auto file = options.find("tasks");
  if (file == options.end()) return;
  const std::string line = side + std::to_string(task) + "\n";
  std::FILE* opened = std::fopen(file->second.c_str(), "a");
  std::fwrite(line.data(), 1, line.size(), opened);
  std::fclose(opened);
  const auto killed = options.find("killed-at");
  if (killed == options.end() || killed->second + "\n" != line || access((file->second + ".killed").c_str(), F_OK) == 0)
    return;
  std::fclose(std::fopen((file->second + ".killed").c_str(), "w"));
  while (options.count("waits")) pause();
  usleep(300000);  // the others go on meanwhile
  raise(SIGKILL);
}

// Records gathered as columns, in one of the layouts that mpid.h has: long, short, nul or ends; or wrong: descending,
// inner-nul. Values are int64.
class Batch {
 public:
  Batch(const std::string& layout, const std::string& key_class) : layout_(layout), key_class_(key_class) {}

  void add(const Key& key, int64_t value) {
    if (key_class_ == "string" || key_class_ == "bytes") {
      if (layout_ == "ends") data_ += "between";
      begins_.push_back(static_cast<int64_t>(data_.size()));
      data_ += key.text;
      if (layout_ == "nul") data_.push_back(0);
    } else {
      data_.append(static_cast<const char*>(key.pointer), key_class_ == "int32" ? 4 : 8);
    }
    offsets_.push_back(static_cast<int64_t>(data_.size()));
    values_.push_back(value);
    if (values_.size() == 100) send();
  }

  void send() {
    const std::vector<int32_t> short_offsets(offsets_.begin(), offsets_.end());
    if (layout_ == "descending") offsets_.at(5) = 0;
    if (layout_ == "inner-nul") data_.at(0) = 0;
    const bool has_no_long = layout_ == "nul" || layout_ == "short";
    const bool has_ends = layout_ == "ends";
    const MPI_D_Column keys{data_.data(),
                            has_no_long ? nullptr
                            : has_ends  ? begins_.data()
                                        : offsets_.data(),
                            layout_ == "short" ? short_offsets.data() : nullptr,
                            has_ends ? offsets_.data() + 1 : nullptr};
    const MPI_D_Column values{values_.data(), nullptr, nullptr, nullptr};
    MPI_D_Send_batch(values_.size(), &keys, &values);
    data_.clear();
    offsets_ = {0};
    begins_.clear();
    values_.clear();
  }

 private:
  const std::string layout_;
  const std::string key_class_;
  std::string data_;
  std::vector<int64_t> offsets_ = {0};
  std::vector<int64_t> begins_;
  std::vector<int64_t> values_;
};

void send_batches(const Options& options, const std::string& key_class, int task) {
  Batch batch(options.at("send-batch"), key_class);
  for (int64_t i = 0; i < number(options, "records", 0); ++i)
    batch.add(Key(key_class, (int64_t{7919} * task + 104729 * i) % number(options, "distinct", 1000)), i);
  batch.send();
}

void send_records(const Options& options, const std::string& key_class) {
  int task = 0;
  MPI_D_Comm_rank(COMM_BIPARTITE_O, &task);
  if (options.count("send-batch")) return send_batches(options, key_class, task);
  const int64_t value_bytes = number(options, "value-bytes", -1);
  const std::string long_value(value_bytes < 0 ? 0 : static_cast<size_t>(value_bytes), 'v');
  const MPI_D_Bytes bytes{long_value.data(), long_value.size()};
  note_task(options, "o", task);
  if (number(options, "killed-task", -1) == task) raise(SIGKILL);
  if (number(options, "exits-in", -1) == task) std::exit(0);
  for (int64_t i = 0; i < number(options, "records", 0); ++i) {
    if (options.count("pauses") && i % 10'000 == 0) usleep(10'000);
    const Key key(key_class, number(options, "first", 0) +
                                 (int64_t{7919} * task + 104729 * i) % number(options, "distinct", 1000));
    MPI_D_Send(key.pointer, value_bytes < 0 ? static_cast<const void*>(&i) : &bytes);
  }
}

// Changes a bit of every other page of this process's spill file, which has no name.
void damage_spill_file(const std::string& directory) {
  constexpr off_t kPageBytes = 4096;
  for (const auto& descriptor : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code is_closed;
    const std::string target = std::filesystem::read_symlink(descriptor, is_closed);
    if (is_closed || target.compare(0, directory.size(), directory) != 0) continue;
    const int file = open(descriptor.path().c_str(), O_RDWR);
    char byte = 0;
    for (off_t at = 100; pread(file, &byte, 1, at) == 1; at += 2 * kPageBytes) {
      byte ^= 1;
      if (pwrite(file, &byte, 1, at) != 1) std::perror("pwrite");
    }
    fsync(file);
    close(file);
  }
}

std::string key_in_batch(const std::string& key_class, const MPI_D_Column& keys, size_t i) {
  const auto* data = static_cast<const char*>(keys.data);
  if (keys.offsets == nullptr) return text_of(key_class, data + i * (key_class == "int32" ? 4 : 8));
  return {data + keys.offsets[i], static_cast<size_t>(keys.offsets[i + 1] - keys.offsets[i])};
}

void write_batches(const std::string& key_class, int64_t most, spillway::mpid::PartFile& output) {
  MPI_D_Column keys{};
  MPI_D_Column values{};
  size_t count = 0;
  while (MPI_D_Recv_batch(static_cast<size_t>(most), &count, &keys, &values) == MPI_SUCCESS && count != 0)
    for (size_t i = 0; i < count; ++i)
      output << key_in_batch(key_class, keys, i) << "\t" << static_cast<const int64_t*>(values.data)[i] << "\n";
}

void write_records(const Options& options, const std::string& key_class) {
  int task = 0;
  MPI_D_Comm_rank(COMM_BIPARTITE_A, &task);
  note_task(options, "a", task);
  spillway::mpid::PartFile output(options.at("output"), task);
  if (options.count("ignores-records")) return output.finish();
  if (options.count("damages-spill-in")) damage_spill_file(options.at("damages-spill-in"));
  if (options.count("recv-batch")) write_batches(key_class, number(options, "recv-batch", 1), output);
  const void* key = nullptr;
  const void* value = nullptr;
  while (MPI_D_Recv(&key, &value) == MPI_SUCCESS && key != nullptr) {
    output << text_of(key_class, key) << "\t";
    if (options.count("value-bytes")) {
      output << static_cast<int64_t>(static_cast<const MPI_D_Bytes*>(value)->size);
    } else {
      output << *static_cast<const int64_t*>(value);
    }
    output << "\n";
  }
  output.finish();
}

int compare_descending(const void* first, const void* second, void*) {
  const int64_t a = *static_cast<const int64_t*>(first);
  const int64_t b = *static_cast<const int64_t*>(second);
  return a < b ? 1 : a > b ? -1 : 0;
}

const std::string& option(const void* options, const char* name) {
  static const std::string none;
  const auto found = static_cast<const Options*>(options)->find(name);
  return found == static_cast<const Options*>(options)->end() ? none : found->second;
}

void throw_at_500(const void* options, const char* function, const void* key) {
  if (option(options, "throws") == function && *static_cast<const int64_t*>(key) == 500)
    throw std::out_of_range("as it was told");
}

int compare_wrongly(const void* first, const void* second, void* options) {
  throw_at_500(options, "compare", second);
  const int64_t a = *static_cast<const int64_t*>(first);
  const int64_t b = *static_cast<const int64_t*>(second);
  const std::string& way = option(options, "contradicts");
  if (way == "less") return a < b ? 1 : 0;
  if (way == "smaller") return -1;
  if (way == "circle") return a % 3 == b % 3 ? 0 : (a + 1) % 3 == b % 3 ? -1 : 1;
  if (way == "random") return std::rand() % 3 - 1;
  return a < b ? -1 : a > b ? 1 : 0;
}

int partition_wrongly(const void* key, const void*, int tasks, void* options) {
  static int calls = 0;
  throw_at_500(options, "partition", key);
  return option(options, "contradicts") == "partition" ? ++calls % tasks : 0;
}

const void* add_wrongly(const void* key, void* into, const void* value, void* options) {
  throw_at_500(options, "combine", key);
  *static_cast<int64_t*>(into) += *static_cast<const int64_t*>(value);
  return into;
}

void set_wrong_functions(const Options& options) {
  auto* user = const_cast<Options*>(&options);
  const std::string& throwing = option(&options, "throws");
  const std::string& contradicting = option(&options, "contradicts");
  if (throwing == "partition" || contradicting == "partition") {
    MPI_D_Set_partition(partition_wrongly, user);
  } else if (throwing == "combine") {
    MPI_D_Set_combine(add_wrongly, user);
  } else if (!throwing.empty() || !contradicting.empty()) {
    MPI_D_Set_compare(compare_wrongly, user);
  }
}

const void* add(const void*, void* into, const void* value, void*) {
  *static_cast<int64_t*>(into) += *static_cast<const int64_t*>(value);
  return into;
}

int always(const void*, const void*, int a_tasks, void* chosen) {
  const int64_t task = *static_cast<int64_t*>(chosen);
  return static_cast<int>(task < 0 ? a_tasks + task : task);
}

void run_tasks(const Options& options, const std::string& key_class) {
  if (options.count("without-next-task")) {  // as the paper's example
    if (COMM_BIPARTITE_O != MPI_D_COMM_NULL) {
      send_records(options, key_class);
    } else if (COMM_BIPARTITE_A != MPI_D_COMM_NULL) {
      write_records(options, key_class);
    }
    return;
  }
  while (MPI_D_Next_task()) {
    if (COMM_BIPARTITE_O != MPI_D_COMM_NULL) {
      send_records(options, key_class);
    } else {
      write_records(options, key_class);
    }
  }
}

void call_other_modes() {
  int round = 0;
  MPI_D_Bytes bytes{};
  MPI_D_Set_errhandler(MPI_D_ERRORS_RETURN);
  const int codes[] = {MPI_D_Round(&round), MPI_D_Send_to_driver(&round, &round), MPI_D_Bcast(&bytes), MPI_D_Flush(),
                       MPI_D_End_window()};
  int refused = 0;
  for (const int code : codes) refused += code == MPI_D_ERR_MODE ? 1 : 0;
  std::printf("refused: %d of 5\n", refused);
  MPI_D_Set_errhandler(MPI_D_ERRORS_ARE_FATAL);
}

// With own-mpi-init and differs=NAME:VALUE, process 1 alone has that in its configuration.
void differ(const Options& options, Options& entries) {
  const std::string& entry = option(&options, "differs");
  int process = 0;
  if (!entry.empty()) MPI_Comm_rank(MPI_COMM_WORLD, &process);
  if (process == 1) entries[entry.substr(0, entry.find(':'))] = entry.substr(entry.find(':') + 1);
}

int run(int argc, char** argv) {
  const Options options = options_of(argc, argv);
  const auto classes = options.find("keys");
  const std::string key_class = classes == options.end() ? "int64" : classes->second;
  if (options.count("own-mpi-init")) MPI_Init(&argc, &argv);
  Options entries = {{MPI_D_KEY_CLASS, key_class},
                     {MPI_D_VALUE_CLASS, options.count("value-bytes") ? "bytes" : "int64"}};
  differ(options, entries);
  std::vector<MPI_D_Entry> conf;
  for (const auto& [name, value] : entries) conf.push_back({name.c_str(), value.c_str()});
  conf.push_back({nullptr, nullptr});
  MPI_D_Init(&argc, &argv, options.count("common") ? MPI_D_MODE_COMMON : MPI_D_MODE_MAPREDUCE, conf.data());
  if (options.count("calls-of-other-modes")) call_other_modes();
  int64_t partition = number(options, "partition", 0);
  if (options.count("descending")) MPI_D_Set_compare(compare_descending, nullptr);
  if (options.count("combine")) MPI_D_Set_combine(add, nullptr);
  if (options.count("op")) MPI_D_Set_combine_op(static_cast<MPI_D_Op>(number(options, "op", 0)));
  if (options.count("partition")) MPI_D_Set_partition(always, &partition);
  set_wrong_functions(options);
  run_tasks(options, key_class);
  if (options.count("wrong-side")) MPI_D_Send(&partition, &partition);
  MPI_D_Finalize();
  if (options.count("own-mpi-init")) MPI_Finalize();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    MPI_D_Fail(error.what());
  }
  return 1;
}
