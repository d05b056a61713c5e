// A file that holds what does not fit in memory, for as long as the process lives.
//
// The file never has a name (O_TMPFILE; where a file system has none, it is unlinked at once), is readable by its owner
// only (0600), and vanishes with the last process that has it open, however that ends. It is written with O_DIRECT: the
// data is cold by definition, so the page cache would only take memory that the job needs. File systems that refuse
// O_DIRECT get ordinary writes, whose cached pages are dropped again. It is never synced and no holes are punched into
// it: nobody reads it after the job.
//
// Allocates nothing and does not throw: used below malloc. A failing device or a full one ends the process with a
// message.
#pragma once

#include <cstdint>

namespace spillway::storage {

// Offsets, lengths and addresses of direct I/O are multiples of this.
inline constexpr uint64_t kBlockBytes = 4096;

// One request of so many reaches the device's full rate; more at once brings nothing (shared/DESIGN.md, section 5).
inline constexpr uint64_t kRequestBytes = 8 << 20;

class SpillFile {
 public:
  constexpr SpillFile() = default;
  ~SpillFile() = default;  // the descriptor lives until the process ends: mappings of the file are in use until then
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  // Opens a new, empty file in `directory`, which must stay valid.
  void create(const char* directory);
  // The same for somebody who has another place to go to: false where none can be made there, and errno says why.
  bool try_create(const char* directory);

  // What is in it is gone. Nobody may have it mapped.
  void close();

  // Uses a file that other processes use too, and takes its descriptor; `directory` is for messages. Opens it again:
  // O_DIRECT belongs to what all of them share else, and each finds out for itself where it is refused.
  void adopt(int descriptor, const char* directory);

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  bool is_direct() const { return direct_; }

  // Makes the file long enough for a range, and allocates its blocks ahead of their first write, so that they lie in
  // one piece and a full device shows at once. For files of this process alone.
  void reserve(uint64_t offset, uint64_t bytes);
  // The same for somebody who has another place to go to where there is no room: false, and nothing is reserved.
  bool try_reserve(uint64_t offset, uint64_t bytes);

  // Makes a range read as zeros.
  void write_zeros(uint64_t offset, uint64_t bytes);

  // What is in a range is not needed any more. Where the file system can, it reads as zeros without being read from the
  // device; elsewhere it stays as it is.
  void forget(uint64_t offset, uint64_t bytes);

  // REQUIRES: data, bytes and offset are multiples of kBlockBytes.
  void write(const void* data, uint64_t bytes, uint64_t offset);
  void read(void* data, uint64_t bytes, uint64_t offset);

  // Ends the process: what was read is not what was written.
  [[noreturn]] void fail_for_damage() const;

  // Drops the page cache of a range.
  void drop_cache(uint64_t offset, uint64_t bytes);

 private:
  [[noreturn]] void fail(const char* what, uint64_t bytes, int error) const;
  bool is_within_size_limit(uint64_t end) const;
  void check_size_limit(uint64_t end, uint64_t bytes) const;
  int reserve_or_error(uint64_t offset, uint64_t bytes);
  bool zero_range(uint64_t offset, uint64_t bytes);
  void try_direct();
  bool give_up_direct();
  void write_back(uint64_t offset, uint64_t bytes);

  int descriptor_ = -1;
  uint64_t size_ = 0;  // as far as reserve() has made it
  bool direct_ = false;
  const char* directory_ = "";
};

}  // namespace spillway::storage
