#include "compression/output_parts.h"

#include <spillway/mpid_files.h>
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

#include "compression/codec.h"
#include "compression/file_answer.h"

#define SPILLWAY_EXPORT __attribute__((visibility("default")))

namespace spillway::compression {
namespace {

std::mutex mutex;
bool waits = false;
int (*task_count)() = nullptr;             // nullptr: no job runs
std::map<std::string, std::string> parts;  // by the names that they have now
std::set<MPI_D_Publish_function> publishers;

void rename_part(const std::string& partial, const std::string& path) {
  if (std::rename(partial.c_str(), path.c_str()) != 0)
    throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
}

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

// With checkpoints a part of another format may be the same job's, from before.
bool stays_beside(const PartName& found, const PartName& own) {
  const int count = task_count();
  if (own.number < count && found.number >= count) return true;
  return found.format == own.format ? found.codec != own.codec : waits;
}

}  // namespace

void begin_parts(bool waits_for_end, int (*count)()) {
  const std::lock_guard lock(mutex);
  waits = waits_for_end;
  task_count = count;
}

void publish_parts() {
  std::set<MPI_D_Publish_function> others;
  {
    const std::lock_guard lock(mutex);
    waits = false;
    task_count = nullptr;
    for (const auto& [partial, path] : parts) rename_part(partial, path);
    parts.clear();
    others.swap(publishers);
  }
  for (const MPI_D_Publish_function publish : others) publish();
}

void drop_parts() {
  const std::lock_guard lock(mutex);
  for (const auto& [partial, path] : parts) unlink(partial.c_str());
  parts.clear();
}

}  // namespace spillway::compression

using namespace spillway::compression;

extern "C" {

SPILLWAY_EXPORT int MPI_D_Publish(const char* partial, const char* path) {
  return file_answer(-1, [&] {
    const std::lock_guard lock(mutex);
    if (waits) {
      parts[std::filesystem::absolute(partial)] = std::filesystem::absolute(path);
    } else {
      rename_part(partial, path);
    }
    return 0;
  });
}

SPILLWAY_EXPORT int MPI_D_Publish_later(MPI_D_Publish_function publish) {
  const std::lock_guard lock(mutex);
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
