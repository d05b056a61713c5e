#include "sort/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "sort/failure.h"
#include "sort/file_hole.h"

namespace spillway::sort {
namespace {

constexpr uint64_t kWaitNs = 1'000'000'000;

[[noreturn]] void fail(const std::string& what, const std::string& path, int error) {
  const bool is_full = error == ENOSPC || error == EDQUOT;
  throw Failure("cannot " + what + " " + path + ": " + std::strerror(error),
                is_full ? "free space there, or write to another file system"
                        : "name a file in a directory that you can write to");
}

// What is named in it. Some file systems have no such thing.
void sync_directory(const std::string& path) {
  const base::Descriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory || (fsync(directory.number()) != 0 && errno != EINVAL)) fail("complete", path, errno);
}

mode_t file_mask() {
  const mode_t mask = umask(0);
  umask(mask);
  return mask;
}

}  // namespace

std::string directory_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

std::string partial_name(const std::string& path, const std::string& token) {
  const std::filesystem::path whole(path);
  std::string name(1, '.');
  name += whole.filename().string();
  name += ".spillway-";
  name += token;
  return (whole.parent_path() / name).string();
}

void create_partial(const std::string& partial, uint64_t bytes, uint64_t most_bytes) {
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const base::Descriptor file(open(partial.c_str(), flags, 0600));
  if (!file) fail("write", partial, errno);
  int error = bytes == 0 ? 0 : EINTR;
  while (error == EINTR) error = posix_fallocate(file.number(), 0, static_cast<off_t>(bytes));
  if (error == 0) {
    if (most_bytes > bytes) make_longer_by_hole(file.number(), most_bytes);
    return;
  }
  unlink(partial.c_str());
  fail("make room for " + std::to_string(bytes >> 20) + " MiB in", partial, error);
}

void create_partial_directory(const std::string& partial, uint64_t bytes) {
  if (mkdir(partial.c_str(), 0700) != 0) fail("make the directory", partial, errno);
  struct statvfs status = {};
  if (statvfs(partial.c_str(), &status) == 0 && status.f_bavail * status.f_frsize >= bytes) return;
  rmdir(partial.c_str());
  fail("make room for " + std::to_string(bytes >> 20) + " MiB in", partial, ENOSPC);
}

void write_whole(const std::string& partial, const std::string& text) {
  const base::Descriptor file(open(partial.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file || write(file.number(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    fail("write", partial, errno);
}

void complete(const std::string& partial, const std::string& path, uint64_t bytes) {
  struct stat before = {};
  const bool is_new = partial == path || stat(path.c_str(), &before) != 0;
  const mode_t mode = is_new ? 0666 & ~file_mask() : before.st_mode & 0777;
  const base::Descriptor file(open(partial.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file || ftruncate(file.number(), static_cast<off_t>(bytes)) != 0 || fchmod(file.number(), mode) != 0 ||
      fsync(file.number()) != 0)
    fail("complete", partial, errno);
}

void rename_partial(const std::string& partial, const std::string& path) {
  struct stat status = {};
  struct stat before = {};
  if (stat(partial.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    const mode_t mode = stat(path.c_str(), &before) == 0 ? before.st_mode & 0777 : 0777 & ~file_mask();
    if (chmod(partial.c_str(), mode) != 0) fail("complete", partial, errno);
    sync_directory(partial);
  }
  if (rename(partial.c_str(), path.c_str()) != 0) fail("rename to its name", partial, errno);
  sync_directory(directory_of(path));
}

OutputRange::OutputRange(const std::string& partial, AsyncIo& io)
    : io_(io), direct_(open_to_write(partial)), cached_(open(partial.c_str(), O_WRONLY | O_CLOEXEC)) {
  if (!cached_) fail("write", partial, errno);
  for (Buffer& buffer : buffers_) buffer.memory = AlignedMemory(kBufferBytes);
}

void OutputRange::finish() {
  io_.finish();
  if (fsync(cached_.number()) != 0) fail("write", direct_.name, errno);
}

void OutputRange::begin(uint64_t offset, uint64_t bytes) {
  offset_ = offset;
  end_ = offset + bytes;
}

// So that what follows begins on a border of blocks.
char* OutputRange::next_memory(uint64_t& most) {
  const uint64_t in_block = offset_ % storage::kBlockBytes;
  most = std::min(end_ - offset_, in_block == 0 ? kBufferBytes : storage::kBlockBytes - in_block);
  if (most > storage::kBlockBytes) most = most / storage::kBlockBytes * storage::kBlockBytes;
  if (most == 0) return nullptr;
  while (!buffers_[current_].is_free) io_.wait(kWaitNs);
  return buffers_[current_].memory.data();
}

void OutputRange::put(uint64_t bytes) {
  Buffer& buffer = buffers_[current_];
  if (offset_ % storage::kBlockBytes != 0 || bytes % storage::kBlockBytes != 0) {
    write_edge(buffer.memory.data(), bytes, offset_);
  } else {
    buffer.is_free = false;
    io_.write(direct_, buffer.memory.data(), bytes, offset_, [&buffer] { buffer.is_free = true; });
    current_ = (current_ + 1) % kBuffers;
  }
  offset_ += bytes;
}

void OutputRange::write_edge(const char* data, uint64_t bytes, uint64_t offset) {
  while (bytes != 0) {
    const ssize_t put = pwrite(cached_.number(), data, bytes, static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) fail("write", direct_.name, errno);
    data += put;
    bytes -= static_cast<uint64_t>(put);
    offset += static_cast<uint64_t>(put);
  }
}

}  // namespace spillway::sort
