#include "keyvalue/checkpoint_file.h"

#include <fcntl.h>
#include <spillway/mpid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <new>
#include <utility>

#include "keyvalue/failure.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace spillway::keyvalue {
namespace {

constexpr uint64_t kMagic = 0x3530504343564b53;  // "SKVCCP05"
constexpr size_t kPieceBytes = shuffle::Run::kLeastPieceBytes;
constexpr size_t kReadBytes = storage::kRequestBytes;
constexpr std::string_view kPartial = ".partial";
static_assert(kReadBytes % kPieceBytes == 0);

// At the beginning, in a block of the disk of its own.
struct Head {
  uint64_t magic;
  uint64_t job;
};
// Behind the blocks, what is known of them, the checksums of their pieces, the numbers and the note.
struct Tail {
  uint64_t blocks_end;
  uint64_t block_count;
  uint64_t number_count;
  uint64_t note_bytes;
  uint64_t hash;  // of all that is between the blocks and this number
  uint64_t magic;
};

uint64_t hash_of(const char* end, size_t bytes, const Tail& tail) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, end, bytes);
  XXH3_64bits_update(&state, &tail, offsetof(Tail, hash));
  return XXH3_64bits_digest(&state);
}

uint64_t piece_count(uint64_t bytes) { return (bytes + kPieceBytes - 1) / kPieceBytes; }

template <typename Item>
void append(std::string& to, const Item* items, size_t count) {
  to.append(reinterpret_cast<const char*>(items), count * sizeof(Item));
}

template <typename Item>
const char* take(const char* from, std::vector<Item>& items, size_t count) {
  items.resize(count);
  if (count != 0) std::memcpy(items.data(), from, count * sizeof(Item));
  return from + count * sizeof(Item);
}

[[noreturn]] void fail(const char* what, const std::string& path, int error) {
  throw Failure(MPI_D_ERR_CHECKPOINT, std::string("cannot ") + what + " " + path + ": " + std::strerror(error),
                error == ENOSPC ? "free space there, or name another directory with MPI_D_CHECKPOINT (--checkpoint)"
                                : "name a directory that all processes can write to with MPI_D_CHECKPOINT "
                                  "(--checkpoint)");
}

// That says nothing about what is there, which may be whole.
[[noreturn]] void fail_to_read(const std::string& path, int error) {
  throw Failure(MPI_D_ERR_CHECKPOINT, "cannot read " + path + ": " + std::strerror(error),
                "nothing that may be whole has been removed: start the job again when it can be read, or begin anew "
                "with another directory of MPI_D_CHECKPOINT (--checkpoint)");
}

}  // namespace

// Of the file's bytes, as they come.
class CheckpointWriter::Pieces {
 public:
  Pieces() { XXH3_64bits_reset(&state_); }

  void add(const char* data, size_t bytes) {
    while (bytes != 0) {
      const size_t part = std::min(bytes, kPieceBytes - used_);
      XXH3_64bits_update(&state_, data, part);
      data += part;
      bytes -= part;
      used_ += part;
      if (used_ == kPieceBytes) end_piece();
    }
  }

  const std::vector<uint64_t>& finish() {
    if (used_ != 0) end_piece();
    return checksums_;
  }

 private:
  void end_piece() {
    checksums_.push_back(XXH3_64bits_digest(&state_));
    XXH3_64bits_reset(&state_);
    used_ = 0;
  }

  XXH3_state_t state_;
  size_t used_ = 0;  // of the piece that has begun
  std::vector<uint64_t> checksums_;
};

