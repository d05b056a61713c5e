#include "mpi/typed_buffer.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "mpi/communicator.h"
#include "mpi/datatype_contents.h"
#include "mpi/packing.h"
#include "mpi/runtime.h"

namespace spillway::mpi {
namespace {

bool has_no_gaps_around(MPI_Datatype type) {
  MPI_Aint lower = 0, extent = 0;
  PMPI_Type_get_extent(type, &lower, &extent);
  return lower == 0 && static_cast<uint64_t>(extent) == packed_bytes_of_one(type);
}

// Blocks that follow on each other, in order.
bool is_dense_structure(const Contents& made) {
  MPI_Aint end = 0;
  for (size_t i = 0; i < made.datatypes.size(); ++i) {
    if (made.addresses[i] != end || !is_plain(made.datatypes[i])) return false;
    end += made.integers[i + 1] * extent_of(made.datatypes[i]);
  }
  return true;
}

// Of the ways to make a datatype, those by which programs make blocks without gaps.
bool is_dense(MPI_Datatype type, const Envelope& envelope) {
  if (envelope.large_counts != 0 || !has_no_gaps_around(type)) return false;
  switch (envelope.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_CONTIGUOUS:
    case MPI_COMBINER_RESIZED:
      return is_plain(Contents(type, envelope).datatypes[0]);
    case MPI_COMBINER_STRUCT:
      return is_dense_structure(Contents(type, envelope));
    default:
      return false;
  }
}

// The library's packing counts bytes in int before MPI 4.
constexpr uint64_t kMostPackedBytes = 1 << 30;

// At least one.
uint64_t elements_in(uint64_t bytes, uint64_t element_bytes) { return std::max<uint64_t>(1, bytes / element_bytes); }

// REQUIRES: bytes > 0, and a datatype that is not plain.
void unpack_elements_of(message::ByteStream& packed, uint64_t bytes, const TypedBuffer& buffer) {
  const uint64_t size = packed_bytes_of_one(buffer.type);
  const Scratch piece(size * elements_in(std::min(bytes, kPieceBytes), size));
  TypedBuffer rest = buffer;
  while (bytes >= size) {
    const uint64_t count = elements_in(std::min(bytes, kPieceBytes), size);
    packed.read(piece.data(), size * count);
    unpack_elements(piece.data(), size * count, rest.address, static_cast<int>(count), rest.type);
    rest = shifted(rest, static_cast<MPI_Aint>(count));
    bytes -= size * count;
  }
  if (bytes == 0) return;
  // The last element arrives in part: the other part stays what the user has there.
  pack_elements(rest.address, 1, rest.type, piece.data(), size);
  packed.read(piece.data(), bytes);
  unpack_elements(piece.data(), size, rest.address, 1, rest.type);
}

}  // namespace

uint64_t packed_bytes_of_one(MPI_Datatype type) {
  MPI_Count size = 0;
  PMPI_Type_size_x(type, &size);
  return size > 0 ? static_cast<uint64_t>(size) : 0;
}

uint64_t packed_bytes(const TypedBuffer& buffer) {
  return buffer.count == 0 ? 0 : packed_bytes_of_one(buffer.type) * static_cast<uint64_t>(buffer.count);
}

MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lower = 0, extent = 0;
  PMPI_Type_get_extent(type, &lower, &extent);
  return extent;
}

// Handles of predefined datatypes are constants, so what was found out once holds; others are looked at each time.
bool is_plain(MPI_Datatype type) {
  static std::unordered_map<uint64_t, bool> predefined;
  const auto known = predefined.find(handle_value(type));
  if (known != predefined.end()) return known->second;
  const Envelope envelope(type);
  if (!envelope.is_predefined()) return is_dense(type, envelope);
  const bool plain = has_no_gaps_around(type);
  predefined.emplace(handle_value(type), plain);
  return plain;
}

TypedBuffer shifted(const TypedBuffer& buffer, MPI_Aint elements) {
  if (elements == 0) return buffer;
  return TypedBuffer{static_cast<std::byte*>(buffer.address) + extent_of(buffer.type) * elements, buffer.count,
                     buffer.type};
}

Scratch::Scratch(uint64_t bytes) : is_charged_(bytes > kPieceBytes) {
  if (!is_charged_)
    data_ = new std::byte[bytes];
  else if ((data_ = static_cast<std::byte*>(runtime()->arena.allocate(bytes, alignof(std::max_align_t)))) == nullptr)
    base::fatal("no memory for an element of a datatype of %llu bytes", static_cast<unsigned long long>(bytes));
}

Scratch::~Scratch() {
  if (is_charged_)
    runtime()->arena.free(data_);
  else
    delete[] data_;
}

PackedStream::PackedStream(const TypedBuffer& buffer) {
  begin_part(buffer);
  bytes_ = part_left_;
  if (is_plain_ || element_bytes_ <= kPieceBytes || bytes_ == 0) return;
  part_left_ = 0;
  split_ = std::make_unique<SplitBuffer>(buffer);
  make_room_for_elements();
}

