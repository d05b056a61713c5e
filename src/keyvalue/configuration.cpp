#include "keyvalue/configuration.h"

#include <spillway/spillway.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>

#include "base/available_memory.h"
#include "base/size_text.h"
#include "keyvalue/failure.h"
#include "shuffle/send_list.h"

namespace spillway::keyvalue {
namespace {

using shuffle::ItemClass;

constexpr uint64_t kLeastMemoryBytes = 1 << 20;
constexpr uint64_t kUsualPartitionBytes = 4 << 20;
// Runs are the fewer for it, and merged the faster; but a process has ten lists and more beside its memory.
constexpr uint64_t kMostUsualPartitionBytes = 16 << 20;
constexpr uint64_t kMemoryOfALongList = 128;  // times its own
constexpr uint64_t kMemoryOfAll = 16;         // times those of all senders
constexpr uint64_t kShortestWindowNs = 1'000'000;
constexpr uint64_t kLongestSeconds = 86400;
constexpr size_t kMostSpillDirectories = 16;
constexpr int kMostTasks = 1 << 20;

[[noreturn]] void refuse(std::string_view key, std::string_view value, const std::string& wanted) {
  throw Failure(MPI_D_ERR_CONF, std::string(key) + ": '" + std::string(value) + "' is not " + wanted,
                "correct the entry of the configuration, or the variable of the environment");
}

ItemClass item_class(std::string_view key, std::string_view value) {
  constexpr std::pair<std::string_view, ItemClass> kNames[] = {{"string", ItemClass::string},
                                                               {"int32", ItemClass::int32},
                                                               {"int64", ItemClass::int64},
                                                               {"double", ItemClass::real64},
                                                               {"bytes", ItemClass::bytes}};
  for (const auto& [name, found] : kNames)
    if (name == value) return found;
  refuse(key, value, "string, int32, int64, double or bytes");
}

int task_count(std::string_view key, std::string_view value) {
  int count = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), count);
  if (error != std::errc() || end != value.data() + value.size() || count < 1 || count > kMostTasks)
    refuse(key, value, "a number of tasks from 1 to " + std::to_string(kMostTasks));
  return count;
}

uint64_t size(std::string_view key, std::string_view value, uint64_t least, uint64_t most) {
  const std::optional<uint64_t> bytes = base::parse_size(value);
  if (!bytes || *bytes < least || *bytes > most)
    refuse(key, value,
           "a size from " + std::to_string(least) + " to " + std::to_string(most) + " bytes, as in 64M or 67108864");
  return *bytes;
}

uint64_t duration_ns(std::string_view key, std::string_view value) {
  constexpr std::pair<std::string_view, uint64_t> kUnits[] = {{"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}};
  uint64_t count = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), count);
  const std::string_view unit(end, static_cast<size_t>(value.data() + value.size() - end));
  for (const auto& [name, ns] : kUnits)
    if (error == std::errc() && unit == name && count >= 1 && count <= kLongestSeconds * 1'000'000'000 / ns)
      return count * ns;
  refuse(key, value, "a duration, as in 500us, 20ms or 5s, of at most a day");
}

// File systems that keep their files in memory: spilling there would free nothing.
bool is_in_memory(const char* directory) {
  constexpr long kTmpfs = 0x01021994;
  constexpr long kRamfs = static_cast<long>(0x858458f6);
  struct statfs status {};
  return statfs(directory, &status) == 0 && (status.f_type == kTmpfs || status.f_type == kRamfs);
}

std::vector<std::string> listed(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, ':');)
    if (!word.empty()) words.push_back(word);
  return words;
}

std::vector<std::string> spill_directories(std::string_view key, const std::string& value) {
  const std::vector<std::string> directories = listed(value);
  if (directories.empty() || directories.size() > kMostSpillDirectories)
    refuse(key, value, "one to " + std::to_string(kMostSpillDirectories) + " directories with ':' between them");
  for (const std::string& directory : directories) {
    if (access(directory.c_str(), W_OK | X_OK) != 0)
      refuse(key, directory, std::string("a directory that may be written to: ") + strerrordesc_np(errno));
    if (is_in_memory(directory.c_str())) refuse(key, directory, "on a disk: what is there stays in memory");
  }
  return directories;
}

// Names between commas, of which some or all may be empty: then they say nothing.
std::vector<std::string> input_hosts(const std::string& text) {
  std::vector<std::string> hosts(1);
  for (const char letter : text) {
    if (letter == ',')
      hosts.emplace_back();
    else if (letter != ' ')
      hosts.back() += letter;
  }
  const bool is_anywhere =
      std::all_of(hosts.begin(), hosts.end(), [](const std::string& host) { return host.empty(); });
  return is_anywhere ? std::vector<std::string>() : hosts;
}

compression::Codec output_codec(std::string_view key, std::string_view value) {
  if (const auto codec = compression::codec_of_name(value)) return *codec;
  refuse(key, value, "none, gzip or zstd");
}

struct Item {
  const char* key;
  bool is_of_environment;
  void (*set)(Configuration& configuration, const char* key, const char* value);
};