CheckpointWriter::CheckpointWriter(std::string path, uint64_t job)
    : path_(std::move(path)), partial_path_(path_ + std::string(kPartial)), pieces_(std::make_unique<Pieces>()) {
  file_ = base::Descriptor(open(partial_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file_) fail("write", partial_path_, errno);
  const Head head{kMagic, job};
  own_.replace(sizeof head);
  std::memcpy(own_.data(), &head, sizeof head);
  writes_ = std::make_unique<compression::BackgroundWrites>(
      file_.number(), [this](const char* data, size_t bytes) { pieces_->add(data, bytes); });
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
  const size_t padded = shuffle::rounded_to_blocks(bytes);
  std::memset(data + bytes, 0, padded - bytes);
  begin_write(data, padded);
}

void CheckpointWriter::add_entry(const char* block, size_t offset, uint64_t longest_record) {
  KeptBlock& entry = blocks_.emplace_back();
  entry.offset = begun_bytes_ + offset;
  entry.longest_record = longest_record;
  std::memcpy(&entry.header, block, sizeof entry.header);
}

void CheckpointWriter::add_list(shuffle::SortedList& list) {
  if (list.bytes() == 0) return;
  for (const shuffle::SortedList::Block& block : list.blocks)
    add_entry(list.memory.data() + block.offset, block.offset, block.longest_record);
  write_padded(list.memory.data(), list.bytes());
}

void CheckpointWriter::release(const shuffle::SortedList& list) {
  if (list.memory.data() != nullptr) wait_for_writes(list.memory.data());
}

void CheckpointWriter::add_block(const shuffle::BlockHeader& header, const char* content) {
  wait_for_writes();  // of what is there now
  own_.replace(sizeof header + header.bytes);
  std::memcpy(own_.data(), &header, sizeof header);
  std::memcpy(own_.data() + sizeof header, content, header.bytes);
  add_entry(own_.data(), 0, header.bytes);
  write_padded(own_.data(), sizeof header + header.bytes);
}

void CheckpointWriter::close(const std::vector<int>& numbers, const std::string& note) {
  wait_for_writes();
  const std::vector<uint64_t>& checksums = pieces_->finish();
  append(end_, blocks_.data(), blocks_.size());
  append(end_, checksums.data(), checksums.size());
  append(end_, numbers.data(), numbers.size());
  end_ += note;
  Tail tail{begun_bytes_, blocks_.size(), numbers.size(), note.size(), 0, kMagic};
  tail.hash = hash_of(end_.data(), end_.size(), tail);
  append(end_, &tail, 1);
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
  std::error_code error;
  size_ = std::filesystem::file_size(path_, error);
  if (error) fail_to_read(path_, error.value());
  if (size_ < storage::kBlockBytes) return;
  Head head{};
  read_at(opened(), 0, &head, sizeof head);
  if (head.magic == kMagic) job_ = head.job;
}

// A file is open only while it is read: there may be thousands.
base::Descriptor CheckpointReader::opened() const {
  base::Descriptor file(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) fail_to_read(path_, errno);
  return file;
}

void CheckpointReader::read_at(const base::Descriptor& file, uint64_t offset, void* data, size_t bytes) const {
  for (size_t done = 0; done < bytes;) {
    const ssize_t got =
        pread(file.number(), static_cast<char*>(data) + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_to_read(path_, errno);
    if (got == 0) throw Failure(MPI_D_ERR_CHECKPOINT, path_ + " has changed while it was read", "start the job again");
    done += static_cast<size_t>(got);
  }
}

bool CheckpointReader::is_whole(bool is_cached) { return job_ != 0 && read_end() && are_pieces_whole(is_cached); }

bool CheckpointReader::read_end() {
  Tail tail{};
  if (size_ < storage::kBlockBytes + sizeof tail) return false;
  const uint64_t end_bytes = size_ - sizeof tail;
  const base::Descriptor file = opened();
  read_at(file, end_bytes, &tail, sizeof tail);
  if (tail.magic != kMagic || tail.blocks_end % storage::kBlockBytes != 0 || tail.blocks_end < storage::kBlockBytes)
    return false;
  for (const uint64_t part : {tail.blocks_end, tail.block_count, tail.number_count, tail.note_bytes})
    if (part > end_bytes) return false;
  const uint64_t pieces = piece_count(tail.blocks_end);
  if (end_bytes - tail.blocks_end != tail.block_count * sizeof(KeptBlock) + pieces * sizeof(uint64_t) +
                                         tail.number_count * sizeof(int) + tail.note_bytes)
    return false;
  std::string end(end_bytes - tail.blocks_end, '\0');
  read_at(file, tail.blocks_end, end.data(), end.size());
  if (hash_of(end.data(), end.size(), tail) != tail.hash) return false;
  blocks_end_ = tail.blocks_end;
  const char* from = take(end.data(), blocks_, tail.block_count);
  from = take(from, checksums_, pieces);
  from = take(from, numbers_, tail.number_count);
  note_.assign(from, tail.note_bytes);
  return true;
}

bool CheckpointReader::are_pieces_whole(bool is_cached) const {
  const shuffle::RunFile file(path_, is_cached);
  const shuffle::AlignedBuffer pieces = shuffle::aligned_buffer(std::min<uint64_t>(kReadBytes, blocks_end_));
  const uint64_t* checksum = checksums_.data();
  for (uint64_t offset = 0; offset < blocks_end_; offset += kReadBytes) {
    const uint64_t bytes = std::min<uint64_t>(kReadBytes, blocks_end_ - offset);
    if (const int error = file.try_read(pieces.get(), bytes, offset)) fail_to_read(path_, error);
    for (uint64_t done = 0; done < bytes; done += kPieceBytes)
      if (shuffle::piece_checksum(pieces.get() + done, std::min<uint64_t>(kPieceBytes, bytes - done)) != *checksum++)
        return false;
  }
  return true;
}

// The blocks lie behind each other, and many of them are short.
void CheckpointReader::for_each_block(const std::function<bool(const KeptBlock&)>& is_wanted,
                                      const TakeBlock& take) const {
  const base::Descriptor file = opened();
  std::string read;
  uint64_t begin = 0;  // of what has been read
  for (const KeptBlock& block : blocks_) {
    if (!is_wanted(block)) continue;
    const uint64_t bytes = sizeof block.header + block.header.bytes;
    if (block.offset + bytes > begin + read.size()) {
      begin = block.offset;
      read.resize(std::max(bytes, std::min<uint64_t>(kReadBytes, blocks_end_ - begin)));
      read_at(file, begin, read.data(), read.size());
    }
    take(block.header, read.data() + (block.offset - begin));
  }
}

shuffle::Run CheckpointReader::run_of(const KeptBlock& block) const {
  const uint64_t begin = block.offset + sizeof block.header;
  const uint64_t end = begin + block.header.bytes;
  const uint64_t first = begin / kPieceBytes;
  const uint64_t pieces_end = piece_count(end);
  shuffle::Run run;
  run.bytes = block.header.bytes;
  run.records = block.header.records;
  run.is_spilled = true;
  run.offset = first * kPieceBytes;
  run.bytes_before = begin - run.offset;
  run.bytes_behind = std::min(pieces_end * kPieceBytes, blocks_end_) - end;
  run.piece_bytes = kPieceBytes;
  run.checksums.assign(checksums_.begin() + static_cast<ptrdiff_t>(first),
                       checksums_.begin() + static_cast<ptrdiff_t>(pieces_end));
  run.longest_record = block.longest_record;
  return run;
}

std::vector<std::string> checkpoint_names(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    names.push_back(entry.path().filename());
  }
  if (error) fail_to_read(directory, error.value());
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