// The rank may have to wait for room, which it must not do while it reads.
void PackedStream::make_room_for_elements() {
  uint64_t most = 0;
  for (const TypedBuffer& part : split_->parts())
    if (!is_plain(part.type)) most = std::max(most, packed_bytes_of_one(part.type));
  element_ = Scratch(most);
}

// Programs give MPI_DATATYPE_NULL for what has no elements.
void PackedStream::begin_part(const TypedBuffer& part) {
  rest_ = part;
  element_bytes_ = part.count == 0 ? 0 : packed_bytes_of_one(part.type);
  part_left_ = element_bytes_ * static_cast<uint64_t>(part.count);
  is_plain_ = part.count == 0 || is_plain(part.type);
}

void PackedStream::read(void* out, uint64_t bytes) {
  auto* to = static_cast<std::byte*>(out);
  while (bytes != 0) {
    if (part_left_ == 0) {
      begin_part(split_->parts()[next_part_++]);
      continue;
    }
    const uint64_t part = read_part(to, std::min(bytes, part_left_));
    to += part;
    bytes -= part;
    part_left_ -= part;
  }
}

uint64_t PackedStream::read_part(std::byte* out, uint64_t bytes) {
  if (is_plain_) return read_plain(out, bytes);
  const bool is_split = element_left_ != 0 || bytes < element_bytes_;
  return is_split ? read_split_element(out, bytes) : read_whole_elements(out, bytes);
}

uint64_t PackedStream::read_plain(std::byte* out, uint64_t bytes) {
  memmove(out, rest_.address, bytes);  // copies between buffers of one rank may overlap
  rest_.address = static_cast<std::byte*>(rest_.address) + bytes;
  return bytes;
}

uint64_t PackedStream::read_split_element(std::byte* out, uint64_t bytes) {
  if (element_left_ == 0) {
    if (element_.data() == nullptr) element_ = Scratch(element_bytes_);
    read_whole_elements(element_.data(), element_bytes_);
    element_left_ = element_bytes_;
  }
  const uint64_t part = std::min(bytes, element_left_);
  memcpy(out, element_.data() + element_bytes_ - element_left_, part);
  element_left_ -= part;
  return part;
}

uint64_t PackedStream::read_whole_elements(std::byte* out, uint64_t bytes) {
  const uint64_t count = elements_in(std::min(bytes, kMostPackedBytes), element_bytes_);
  const uint64_t part = count * element_bytes_;
  pack_elements(rest_.address, static_cast<int>(count), rest_.type, out, part);
  rest_ = shifted(rest_, static_cast<MPI_Aint>(count));
  return part;
}

void unpack(message::ByteStream& packed, uint64_t bytes, const TypedBuffer& buffer) {
  if (bytes == 0) return;
  if (is_plain(buffer.type)) return packed.read(buffer.address, bytes);
  if (packed_bytes_of_one(buffer.type) <= kPieceBytes) return unpack_elements_of(packed, bytes, buffer);
  const SplitBuffer split(buffer);
  for (const TypedBuffer& part : split.parts()) {
    const uint64_t part_bytes = std::min(bytes, packed_bytes(part));
    if (is_plain(part.type))
      packed.read(part.address, part_bytes);
    else if (part_bytes != 0)
      unpack_elements_of(packed, part_bytes, part);
    bytes -= part_bytes;
  }
}

Span span_of(MPI_Count count, MPI_Datatype type) {
  MPI_Aint lower = 0, true_extent = 0;
  if (count == 0 || PMPI_Type_get_true_extent(type, &lower, &true_extent) != MPI_SUCCESS) return {};
  const MPI_Aint reach = extent_of(type) * (count - 1);
  return {std::min<MPI_Aint>(lower, lower + reach), static_cast<uint64_t>(true_extent + (reach < 0 ? -reach : reach))};
}

TypedTemporary::TypedTemporary(MPI_Count count, MPI_Datatype type) {
  const Span span = span_of(count, type);
  memory_ = Scratch(span.bytes + 1);
  address_ = memory_.data() - span.first;
}

DatatypeHold::DatatypeHold(MPI_Datatype type) : type_(type) {
  if (type == MPI_DATATYPE_NULL || Envelope(type).is_predefined()) return;
  // Not MPI_Type_dup, which copies attributes: that is the program's code.
  owned_ = PMPI_Type_contiguous(1, type, &type_) == MPI_SUCCESS && PMPI_Type_commit(&type_) == MPI_SUCCESS;
  if (!owned_) type_ = type;
}

DatatypeHold::DatatypeHold(DatatypeHold&& other) noexcept
    : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)), owned_(std::exchange(other.owned_, false)) {}

DatatypeHold& DatatypeHold::operator=(DatatypeHold&& other) noexcept {
  std::swap(type_, other.type_);
  std::swap(owned_, other.owned_);
  return *this;
}

DatatypeHold::~DatatypeHold() {
  if (owned_) PMPI_Type_free(&type_);
}

}  // namespace spillway::mpi
