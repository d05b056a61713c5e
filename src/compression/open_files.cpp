#include "compression/open_files.h"

#include <spillway/mpid_files.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>
#include <set>
#include <string>

#include "compression/file_answer.h"

#define SPILLWAY_EXPORT __attribute__((visibility("default")))

namespace spillway::compression {
namespace {

std::mutex mutex;
std::set<std::string> open_files;

}  // namespace

void drop_open_files() {
  const std::lock_guard lock(mutex);
  for (const std::string& path : open_files) unlink(path.c_str());
  open_files.clear();
}

}  // namespace spillway::compression

using namespace spillway::compression;

extern "C" {

SPILLWAY_EXPORT int MPI_D_Begin_partial(const char* partial) {
  return file_answer(-1, [&] {
    const std::string path = std::filesystem::absolute(partial);
    const std::lock_guard lock(mutex);
    open_files.insert(path);
    return 0;
  });
}

SPILLWAY_EXPORT void MPI_D_End_partial(const char* partial) {
  file_answer(-1, [&] {
    const std::string path = std::filesystem::absolute(partial);
    const std::lock_guard lock(mutex);
    open_files.erase(path);
    return 0;
  });
}

}  // extern "C"