constexpr Item kItems[] = {
    {MPI_D_KEY_CLASS, false, [](Configuration& c, const char* k, const char* v) { c.key_class = item_class(k, v); }},
    {MPI_D_VALUE_CLASS, false,
     [](Configuration& c, const char* k, const char* v) { c.value_class = item_class(k, v); }},
    {MPI_D_O_TASKS, true, [](Configuration& c, const char* k, const char* v) { c.o_tasks = task_count(k, v); }},
    {MPI_D_A_TASKS, true, [](Configuration& c, const char* k, const char* v) { c.a_tasks = task_count(k, v); }},
    {MPI_D_MEMORY, true,
     [](Configuration& c, const char* k, const char* v) {
       c.memory_bytes = size(k, v, kLeastMemoryBytes, uint64_t{1} << 60);
     }},
    {MPI_D_PARTITION_BYTES, true,
     [](Configuration& c, const char* k, const char* v) {
       c.partition_bytes = size(k, v, kLeastPartitionBytes, shuffle::SendList::kMostBytes);
     }},
    {MPI_D_SPILL_DIR, true,
     [](Configuration& c, const char* k, const char* v) { c.spill_directories = spill_directories(k, v); }},
    {MPI_D_CHECKPOINT, true, [](Configuration& c, const char*, const char* v) { c.checkpoint_directory = v; }},
    {MPI_D_CHECKPOINT_INTERVAL, true,
     [](Configuration& c, const char* k, const char* v) { c.checkpoint_interval_ns = duration_ns(k, v); }},
    {MPI_D_OUTPUT_CODEC, true,
     [](Configuration& c, const char* k, const char* v) { c.output_codec = output_codec(k, v); }},
    {MPI_D_INPUT_PLAN, false, [](Configuration& c, const char*, const char* v) { c.input_plan = v; }},
    {MPI_D_INPUT_HOSTS, false, [](Configuration& c, const char*, const char* v) { c.input_hosts = input_hosts(v); }},
    {MPI_D_REDUCTION_GROUP, true,
     [](Configuration& c, const char* k, const char* v) { c.reduction_group = task_count(k, v); }},
    {MPI_D_LATENCY, true, [](Configuration& c, const char* k, const char* v) { c.latency_ns = duration_ns(k, v); }},
    {MPI_D_WINDOW, true,
     [](Configuration& c, const char* k, const char* v) {
       c.window_ns = duration_ns(k, v);
       if (c.window_ns < kShortestWindowNs) refuse(k, v, "at least 1ms");
     }},
};

// Of the processes here together: half of the node's budget under Spillway, else a quarter of what the machine could
// give to programs now.
uint64_t usual_memory() {
  spillway_usage usage{};
  usage.struct_bytes = sizeof usage;
  if (spillway_get_usage(&usage) == 0) return usage.budget_bytes / 2;
  const uint64_t available = base::available_memory();
  return available != 0 ? available / 4 : uint64_t{1} << 28;
}

bool is_usable(const std::string& directory) {
  return access(directory.c_str(), W_OK | X_OK) == 0 && !is_in_memory(directory.c_str());
}

// Those of the rank's node under Spillway.
std::vector<std::string> usual_spill_directories() {
  const char* of_node = spillway_get_spill_directories();
  if (of_node != nullptr && *of_node != '\0') return listed(of_node);
  if (const char* value = std::getenv("SPILLWAY_SPILL_DIR")) {
    std::vector<std::string> directories = listed(value);
    std::erase_if(directories, [](const std::string& directory) { return !is_usable(directory); });
    directories.resize(std::min(directories.size(), kMostSpillDirectories));
    if (!directories.empty()) return directories;
  }
  const char* temporary = std::getenv("TMPDIR");
  if (temporary != nullptr && is_usable(temporary)) return {temporary};
  return {"/var/tmp"};
}

// Of each sender one may arrive at the same time.
uint64_t usual_partition_bytes(MPI_D_Mode mode, uint64_t memory_bytes, int processes) {
  const uint64_t share = std::max(kMemoryOfALongList, kMemoryOfAll * static_cast<uint64_t>(processes));
  const uint64_t most = mode == MPI_D_MODE_MAPREDUCE
                            ? std::clamp(memory_bytes / share, kUsualPartitionBytes, kMostUsualPartitionBytes)
                            : kUsualPartitionBytes;
  return std::clamp(memory_bytes / 16, uint64_t{64 << 10}, most);
}

}  // namespace

std::string whole_input_plan(const Configuration& configuration) {
  std::string plan = configuration.input_plan;
  for (const std::string& host : configuration.input_hosts) plan.append("\n").append(host);
  return plan;
}

Configuration read_configuration(const MPI_D_Entry* conf) {
  Configuration configuration;
  for (; conf != nullptr && conf->key != nullptr; ++conf) {
    const Item* item = std::find_if(std::begin(kItems), std::end(kItems),
                                    [&](const Item& known) { return std::strcmp(known.key, conf->key) == 0; });
    if (item == std::end(kItems) || conf->value == nullptr)
      throw Failure(MPI_D_ERR_CONF,
                    std::string("the configuration has ") +
                        (item == std::end(kItems) ? "an unknown key " : "no value for ") + conf->key,
                    "the keys are in spillway/mpid.h");
    item->set(configuration, conf->key, conf->value);
  }
  for (const Item& item : kItems)
    if (const char* value = item.is_of_environment ? std::getenv(item.key) : nullptr)
      item.set(configuration, item.key, value);
  return configuration;
}

void choose_defaults(Configuration& configuration, MPI_D_Mode mode, int processes, int local_processes) {
  if (configuration.memory_bytes == 0)
    configuration.memory_bytes = std::max<uint64_t>(usual_memory() / local_processes, 16 << 20);
  if (configuration.partition_bytes == 0)
    configuration.partition_bytes = usual_partition_bytes(mode, configuration.memory_bytes, processes);
  if (configuration.spill_directories.empty()) configuration.spill_directories = usual_spill_directories();
}

}  // namespace spillway::keyvalue
