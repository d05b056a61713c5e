#include "csr_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <system_error>

namespace pagerank {

namespace {

constexpr char kRemedy[] = "; write it anew with graph-convert or graph-generate";

[[noreturn]] void reject(const std::string& path, const std::string& cause) {
  throw std::runtime_error("graph file " + path + " " + cause + kRemedy);
}

// A negative number that some other program wrote is shown as such too.
std::string vertex_text(uint32_t column) {
  const auto as_signed = static_cast<int32_t>(column);
  return std::to_string(column) + (as_signed < 0 ? " (or " + std::to_string(as_signed) + ", if signed)" : "");
}

CsrHeader read_header(const File& file) {
  CsrHeader header = {};
  const uint64_t file_bytes = file.size();
  if (file_bytes < sizeof header) {
    reject(file.path(), "is truncated: it has " + std::to_string(file_bytes) + " bytes, the header alone has 64");
  }
  file.read_at(0, &header, sizeof header);
  if (header.magic != kCsrMagic) {
    reject(file.path(), "has the wrong magic: it is not in the binary CSR format");
  }
  if (header.version != kCsrVersion) {
    reject(file.path(), "has version " + std::to_string(header.version) +
                            " of the format, this program reads version " + std::to_string(kCsrVersion));
  }
  if (header.checksum != header_checksum(header)) {
    reject(file.path(), "has a wrong header checksum: the header is damaged");
  }
  if (header.column_bytes != sizeof(uint32_t) || header.vertex_count > kMaxVertexCount ||
      header.edge_count > kMaxEdgeCount) {
    reject(file.path(), "has more vertices or edges than this program can use");
  }
  const CsrHeader expected = make_header(header.vertex_count, header.edge_count);
  if (header.offsets_position != expected.offsets_position || header.columns_position != expected.columns_position ||
      header.file_bytes != expected.file_bytes) {
    reject(file.path(), "has a header whose positions contradict its counts");
  }
  if (file_bytes != header.file_bytes) {
    reject(file.path(), std::string(file_bytes < header.file_bytes ? "is truncated" : "is too long") + ": it has " +
                            std::to_string(file_bytes) + " bytes, its header says " +
                            std::to_string(header.file_bytes));
  }
  return header;
}

}  // namespace

CsrReader::CsrReader(const std::string& path) : file_(path, O_RDONLY), header_(read_header(file_)) {
  if (read_offset(0) != 0 || read_offset(vertex_count()) != edge_count()) {
    reject(path, "has row offsets that do not span its " + std::to_string(edge_count()) + " edges");
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

void CsrReader::read_columns(uint64_t first_edge, std::span<uint32_t> into) const {
  file_.read_at(header_.columns_position + first_edge * sizeof(uint32_t), into.data(), into.size_bytes());
}

void CsrReader::check_offsets(uint64_t first_row, std::span<const uint64_t> offsets) const {
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    if (offsets[i] > offsets[i + 1]) {
      reject(path(), "has row offsets that go backwards at row " + std::to_string(first_row + i));
    }
  }
  if (!offsets.empty() && offsets.back() > edge_count()) {
    reject(path(), "has a row offset beyond its edges at row " + std::to_string(first_row + offsets.size() - 1));
  }
}

void CsrReader::check_columns(uint64_t first_edge, std::span<const uint32_t> columns) const {
  if (vertex_count() == kMaxVertexCount) {
    return;
  }
  uint32_t largest = 0;  // without an early exit the loop is vectorized
  for (uint32_t column : columns) {
    largest = std::max(largest, column);
  }
  if (columns.empty() || largest < vertex_count()) {
    return;
  }
  const auto wrong = std::find(columns.begin(), columns.end(), largest);
  reject(path(), "has vertex " + vertex_text(largest) + " in entry " +
                     std::to_string(first_edge + (wrong - columns.begin())) + ", out of range: it has " +
                     std::to_string(vertex_count()) + " vertices");
}

CsrWriter::CsrWriter(const std::string& path, uint64_t vertex_count)
    : path_(path), vertex_count_(vertex_count), file_(path + ".partial", O_RDWR | O_CREAT | O_TRUNC) {
  if (vertex_count > kMaxVertexCount) {
    throw std::runtime_error(path + ": the format holds at most 2^32 vertices");
  }
}

CsrWriter::~CsrWriter() {
  if (file_.is_open()) {
    ::unlink(file_.path().c_str());
  }
}

void CsrWriter::write_offsets(uint64_t first_row, std::span<const uint64_t> offsets) const {
  file_.write_at(kCsrAlignment + first_row * sizeof(uint64_t), offsets.data(), offsets.size_bytes());
}

void CsrWriter::write_columns(uint64_t first_edge, std::span<const uint32_t> columns) const {
  file_.write_at(columns_position_of(vertex_count_) + first_edge * sizeof(uint32_t), columns.data(),
                 columns.size_bytes());
}

void CsrWriter::finish(uint64_t edge_count) {
  const CsrHeader header = make_header(vertex_count_, edge_count);
  file_.resize(header.file_bytes);
  file_.write_at(0, &header, sizeof header);
  if (std::rename(file_.path().c_str(), path_.c_str()) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot rename " + file_.path() + " to " + path_);
  }
  file_.close();
}

}  // namespace pagerank
