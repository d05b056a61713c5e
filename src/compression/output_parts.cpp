#include "compression/output_parts.h"

#include <fcntl.h>
#include <spillway/mpid_files.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "compression/file_answer.h"
#include "compression/part_name.h"

#define SPILLWAY_EXPORT __attribute__((visibility("default")))

namespace spillway::compression {
namespace {

// Of a part that a restart may need: whoever writes it anew writes to another file until that one is whole.
constexpr char kKept[] = ".whole.partial";
// In a folder all of whose parts are those of one job, as Hadoop has it.
constexpr char kMark[] = "_SUCCESS";
constexpr char kNoNames[] =
    "  Remedy: no part of the job has got its name; start it again, and let nobody else write to its folders.";

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

// Where a job is started again, a part of another format may be its own, from before.
bool stays_beside(const PartName& found, const PartName& own) {
  const int count = task_count();
  if (own.number < count && found.number >= count) return true;
  return found.format == own.format ? found.codec != own.codec : !keeps_tasks;
}

// Of this start's own parts, the time of the last change is left out: some file systems settle it when a file has been
// closed.
bool is_there(const State& state) {
  if (state.is_adopted) return is_at(state.part.partial, state.part);
  struct stat status {};
  return stat(state.part.partial.c_str(), &status) == 0 && static_cast<uint64_t>(status.st_size) == state.part.bytes;
}

// Nobody has changed it, and its name is free, or that of an earlier one.
void require_whole(const State& state) {
  if (is_of_others(state)) return;
  const auto& [partial, path, bytes, modified_ns] = state.part;
  struct stat status {};
  if (lstat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    throw std::runtime_error("cannot write " + path + ": something that is no regular file has that name\n" + kNoNames);
  if (!is_there(state))
    throw std::runtime_error("cannot write " + path + ": " + partial +
                             (exists(partial) ? " has been changed" : " is gone") + " since its task has written it\n" +
                             kNoNames);
}

std::set<std::string> marks() {
  std::set<std::string> marks;
  for (const auto& [partial, state] : parts) {
    const std::filesystem::path path(state.part.path);
    if (part_name(path.filename().c_str())) marks.insert(path.parent_path() / kMark);
  }
  return marks;
}

void remove_mark(const std::string& mark) {
  if (unlink(mark.c_str()) != 0 && errno != ENOENT)
    throw std::runtime_error("cannot remove " + mark + ", which a job before has left: " + std::strerror(errno));
}

void make_mark(const std::string& mark) {
  const int descriptor = open(mark.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor < 0 || close(descriptor) != 0)
    throw std::runtime_error("cannot write " + mark + ": " + std::strerror(errno));
}

void take_step(MPI_D_Publish_step step) {
  switch (step) {
    case MPI_D_PUBLISH_LOOK:
      for (const auto& [partial, state] : parts) require_whole(state);
      break;
    case MPI_D_PUBLISH_BEGIN:
      for (const std::string& mark : marks()) remove_mark(mark);
      break;
    case MPI_D_PUBLISH_NAME:
      for (const auto& [partial, state] : parts)
        if (!is_of_others(state)) rename_part(partial, state.part.path);
      break;
    case MPI_D_PUBLISH_END:
      for (const std::string& mark : marks()) make_mark(mark);
      parts.clear();
      task_count = nullptr;
      break;
  }
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

void publish_parts(MPI_D_Publish_step step) {
  std::set<MPI_D_Publish_function> others;
  {
    const std::lock_guard lock(mutex);
    take_step(step);
    others = publishers;
    if (step == MPI_D_PUBLISH_END) publishers.clear();
  }
  for (const MPI_D_Publish_function publish_others : others) publish_others(step);
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
  if (task_count == nullptr) return -1;
  publishers.insert(publish);
  return keeps_tasks ? 0 : 1;
}

SPILLWAY_EXPORT int MPI_D_Is_other_part(const char* found, const char* own) {
  const std::lock_guard lock(mutex);
  if (task_count == nullptr) return 0;
  const std::optional<PartName> found_part = part_name(found);
  const std::optional<PartName> own_part = part_name(own);
  return found_part && own_part && stays_beside(*found_part, *own_part) ? 1 : 0;
}

}  // extern "C"
