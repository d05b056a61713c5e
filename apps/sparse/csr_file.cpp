#include "csr_file.h"

#include <fcntl.h>

#include <algorithm>
#include <stdexcept>
#include <system_error>

namespace apps {

namespace {

[[noreturn]] void reject(const CsrKind& kind, const std::string& path, const std::string& cause) {
  throw std::runtime_error(std::string(kind.noun) + " file " + path + " " + cause + "; write it anew with " +
                           kind.tools);
}

// A negative number that some other program wrote is shown as such too.
std::string column_text(uint32_t column) {
  const auto as_signed = static_cast<int32_t>(column);
  return std::to_string(column) + (as_signed < 0 ? " (or " + std::to_string(as_signed) + ", if signed)" : "");
}

void check_identity(const File& file, const CsrHeader& header, const CsrKind& kind) {
  if (header.magic != kCsrMagic) {
    reject(kind, file.path(), "has the wrong magic: it is not in the binary CSR format");
  }
  if (header.version != kCsrVersion) {
    reject(kind, file.path(),
           "has version " + std::to_string(header.version) + " of the format, this program reads version " +
               std::to_string(kCsrVersion));
  }
  if (header.checksum != header_checksum(header)) {
    reject(kind, file.path(), "has a wrong header checksum: the header is damaged");
  }
}

void check_shape(const File& file, const CsrHeader& header, const CsrKind& kind) {
  if (header.column_bytes != sizeof(uint32_t) || header.row_count > kMaxRowCount ||
      header.column_count > kMaxRowCount || header.entry_count > kMaxEntryCount) {
    reject(kind, file.path(), "has more rows, columns or entries than this program can use");
  }
  if (header.reserved != 0) {
    reject(kind, file.path(), "has reserved bytes of the header that are not 0");
  }
  if (header.value_bytes != kind.value_bytes) {
    reject(kind, file.path(),
           kind.value_bytes == 0 ? "has values, which a graph has not" : "has no values of 4 bytes: it may be a graph");
  }
  if (kind.is_square && header.row_count != header.column_count) {
    reject(kind, file.path(), "is not square");
  }
}

CsrHeader read_header(const File& file, const CsrKind& kind) {
  CsrHeader header = {};
  const uint64_t file_bytes = file.size();
  if (file_bytes < sizeof header) {
    reject(kind, file.path(),
           "is truncated: it has " + std::to_string(file_bytes) + " bytes, the header alone has " +
               std::to_string(sizeof header));
  }
  file.read_at(0, &header, sizeof header);
  check_identity(file, header, kind);
  check_shape(file, header, kind);
  const CsrHeader expected =
      make_header({header.row_count, header.column_count, header.value_bytes}, header.entry_count);
  if (header.offsets_position != expected.offsets_position || header.entries_position != expected.entries_position ||
      header.file_bytes != expected.file_bytes) {
    reject(kind, file.path(), "has a header whose positions contradict its counts");
  }
  if (file_bytes != header.file_bytes) {
    reject(kind, file.path(),
           std::string(file_bytes < header.file_bytes ? "is truncated" : "is too long") + ": it has " +
               std::to_string(file_bytes) + " bytes, its header says " + std::to_string(header.file_bytes));
  }
  return header;
}

}  // namespace

CsrReader::CsrReader(const std::string& path, const CsrKind& kind)
    : kind_(kind), file_(path, O_RDONLY), header_(read_header(file_, kind)) {
  if (read_offset(0) != 0 || read_offset(row_count()) != entry_count()) {
    reject(kind_, path, "has row offsets that do not span its " + std::to_string(entry_count()) + " entries");
  }
}

uint64_t CsrReader::read_offset(uint64_t row) const {
  uint64_t offset = 0;
  read_offsets(row, {&offset, 1});
  return offset;
}

void CsrReader::read_offsets(uint64_t first_row, std::span<uint64_t> into) const {
  file_.read_at(header_.offsets_position + first_row * sizeof(uint64_t), into.data(), into.size_bytes());
}

void CsrReader::check_offsets(uint64_t first_row, std::span<const uint64_t> offsets) const {
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    if (offsets[i] > offsets[i + 1]) {
      reject(kind_, path(), "has row offsets that go backwards at row " + std::to_string(first_row + i));
    }
  }
  if (!offsets.empty() && offsets.back() > entry_count()) {
    reject(kind_, path(),
           "has a row offset beyond its entries at row " + std::to_string(first_row + offsets.size() - 1));
  }
}

void CsrReader::reject_column(uint32_t column, uint64_t entry) const {
  reject(kind_, path(),
         "has column " + column_text(column) + " in entry " + std::to_string(entry) + ", out of range: it has " +
             std::to_string(column_count()) + " columns");
}

CsrWriter::CsrWriter(const std::string& path, const CsrShape& shape) : path_(path), shape_(shape), file_(path) {
  if (shape.row_count > kMaxRowCount || shape.column_count > kMaxRowCount) {
    throw std::runtime_error(path + ": the format holds at most 2^32 rows and columns");
  }
}

void CsrWriter::write_offsets(uint64_t first_row, std::span<const uint64_t> offsets) const {
  file_.file().write_at(kCsrAlignment + first_row * sizeof(uint64_t), offsets.data(), offsets.size_bytes());
}

void CsrWriter::read_offsets(uint64_t first_row, std::span<uint64_t> into) const {
  file_.file().read_at(kCsrAlignment + first_row * sizeof(uint64_t), into.data(), into.size_bytes());
}

void CsrWriter::reject_value(const char* what, uint64_t row, uint32_t column) const {
  throw std::runtime_error(path_ + ": " + what + " of row " + std::to_string(row + 1) + ", column " +
                           std::to_string(uint64_t{column} + 1) +
                           " (both counted from 1) is too large for 32 bits; scale the values of the input down");
}

void CsrWriter::finish(uint64_t entry_count) {
  const CsrHeader header = make_header(shape_, entry_count);
  file_.file().resize(header.file_bytes);
  file_.file().write_at(0, &header, sizeof header);
  file_.finish();
}

}  // namespace apps
