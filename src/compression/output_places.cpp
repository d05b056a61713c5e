// Where output is to be written, and whether it can be: looked at before a job works for it.
#include <spillway/mpid_files.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "compression/file_answer.h"
#include "compression/part_name.h"

#define SPILLWAY_EXPORT __attribute__((visibility("default")))

namespace spillway::compression {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& cause) {
  throw std::runtime_error("cannot write " + path + ": " + cause);
}

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

// A file could be made there, or put in the place of another one.
void require_writable(const std::string& path, const std::string& folder) {
  if (access((folder + "/.").c_str(), W_OK | X_OK) == 0) return;
  refuse(path, "no file can be made in the folder " + folder + ": " + std::strerror(errno) +
                   "\n  Remedy: make it, or name another one.");
}

// Renaming would put a file in the place of a device or a pipe, and opening would write to it.
void require_regular(const std::string& path, const std::string& found) {
  struct stat status {};
  if (lstat(found.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return;
  const char* const what = S_ISDIR(status.st_mode) ? "a directory" : S_ISLNK(status.st_mode) ? "a link" : "no file";
  refuse(path, found + " is there, and is " + what + "\n  Remedy: name another one, or remove it.");
}

std::string behind_link(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) return path;
  const std::string place = std::filesystem::canonical(path, error);
  if (error) refuse(path, "it is a symbolic link that cannot be followed: " + error.message());
  return place;
}

std::string output_place(const std::string& path) {
  std::string place = behind_link(path);
  require_regular(path, place);
  require_writable(path, folder_of(place));
  std::error_code error;
  if (!std::filesystem::is_symlink(place + ".partial", error)) require_regular(path, place + ".partial");
  return place;
}

void require_place_for_parts(const std::string& directory) {
  const std::string first = directory + "/part-00000" + MPI_D_Part_suffix();
  std::error_code error;
  if (std::filesystem::status(directory, error).type() == std::filesystem::file_type::not_found) {
    require_regular(first, directory);  // a link that leads nowhere
    const std::filesystem::path path(directory);
    require_writable(first, folder_of(path.has_filename() ? path : path.parent_path()));
    return;
  }
  require_writable(first, directory);
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (part_name(entry.path().filename().native())) require_regular(entry.path(), entry.path());
}

}  // namespace
}  // namespace spillway::compression

using namespace spillway::compression;

extern "C" {

SPILLWAY_EXPORT const char* MPI_D_Output_place(const char* path) {
  thread_local std::string place;
  return file_answer<const char*>(nullptr, [&] { return (place = output_place(path)).c_str(); });
}

SPILLWAY_EXPORT int MPI_D_Check_parts(const char* directory) {
  return file_answer(-1, [&] { return require_place_for_parts(directory), 0; });
}

}  // extern "C"
