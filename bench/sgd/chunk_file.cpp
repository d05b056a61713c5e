#include "chunk_file.h"

#include <algorithm>
#include <utility>

#include "block_loader.h"

namespace apps::sgd {

ChunkFile::ChunkFile(const CsrReader& matrix, uint64_t side, Order order, const std::string& directory,
                     uint64_t kept_bytes)
    : file_(directory) {
  grid_.first_rows = cut_rows(matrix, side);
  lay_out(matrix, order);
  for (const Chunk& chunk : chunks_) {
    Block block = load_block(matrix, grid_, chunk.row_part, chunk.column_part, order, chunk.shape.entry_count);
    if (chunk.position + chunk.shape.bytes() <= kept_bytes) {
      kept_.push_back(std::move(block));
    } else {
      file_.write_at(chunk.position, block.bytes());
    }
  }
  file_.read_directly();
}

void ChunkFile::lay_out(const CsrReader& matrix, Order order) {
  const uint64_t side = grid_.side();
  std::vector<ColumnCounts> counts(side, ColumnCounts(matrix.column_count()));
  ColumnCounts all(matrix.column_count());
  for (uint64_t part = 0; part < side; ++part) {
    counts[part].add_rows(matrix, grid_.first_rows[part], grid_.first_rows[part + 1]);
    all.add(counts[part]);
  }
  grid_.first_columns = all.cut(side);
  uint64_t position = 0;
  for (uint64_t row_part = 0; row_part < side; ++row_part) {
    for (uint64_t column_part = 0; column_part < side; ++column_part) {
      const uint64_t entries =
          counts[row_part].entries_between(grid_.first_columns[column_part], grid_.first_columns[column_part + 1]);
      const BlockShape shape = {order, grid_.row_count(row_part), entries};
      chunks_.push_back({row_part, column_part, shape, position});
      position += shape.bytes();
    }
  }
}

const BlockShape& ChunkFile::largest_shape() const {
  return std::max_element(
             chunks_.begin(), chunks_.end(),
             [](const Chunk& left, const Chunk& right) { return left.shape.bytes() < right.shape.bytes(); })
      ->shape;
}

const Block* ChunkFile::kept(const Chunk& chunk) const {
  const uint64_t number = chunk.row_part * grid_.side() + chunk.column_part;
  return number < kept_.size() ? &kept_[number] : nullptr;
}

void ChunkFile::read(const Chunk& chunk, Block& into) const {
  into.reshape(chunk.shape);
  file_.read_at(chunk.position, into.bytes());
}

ChunkReader::ChunkReader(const ChunkFile& file, std::vector<Chunk> pass, uint64_t pass_count)
    : file_(file),
      pass_(std::move(pass)),
      chunk_count_(pass_.size() * pass_count),
      current_(std::make_unique<Block>(file.largest_shape())),
      ahead_(std::make_unique<Block>(file.largest_shape())) {
  begin_reading();
}

const Block& ChunkReader::next() {
  const Block* const kept = file_.kept(pass_[taken_++ % pass_.size()]);
  if (kept != nullptr) {
    return *kept;
  }
  reading_.get();
  std::swap(current_, ahead_);
  begin_reading();
  return *current_;
}

void ChunkReader::begin_reading() {
  while (begun_ < chunk_count_ && file_.kept(pass_[begun_ % pass_.size()]) != nullptr) {
    ++begun_;
  }
  if (begun_ < chunk_count_) {
    const Chunk& chunk = pass_[begun_++ % pass_.size()];
    reading_ = std::async(std::launch::async, [this, &chunk] { file_.read(chunk, *ahead_); });
  }
}

}  // namespace apps::sgd
