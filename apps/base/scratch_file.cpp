#include "scratch_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace apps {

namespace {

constexpr unsigned kOwnerOnly = 0600;

// Where the file system has no files without a name: one whose name is removed at once.
File open_and_unlink(const std::string& directory) {
  std::string path = directory + "/scratch-XXXXXX";
  const int descriptor = ::mkostemp(path.data(), O_CLOEXEC);
  if (descriptor < 0) {
    throw std::system_error(errno, std::generic_category(), "cannot make a file in " + directory);
  }
  File file(path, O_RDWR);
  ::close(descriptor);
  ::unlink(path.c_str());
  return file;
}

[[noreturn]] void fail(const std::string& what, const std::string& remedy) {
  throw std::runtime_error("scratch file: " + what + "; " + remedy + " with --scratch-dir");
}

}  // namespace

File open_scratch(const std::string& directory) {
  try {
    return File(directory, O_TMPFILE | O_RDWR, kOwnerOnly);
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::operation_not_supported && error.code() != std::errc::is_a_directory &&
        error.code() != std::errc::invalid_argument) {
      throw;
    }
  }
  return open_and_unlink(directory);
}

std::string default_scratch_directory() {
  const char* directory = std::getenv("TMPDIR");
  return directory == nullptr || *directory == '\0' ? "/var/tmp" : directory;
}

ScratchFile::ScratchFile(const std::string& directory) {
  try {
    file_ = open_scratch(directory);
  } catch (const std::system_error& error) {
    fail(error.what(), "name a folder on a local disk that may be written to");
  }
}

void ScratchFile::write_at(uint64_t position, std::span<const std::byte> from) const {
  try {
    file_.write_at(position, from.data(), from.size());
  } catch (const std::system_error& error) {
    fail(error.what(), "free space there, or name another folder");
  }
}

void ScratchFile::read_at(uint64_t position, std::span<std::byte> into) const {
  try {
    file_.read_at(position, into.data(), into.size());
  } catch (const std::runtime_error& error) {
    fail(error.what(), "name a folder on a sound disk");
  }
}

void ScratchFile::read_directly() {
  if (::fdatasync(file_.descriptor()) != 0) {  // only what is on the disk can leave the cache
    fail("cannot write " + file_.path() + ": " + std::strerror(errno), "name a folder on a sound disk");
  }
  static_cast<void>(::posix_fadvise(file_.descriptor(), 0, 0, POSIX_FADV_DONTNEED));
  is_direct_ = ::fcntl(file_.descriptor(), F_SETFL, O_DIRECT) == 0;
}

}  // namespace apps
