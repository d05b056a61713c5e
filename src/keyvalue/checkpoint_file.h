// A file of a checkpoint: blocks of records and a list of numbers, complete or not there at all.
//
// It has another name until it is on the disk as a whole; a checksum of everything at its end tells one that was
// damaged later. Its first bytes say of which job it is. Only the user may read it. Without MPI; errors are Failures of
// MPI_D_ERR_CHECKPOINT, which name the file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "shuffle/record_format.h"
#include "shuffle/run_cursor.h"

namespace spillway::keyvalue {

// What is added goes into one buffer while a thread writes another one, with O_DIRECT where the file system takes it:
// the sender of the records waits for neither the disk nor a copy into the file cache, and little is left to be synced.
class CheckpointWriter {
 public:
  // `job` is a number that two different jobs hardly share. Each buffer has so many bytes, a multiple of
  // storage::kBlockBytes.
  CheckpointWriter(std::string path, uint64_t job, size_t buffer_bytes);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // With its header.
  void add_block(const char* block, size_t bytes);
  // Begins to write the rest; after that, another thread may call publish().
  void close(const std::vector<int>& numbers);
  // Waits until all of it is on the disk, and gives it its name.
  void publish();

 private:
  struct Hash;
  void append(const void* data, size_t bytes);
  void flush();
  void wait_for_write();
  // Sets `write_error_`.
  void write_out(const char* data, size_t bytes);
  [[noreturn]] void fail_to_write(int error) const;

  const std::string path_;
  const std::string partial_path_;
  const size_t buffer_bytes_;
  base::Descriptor file_;
  std::unique_ptr<Hash> hash_;
  shuffle::AlignedBuffer filling_;
  shuffle::AlignedBuffer writing_;
  size_t filled_ = 0;
  uint64_t appended_bytes_ = 0;
  std::thread write_;
  int write_error_ = 0;
  bool is_published_ = false;
};

class CheckpointReader {
 public:
  explicit CheckpointReader(std::string path);

  uint64_t job() const { return job_; }
  // Reads all of it, and closes it until it is read again. False where it is not what was written.
  bool is_whole();
  // REQUIRES, as the next one: is_whole().
  const std::vector<int>& numbers() const { return numbers_; }
  // Calls with each block, with its header, which stays until `take` returns.
  void for_each_block(const std::function<void(const shuffle::BlockHeader& header, const char* block)>& take);

 private:
  void open_file();
  bool has_whole_content();
  bool read_at(uint64_t offset, void* data, size_t bytes) const;

  const std::string path_;
  base::Descriptor file_;
  uint64_t size_ = 0;
  uint64_t job_ = 0;
  uint64_t blocks_end_ = 0;
  std::vector<int> numbers_;
};

// Names in a directory, sorted.
std::vector<std::string> checkpoint_names(const std::string& directory);
// Of a file under way, or that nobody completed.
bool is_partial(const std::string& name);
// Removes a file, and does not mind if it is not there.
void remove_checkpoint_file(const std::string& path);
// The directory's own entries are on the disk.
void sync_directory(const std::string& directory);

}  // namespace spillway::keyvalue
