// The files that are sorted, divided into blocks that are read, delivered and dealt out as one. Their numbers are
// ordered as their records are. Of lines a block has those that begin behind an end of a line in it, and the file's
// first one; what it reads reaches a little further, as its last line does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spillway::sort {

struct InputFile {
  std::string path;
  uint64_t bytes;
};

// A file stands for itself, a directory for the files in it that do not begin with a dot, by name, without `output`.
// Throws Failure where one cannot be looked at, is neither, or has no whole number of units of so many bytes.
std::vector<InputFile> list_input(const std::vector<std::string>& paths, uint64_t unit_bytes,
                                  const std::string& output);

class InputPlan {
 public:
  struct Block {
    size_t file;
    uint64_t offset;
    uint64_t bytes;
    uint64_t position;  // of its first byte among all
    // What is read of the file for it, from a border of blocks of direct I/O.
    uint64_t read_offset;
    uint64_t read_bytes;
  };

  // `block_bytes` is a multiple of a record's, and `tail_bytes` are read behind each.
  InputPlan(std::vector<InputFile> files, uint64_t block_bytes, uint64_t tail_bytes);

  const std::vector<InputFile>& files() const { return files_; }
  uint64_t total_bytes() const { return total_bytes_; }
  uint64_t block_count() const { return block_count_; }
  Block block(uint64_t number) const;

  struct Place {
    size_t file;
    uint64_t offset;
  };
  // Of a byte of all.
  Place place(uint64_t position) const;

 private:
  struct First {
    uint64_t block;
    uint64_t byte;
  };
  std::vector<InputFile> files_;  // those that are not empty
  std::vector<First> firsts_;
  uint64_t block_bytes_;
  uint64_t tail_bytes_;
  uint64_t total_bytes_ = 0;
  uint64_t block_count_ = 0;
};

}  // namespace spillway::sort
