#include "keyvalue/checkpoint_file.h"

#include <fcntl.h>
#include <spillway/mpid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <utility>

#include "keyvalue/failure.h"
#include "shuffle/quiet_thread.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace spillway::keyvalue {
namespace {

constexpr uint64_t kMagic = 0x3330504343564b53;  // "SKVCCP03"
constexpr size_t kReadBytes = 1 << 20;
constexpr std::string_view kPartial = ".partial";

struct Head {
  uint64_t magic;
  uint64_t job;
};
// Behind the blocks and the numbers.
struct Tail {
  uint64_t blocks_end;
  uint64_t number_count;
  uint64_t hash;  // of all that comes before it
  uint64_t magic;
};

class CheckpointHash {
 public:
  CheckpointHash() { XXH3_64bits_reset(&state_); }
  void add(const void* data, size_t bytes) { XXH3_64bits_update(&state_, data, bytes); }
  uint64_t result() const { return XXH3_64bits_digest(&state_); }

 private:
  XXH3_state_t state_;
};

[[noreturn]] void fail(const char* what, const std::string& path, int error) {
  throw Failure(MPI_D_ERR_CHECKPOINT, std::string("cannot ") + what + " " + path + ": " + std::strerror(error),
                error == ENOSPC ? "free space there, or name another directory with MPI_D_CHECKPOINT (--checkpoint)"
                                : "name a directory that all processes can write to with MPI_D_CHECKPOINT "
                                  "(--checkpoint)");
}

// False where it stays as it was.
bool set_direct(const base::Descriptor& file, bool is_direct) {
  const int flags = fcntl(file.number(), F_GETFL);
  const int wanted = is_direct ? flags | O_DIRECT : flags & ~O_DIRECT;
  return flags >= 0 && flags != wanted && fcntl(file.number(), F_SETFL, wanted) == 0;
}

}  // namespace

struct CheckpointWriter::Hash : CheckpointHash {};

