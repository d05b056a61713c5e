#include "compression/output_parts.h"

#include <spillway/mpid_files.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "compression/codec.h"
#include "compression/file_answer.h"

#define SPILLWAY_EXPORT __attribute__((visibility("default")))

namespace spillway::compression {
namespace {

// Of a part that a restart may need: whoever writes it anew writes to another file until that one is whole.
constexpr char kKept[] = ".whole.partial";

struct State {
  OutputPart part;
  bool is_adopted = false;
  bool is_new = true;    // not yet given to whoever keeps it
  bool is_kept = false;  // this one, or an earlier one of that name
};

std::mutex mutex;
bool keeps_tasks = false;
int (*task_count)() = nullptr;       // nullptr: no job runs
std::map<std::string, State> parts;  // by the names that they have now
std::set<MPI_D_Publish_function> publishers;

void rename_part(const std::string& partial, const std::string& path) {
  if (std::rename(partial.c_str(), path.c_str()) != 0)
    throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
}

int64_t modified_ns(const struct stat& status) {
  return int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

void fill_in_state(const std::string& path, OutputPart& part) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
  part.bytes = static_cast<uint64_t>(status.st_size);
  part.modified_ns = modified_ns(status);
}

// False: there is none. One that cannot be looked at now may be as it was.
bool look_at(const std::string& path, struct stat& status) {
  if (stat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  throw std::runtime_error("cannot look at " + path + ": " + std::strerror(errno) +
                           "\n  Remedy: start the job again when all hosts can read its folder");
}

bool is_at(const std::string& path, const OutputPart& part) {
  struct stat status {};
  return look_at(path, status) && S_ISREG(status.st_mode) && static_cast<uint64_t>(status.st_size) == part.bytes &&
         modified_ns(status) == part.modified_ns;
}

bool exists(const std::string& path) {
  struct stat status {};
  return look_at(path, status);
}

// One of the job before may have its name, as that was lost while it gave names; or a task that was run again has
// written it anew, perhaps in another process.
bool is_of_others(const State& state) { return state.is_adopted && !is_at(state.part.partial, state.part); }

struct PartName {
  int number;
  std::string_view format;  // ".csv", ".parquet", or nothing of text
  std::string_view codec;   // ".gz", ".zst" or nothing
};

std::optional<PartName> part_name(std::string_view name) {
  constexpr std::string_view kBegin = "part-";
  if (!name.starts_with(kBegin)) return std::nullopt;
  PartName part{};
  const char* const end = name.data() + name.size();
  const auto [behind, error] = std::from_chars(name.data() + kBegin.size(), end, part.number);
  part.format = {behind, static_cast<size_t>(end - behind)};
  const bool is_part = error == std::errc() && (part.format.empty() || part.format.starts_with("."));
  if (!is_part || part.format.ends_with(".partial")) return std::nullopt;
  const size_t codec_bytes = std::strlen(suffix_of(codec_of_path(name)));
  part.codec = part.format.substr(part.format.size() - codec_bytes);
  part.format.remove_suffix(codec_bytes);
  return part;
}

// Where a job is started again, a part of another format may be its own, from before.
bool stays_beside(const PartName& found, const PartName& own) {
  const int count = task_count();
  if (own.number < count && found.number >= count) return true;
  return found.format == own.format ? found.codec != own.codec : !keeps_tasks;
}

}  // namespace

void begin_parts(bool keeps, int (*count)()) {
  const std::lock_guard lock(mutex);
  keeps_tasks = keeps;
  task_count = count;
}

std::vector<OutputPart> parts_to_keep() {
  const std::lock_guard lock(mutex);
  std::vector<OutputPart> kept;
  for (auto& [partial, state] : parts) {
    state.is_kept = true;
    if (std::exchange(state.is_new, false)) kept.push_back(state.part);
  }
  return kept;
}

std::vector<OutputPart> all_parts_to_keep() {
  const std::lock_guard lock(mutex);
  std::vector<OutputPart> kept;
  for (auto& [partial, state] : parts) {
    state.is_kept = true;
    kept.push_back(state.part);
  }
  return kept;
}

bool is_as_kept(const OutputPart& part) { return is_at(part.partial, part) || is_at(part.path, part); }

bool is_gone(const OutputPart& part) {
  if (exists(part.partial)) return false;
  struct stat status {};
  return !look_at(part.path, status) || modified_ns(status) < part.modified_ns;
}

void adopt_parts(const std::vector<OutputPart>& adopted) {
  const std::lock_guard lock(mutex);
  for (const OutputPart& part : adopted)
    if (!parts.contains(part.partial) || is_as_kept(part))
      parts[part.partial] = {.part = part, .is_adopted = true, .is_new = false, .is_kept = true};
}

std::vector<std::string> parts_at_hand() {
  const std::lock_guard lock(mutex);
  std::vector<std::string> names;
  for (const auto& [partial, state] : parts)
    if (!state.is_adopted || is_as_kept(state.part)) names.push_back(partial);
  return names;
}

std::vector<std::string> parts_of_others() {
  const std::lock_guard lock(mutex);
  std::vector<std::string> names;
  for (const auto& [partial, state] : parts)
    if (state.is_adopted && !is_as_kept(state.part)) names.push_back(partial);
  return names;
}

void publish_parts() {
  std::set<MPI_D_Publish_function> others;
  {
    const std::lock_guard lock(mutex);
    task_count = nullptr;
    for (const auto& [partial, state] : parts)
      if (!is_of_others(state)) rename_part(partial, state.part.path);
    parts.clear();
    others.swap(publishers);
  }
  for (const MPI_D_Publish_function publish_others : others) publish_others();
}

void drop_parts() {
  const std::lock_guard lock(mutex);
  for (const auto& [partial, state] : parts)
    if (!state.is_kept) unlink(partial.c_str());
  parts.clear();
}

}  // namespace spillway::compression

using namespace spillway::compression;

extern "C" {

SPILLWAY_EXPORT int MPI_D_Publish(const char* partial, const char* path) {
  return file_answer(-1, [&] {
    const std::lock_guard lock(mutex);
    if (task_count == nullptr) {
      rename_part(partial, path);
      return 0;
    }
    OutputPart part{std::filesystem::absolute(partial), std::filesystem::absolute(path), 0, 0};
    bool was_kept = false;
    if (keeps_tasks) {
      part.partial = part.path + kKept;
      const auto before = parts.find(part.partial);
      // Perhaps another process knows of it, as that which had the task in an earlier start is another one.
      was_kept = before != parts.end() ? before->second.is_kept : exists(part.partial);
      rename_part(partial, part.partial);
    }
    fill_in_state(part.partial, part);
    parts[part.partial] = {.part = part, .is_kept = was_kept};
    return 0;
  });
}

SPILLWAY_EXPORT int MPI_D_Publish_later(MPI_D_Publish_function publish) {
  const std::lock_guard lock(mutex);
  const bool waits = task_count != nullptr && !keeps_tasks;
  if (waits) publishers.insert(publish);
  return waits ? 1 : 0;
}

SPILLWAY_EXPORT int MPI_D_Is_other_part(const char* found, const char* own) {
  const std::lock_guard lock(mutex);
  if (task_count == nullptr) return 0;
  const std::optional<PartName> found_part = part_name(found);
  const std::optional<PartName> own_part = part_name(own);
  return found_part && own_part && stays_beside(*found_part, *own_part) ? 1 : 0;
}

}  // extern "C"
