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

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace spillway::keyvalue {
namespace {

constexpr uint64_t kMagic = 0x3430504343564b53;  // "SKVCCP04"
constexpr size_t kReadBytes = 1 << 20;
constexpr uint32_t kPadding = shuffle::kEndOfWindow - 1;  // the partition of a block that is nothing
constexpr std::string_view kPartial = ".partial";

// At the beginning, in a block of the disk of its own.
struct Head {
  uint64_t magic;
  uint64_t job;
};
// Behind the blocks, the numbers and the note.
struct Tail {
  uint64_t blocks_end;
  uint64_t number_count;
  uint64_t note_bytes;
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

}  // namespace

struct CheckpointWriter::Hash : CheckpointHash {};

CheckpointWriter::CheckpointWriter(std::string path, uint64_t job)
    : path_(std::move(path)), partial_path_(path_ + std::string(kPartial)), hash_(std::make_unique<Hash>()) {
  file_ = base::Descriptor(open(partial_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file_) fail("write", partial_path_, errno);
  const Head head{kMagic, job};
  own_.replace(sizeof head);
  std::memcpy(own_.data(), &head, sizeof head);
  writes_ = std::make_unique<compression::BackgroundWrites>(
      file_.number(), [this](const char* data, size_t bytes) { hash_->add(data, bytes); });
  write_padded(own_.data(), sizeof head);
}

CheckpointWriter::~CheckpointWriter() {
  writes_.reset();
  if (!is_published_) unlink(partial_path_.c_str());
}

// A job that ends for a full disk leaves nothing that fills it.
void CheckpointWriter::refuse(int error) const {
  if (error == 0) return;
  unlink(partial_path_.c_str());
  fail("write", partial_path_, error);
}

void CheckpointWriter::wait_for_writes(const char* data) { refuse(writes_->wait(data)); }

void CheckpointWriter::begin_write(const char* data, size_t bytes) {
  begun_bytes_ += bytes;
  refuse(writes_->begin(data, bytes));
}

void CheckpointWriter::write_padded(char* data, size_t bytes) {
  const size_t padded = shuffle::ListMemory::padded(bytes);
  const shuffle::BlockHeader padding{shuffle::kBlockVersion, kPadding, padded - bytes - sizeof padding, 0};
  std::memcpy(data + bytes, &padding, sizeof padding);
  std::memset(data + bytes + sizeof padding, 0, padding.bytes);
  begin_write(data, padded);
}

void CheckpointWriter::add_list(shuffle::SortedList& list) {
  if (list.bytes() != 0) write_padded(list.memory.data(), list.bytes());
}

void CheckpointWriter::release(const shuffle::SortedList& list) {
  if (list.memory.data() != nullptr) wait_for_writes(list.memory.data());
}

void CheckpointWriter::add_block(const shuffle::BlockHeader& header, const char* content) {
  wait_for_writes();  // of what is there now
  own_.replace(sizeof header + header.bytes);
  std::memcpy(own_.data(), &header, sizeof header);
  std::memcpy(own_.data() + sizeof header, content, header.bytes);
  write_padded(own_.data(), sizeof header + header.bytes);
}

void CheckpointWriter::close(const std::vector<int>& numbers, const std::string& note) {
  wait_for_writes();
  Tail tail{begun_bytes_, numbers.size(), note.size(), 0, kMagic};
  end_.assign(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(int));
  end_ += note;
  end_.append(reinterpret_cast<const char*>(&tail), offsetof(Tail, hash));
  hash_->add(end_.data(), end_.size());
  tail.hash = hash_->result();
  end_.append(reinterpret_cast<const char*>(&tail.hash), sizeof tail - offsetof(Tail, hash));
  begin_write(end_.data(), end_.size());
}

void CheckpointWriter::publish() {
  wait_for_writes();
  if (fdatasync(file_.number()) != 0) refuse(errno);
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
  if (job_ == 0 || size_ < storage::kBlockBytes + sizeof tail || !read_at(size_ - sizeof tail, &tail, sizeof tail))
    return false;
  const uint64_t note_end = size_ - sizeof tail;
  if (tail.magic != kMagic || tail.blocks_end < storage::kBlockBytes || tail.blocks_end > note_end ||
      note_end - tail.blocks_end != tail.number_count * sizeof(int) + tail.note_bytes)
    return false;
  CheckpointHash hash;
  std::string chunk(kReadBytes, '\0');
  const uint64_t hashed_end = note_end + offsetof(Tail, hash);
  for (uint64_t offset = 0; offset < hashed_end; offset += chunk.size()) {
    const size_t bytes = std::min<uint64_t>(chunk.size(), hashed_end - offset);
    if (!read_at(offset, chunk.data(), bytes)) return false;
    hash.add(chunk.data(), bytes);
  }
  if (hash.result() != tail.hash) return false;
  blocks_end_ = tail.blocks_end;
  numbers_.resize(tail.number_count);
  note_.resize(tail.note_bytes);
  return read_at(blocks_end_, numbers_.data(), numbers_.size() * sizeof(int)) &&
         read_at(note_end - note_.size(), note_.data(), note_.size());
}

void CheckpointReader::for_each_block(
    const std::function<void(const shuffle::BlockHeader& header, const char* block)>& take) {
  open_file();
  std::string block;
  uint64_t next = 0;
  for (uint64_t offset = storage::kBlockBytes; offset < blocks_end_; offset = next) {
    shuffle::BlockHeader header{};
    bool is_read = blocks_end_ - offset >= sizeof header && read_at(offset, &header, sizeof header) &&
                   header.bytes <= blocks_end_ - offset - sizeof header;
    next = offset + sizeof header + header.bytes;
    if (is_read && header.partition == kPadding) continue;
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