CheckpointWriter::CheckpointWriter(std::string path, uint64_t job, size_t buffer_bytes)
    : path_(std::move(path)),
      partial_path_(path_ + std::string(kPartial)),
      buffer_bytes_(buffer_bytes),
      hash_(std::make_unique<Hash>()),
      filling_(shuffle::aligned_buffer(buffer_bytes)),
      writing_(shuffle::aligned_buffer(buffer_bytes)) {
  file_ = base::Descriptor(open(partial_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file_) fail("write", partial_path_, errno);
  set_direct(file_, true);
  const Head head{kMagic, job};
  append(&head, sizeof head);
}

CheckpointWriter::~CheckpointWriter() {
  if (write_.joinable()) write_.join();
  if (!is_published_) unlink(partial_path_.c_str());
}

void CheckpointWriter::append(const void* data, size_t bytes) {
  hash_->add(data, bytes);
  const char* from = static_cast<const char*>(data);
  appended_bytes_ += bytes;
  while (bytes != 0) {
    const size_t part = std::min(bytes, buffer_bytes_ - filled_);
    std::memcpy(filling_.get() + filled_, from, part);
    filled_ += part;
    from += part;
    bytes -= part;
    if (filled_ == buffer_bytes_) flush();
  }
}

// A job that ends for a full disk leaves nothing that fills it.
void CheckpointWriter::fail_to_write(int error) const {
  unlink(partial_path_.c_str());
  fail("write", partial_path_, error);
}

void CheckpointWriter::wait_for_write() {
  if (write_.joinable()) write_.join();
  if (write_error_ != 0) fail_to_write(write_error_);
}

void CheckpointWriter::flush() {
  wait_for_write();
  filling_.swap(writing_);
  write_ = shuffle::quiet_thread([this, bytes = std::exchange(filled_, 0)] { write_out(writing_.get(), bytes); });
}

// All but the last part of a file have the full size.
void CheckpointWriter::write_out(const char* data, size_t bytes) {
  if (bytes % storage::kBlockBytes != 0) set_direct(file_, false);
  for (size_t done = 0; done < bytes && write_error_ == 0;) {
    const ssize_t written = write(file_.number(), data + done, bytes - done);
    if (written >= 0) {
      done += static_cast<size_t>(written);
    } else if (errno == EINVAL && set_direct(file_, false)) {
      continue;  // a file system that refuses it only now
    } else if (errno != EINTR) {
      write_error_ = errno;
    }
  }
}

void CheckpointWriter::add_block(const char* block, size_t bytes) { append(block, bytes); }

void CheckpointWriter::close(const std::vector<int>& numbers) {
  const uint64_t blocks_end = appended_bytes_;
  append(numbers.data(), numbers.size() * sizeof(int));
  Tail tail{blocks_end, numbers.size(), 0, kMagic};
  append(&tail, offsetof(Tail, hash));
  tail.hash = hash_->result();
  append(&tail.hash, sizeof tail - offsetof(Tail, hash));
  flush();
}

void CheckpointWriter::publish() {
  wait_for_write();
  filling_.reset();
  writing_.reset();
  if (fdatasync(file_.number()) != 0) fail_to_write(errno);
  if (rename(partial_path_.c_str(), path_.c_str()) != 0) fail("name", path_, errno);
  is_published_ = true;
  file_.close();
  sync_directory(std::filesystem::path(path_).parent_path());
}

CheckpointReader::CheckpointReader(std::string path) : path_(std::move(path)) {
  open_file();
  struct stat status {};
  if (fstat(file_.number(), &status) != 0) fail("read", path_, errno);
  size_ = static_cast<uint64_t>(status.st_size);
  Head head{};
  if (size_ >= sizeof head && read_at(0, &head, sizeof head) && head.magic == kMagic) job_ = head.job;
}

bool CheckpointReader::read_at(uint64_t offset, void* data, size_t bytes) const {
  for (size_t done = 0; done < bytes;) {
    const ssize_t got =
        pread(file_.number(), static_cast<char*>(data) + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

void CheckpointReader::open_file() {
  file_ = base::Descriptor(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file_) fail("read", path_, errno);
}

// There may be thousands of them.
bool CheckpointReader::is_whole() {
  const bool is_whole = has_whole_content();
  file_.close();
  return is_whole;
}

bool CheckpointReader::has_whole_content() {
  Tail tail{};
  if (job_ == 0 || size_ < sizeof(Head) + sizeof tail || !read_at(size_ - sizeof tail, &tail, sizeof tail))
    return false;
  const uint64_t numbers_end = size_ - sizeof tail;
  if (tail.magic != kMagic || tail.blocks_end < sizeof(Head) || tail.blocks_end > numbers_end ||
      numbers_end - tail.blocks_end != tail.number_count * sizeof(int))
    return false;
  CheckpointHash hash;
  std::string chunk(kReadBytes, '\0');
  const uint64_t hashed_end = numbers_end + offsetof(Tail, hash);
  for (uint64_t offset = 0; offset < hashed_end; offset += chunk.size()) {
    const size_t bytes = std::min<uint64_t>(chunk.size(), hashed_end - offset);
    if (!read_at(offset, chunk.data(), bytes)) return false;
    hash.add(chunk.data(), bytes);
  }
  if (hash.result() != tail.hash) return false;
  blocks_end_ = tail.blocks_end;
  numbers_.resize(tail.number_count);
  return read_at(blocks_end_, numbers_.data(), numbers_.size() * sizeof(int));
}

void CheckpointReader::for_each_block(
    const std::function<void(const shuffle::BlockHeader& header, const char* block)>& take) {
  open_file();
  std::string block;
  for (uint64_t offset = sizeof(Head); offset < blocks_end_; offset += block.size()) {
    shuffle::BlockHeader header{};
    bool is_read = blocks_end_ - offset >= sizeof header && read_at(offset, &header, sizeof header) &&
                   header.bytes <= blocks_end_ - offset - sizeof header;
    if (is_read) {
      block.resize(sizeof header + header.bytes);
      is_read = read_at(offset, block.data(), block.size());
    }
    if (!is_read) throw Failure(MPI_D_ERR_CHECKPOINT, path_ + " has changed while it was read", "start the job again");
    take(header, block.data());
  }
  file_.close();
}

std::vector<std::string> checkpoint_names(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    names.push_back(entry.path().filename());
  }
  if (error) fail("read", directory, error.value());
  std::sort(names.begin(), names.end());
  return names;
}

bool is_partial(const std::string& name) { return name.ends_with(kPartial); }

void remove_checkpoint_file(const std::string& path) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) fail("remove", path, errno);
}

void sync_directory(const std::string& directory) {
  const base::Descriptor opened(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened || fsync(opened.number()) != 0) fail("write", directory, errno);
}

}  // namespace spillway::keyvalue
