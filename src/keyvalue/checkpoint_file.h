// A file of a checkpoint: blocks of records, a list of numbers and a note, complete or not there at all.
//
// It has another name until it is on the disk as a whole; checksums at its end, of each piece of the blocks and of that
// end, tell one that was damaged later. Its first bytes say of which job it is. Only the user may read it. Without MPI;
// errors are Failures of MPI_D_ERR_CHECKPOINT, which name the file. One that cannot be read now is such an error, and
// does not count as damaged.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "base/descriptor.h"
#include "compression/background_writes.h"
#include "shuffle/list_memory.h"
#include "shuffle/record_format.h"
#include "shuffle/run.h"
#include "shuffle/sorted_list.h"

namespace spillway::keyvalue {

// A block in such a file.
struct KeptBlock {
  uint64_t offset;  // of its header, whose bytes are 0 in an empty one
  shuffle::BlockHeader header;
  uint64_t longest_record;
};
static_assert(sizeof(KeptBlock) == 40 && std::is_trivially_copyable_v<KeptBlock>);

// A thread writes lists from where they were sorted, with O_DIRECT where the file system takes it: the sender of the
// records waits for neither the disk nor a copy, and little is left to be synced.
class CheckpointWriter {
 public:
  // `job` is a number that two different jobs hardly share.
  CheckpointWriter(std::string path, uint64_t job);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Sets what pads the list to whole blocks of the disk, which is written when those before are. It must stay until
  // release().
  void add_list(shuffle::SortedList& list);
  // Waits until that list is written.
  void release(const shuffle::SortedList& list);
  // A block of its own, which is copied.
  void add_block(const shuffle::BlockHeader& header, const char* content);
  // All lists are written then. Begins to write the rest; after that, another thread may call publish().
  void close(const std::vector<int>& numbers, const std::string& note = {});
  // Waits until all of it is on the disk, and gives it its name.
  void publish();

 private:
  class Pieces;
  void add_entry(const char* block, size_t offset, uint64_t longest_record);
  // Whole blocks of the disk, `bytes` of them used.
  void write_padded(char* data, size_t bytes);
  void begin_write(const char* data, size_t bytes);
  // Until everything is written, or what is at `data`.
  void wait_for_writes(const char* data = nullptr);
  void refuse(int error) const;

  const std::string path_;
  const std::string partial_path_;
  base::Descriptor file_;
  std::unique_ptr<Pieces> pieces_;  // of all that has been written
  shuffle::ListMemory own_;         // of what is no list
  std::vector<KeptBlock> blocks_;
  std::string end_;
  uint64_t begun_bytes_ = 0;
  bool is_published_ = false;
  std::unique_ptr<compression::BackgroundWrites> writes_;  // last: it writes from the others until it ends
};

class CheckpointReader {
 public:
  using TakeBlock = std::function<void(const shuffle::BlockHeader& header, const char* block)>;

  explicit CheckpointReader(std::string path);

  uint64_t job() const { return job_; }
  // Reads all of it, by way of the file cache or past it. False where it is not what was written.
  bool is_whole(bool is_cached);
  // REQUIRES, as the next ones: is_whole().
  const std::vector<int>& numbers() const { return numbers_; }
  const std::string& note() const { return note_; }
  const std::vector<KeptBlock>& blocks() const { return blocks_; }
  // Calls `take` with each of the blocks that `is_wanted` says, with its header, which stays until it returns.
  void for_each_block(const std::function<bool(const KeptBlock&)>& is_wanted, const TakeBlock& take) const;
  // A block of blocks() that is read where it is, but for the name of its file.
  shuffle::Run run_of(const KeptBlock& block) const;
  // No run_of() after it.
  void forget_checksums() { checksums_ = {}; }

 private:
  bool read_end();
  bool are_pieces_whole(bool is_cached) const;
  base::Descriptor opened() const;
  void read_at(const base::Descriptor& file, uint64_t offset, void* data, size_t bytes) const;

  const std::string path_;
  uint64_t size_ = 0;
  uint64_t job_ = 0;
  uint64_t blocks_end_ = 0;
  std::vector<KeptBlock> blocks_;
  std::vector<uint64_t> checksums_;
  std::vector<int> numbers_;
  std::string note_;
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
