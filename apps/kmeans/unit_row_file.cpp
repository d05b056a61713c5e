#include "unit_row_file.h"

#include <algorithm>
#include <bit>

#include "row_ranges.h"
#include "unit_row.h"

namespace apps::kmeans {

UnitRowFile::UnitRowFile(const CsrReader& matrix, uint64_t first_row, uint64_t row_count,
                         const std::string& scratch_directory, uint64_t kept_bytes)
    : row_count_(row_count),
      file_(scratch_directory),
      kept_(std::min(kept_bytes / sizeof(MatrixEntry), matrix.entry_count() + matrix.row_count())) {
  constexpr size_t kRecordsAtOnce = size_t{1} << 17;  // 1 MiB
  std::vector<MatrixEntry> records;
  for_each_row_range(matrix, first_row, row_count, [&](uint64_t row, uint64_t first_entry, uint64_t entry_count) {
    records.push_back(std::bit_cast<MatrixEntry>(entry_count));
    records.resize(records.size() + entry_count);
    const std::span<MatrixEntry> entries = std::span(records).last(entry_count);
    matrix.read_entries(first_entry, entries);
    make_unit(matrix, row, first_entry, entries);
    if (records.size() >= kRecordsAtOnce) {
      append(records);
    }
  });
  append(records);
  const std::vector<std::byte> padding(kCsrAlignment - file_bytes_ % kCsrAlignment);  // for direct reading
  file_.write_at(file_bytes_, padding);
  file_.read_directly();
}

void UnitRowFile::append(std::vector<MatrixEntry>& records) {
  const size_t kept = std::min<uint64_t>(records.size(), kept_.size() - kept_count_);
  std::copy_n(records.begin(), kept, kept_.begin() + kept_count_);
  kept_count_ += kept;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(records).subspan(kept));
  file_.write_at(file_bytes_, bytes);
  file_bytes_ += bytes.size();
  records.clear();
}

RowStream::RowStream(const UnitRowFile& rows, uint64_t pass_count)
    : rows_(rows), stream_(rows.file(), rows.file_bytes(), pass_count) {}

void RowStream::sweep(const RowVisitor& visit) {
  pending_ = rows_.kept();
  for (uint64_t row = 0; row < rows_.row_count(); ++row) {
    const auto entry_count = std::bit_cast<uint64_t>(take(1).front());
    visit(row, take(entry_count));
  }
}

std::span<const MatrixEntry> RowStream::take(uint64_t count) {
  if (pending_.empty() && count > 0) {
    read_on();
  }
  if (count <= pending_.size()) {
    const std::span<const MatrixEntry> taken = pending_.first(count);
    pending_ = pending_.subspan(count);
    return taken;
  }
  row_.clear();
  while (row_.size() < count) {
    if (pending_.empty()) {
      read_on();
    }
    const std::span<const MatrixEntry> part = pending_.first(std::min<uint64_t>(count - row_.size(), pending_.size()));
    row_.insert(row_.end(), part.begin(), part.end());
    pending_ = pending_.subspan(part.size());
  }
  return row_;
}

void RowStream::read_on() {
  const std::span<const std::byte> block = stream_.next_block();
  pending_ = {reinterpret_cast<const MatrixEntry*>(block.data()), block.size() / sizeof(MatrixEntry)};
}

}  // namespace apps::kmeans
