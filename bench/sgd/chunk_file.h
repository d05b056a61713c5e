// The blocks of a matrix one after the other in a scratch file, and a reader that has the next one read, directly and
// by a thread of its own, while the caller works on this one: two blocks are in memory. The first ones may stay in
// memory instead.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <vector>

#include "block.h"
#include "block_grid.h"
#include "csr_file.h"
#include "scratch_file.h"

namespace apps::sgd {

struct Chunk {
  uint64_t row_part;
  uint64_t column_part;
  BlockShape shape;
  uint64_t position;  // in the file
};

class ChunkFile {
 public:
  // Cuts the matrix, keeps as many of the first chunks as `kept_bytes` hold, and writes the others.
  ChunkFile(const CsrReader& matrix, uint64_t side, Order order, const std::string& directory, uint64_t kept_bytes);

  [[nodiscard]] const BlockGrid& grid() const { return grid_; }
  [[nodiscard]] const Chunk& chunk(uint64_t row_part, uint64_t column_part) const {
    return chunks_[row_part * grid_.side() + column_part];
  }
  [[nodiscard]] uint64_t bytes() const { return chunks_.back().position + chunks_.back().shape.bytes(); }
  [[nodiscard]] const BlockShape& largest_shape() const;
  // The chunk, if it stays in memory; else nullptr.
  [[nodiscard]] const Block* kept(const Chunk& chunk) const;
  void read(const Chunk& chunk, Block& into) const;
  [[nodiscard]] bool is_direct() const { return file_.is_direct(); }

 private:
  void lay_out(const CsrReader& matrix, Order order);

  BlockGrid grid_;
  std::vector<Chunk> chunks_;  // by number: row_part * side + column_part
  std::vector<Block> kept_;    // the first of them
  ScratchFile file_;
};

class ChunkReader {
 public:
  // Reads the chunks in the order of `pass`, `pass_count` times over. `file` must outlive it.
  ChunkReader(const ChunkFile& file, std::vector<Chunk> pass, uint64_t pass_count);

  // The next block, valid until the next call. Throws what reading it has met.
  // REQUIRES: there is one more.
  const Block& next();

 private:
  // The next one that is not kept.
  void begin_reading();

  const ChunkFile& file_;
  const std::vector<Chunk> pass_;
  const uint64_t chunk_count_;  // in all passes
  uint64_t taken_ = 0;
  uint64_t begun_ = 0;
  std::unique_ptr<Block> current_;
  std::unique_ptr<Block> ahead_;
  std::future<void> reading_;  // into ahead_; last, so that it has ended before the rest goes
};

}  // namespace apps::sgd
