#include "mpi/typed_buffer.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "mpi/communicator.h"
#include "mpi/packing.h"

namespace spillway::mpi {
namespace {

bool is_predefined(MPI_Datatype type) {
  int integers = 0, addresses = 0, datatypes = 0, combiner = 0;
  PMPI_Type_get_envelope(type, &integers, &addresses, &datatypes, &combiner);
  return combiner == MPI_COMBINER_NAMED;
}

// The library's packing counts bytes in int before MPI 4: larger buffers go in pieces of whole elements.
template <typename Call>
void for_pieces(MPI_Count count, MPI_Datatype type, Call call) {
  const auto size = static_cast<MPI_Count>(std::max<uint64_t>(packed_bytes_of_one(type), 1));
  const MPI_Count step = std::max<MPI_Count>(1, (1 << 30) / size);
  for (MPI_Count done = 0; done < count; done += step) call(done, static_cast<int>(std::min(step, count - done)));
}

std::byte* element_address(const TypedBuffer& buffer, MPI_Count index) {
  return static_cast<std::byte*>(buffer.address) + extent_of(buffer.type) * index;
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
  if (!is_predefined(type)) return false;
  const bool plain = static_cast<uint64_t>(extent_of(type)) == packed_bytes_of_one(type);
  predefined.emplace(handle_value(type), plain);
  return plain;
}

TypedBuffer shifted(const TypedBuffer& buffer, MPI_Aint elements) {
  return TypedBuffer{static_cast<std::byte*>(buffer.address) + extent_of(buffer.type) * elements, buffer.count,
                     buffer.type};
}

PackedView::PackedView(const TypedBuffer& buffer) : bytes_(packed_bytes(buffer)) {
  if (bytes_ == 0) return;
  if (is_plain(buffer.type)) {
    data_ = buffer.address;
    return;
  }
  copy_.reset(new std::byte[bytes_]);
  data_ = copy_.get();
  const uint64_t size = packed_bytes_of_one(buffer.type);
  for_pieces(buffer.count, buffer.type, [&](MPI_Count done, int count) {
    pack_elements(element_address(buffer, done), count, buffer.type, copy_.get() + size * static_cast<uint64_t>(done),
                  size * static_cast<uint64_t>(count));
  });
}

void unpack(const void* packed, uint64_t bytes, const TypedBuffer& buffer) {
  const uint64_t size = packed_bytes_of_one(buffer.type);
  if (size == 0 || bytes == 0) return;
  const auto* in = static_cast<const std::byte*>(packed);
  const auto whole = static_cast<MPI_Count>(bytes / size);
  for_pieces(whole, buffer.type, [&](MPI_Count done, int count) {
    unpack_elements(in + size * static_cast<uint64_t>(done), size * static_cast<uint64_t>(count),
                    element_address(buffer, done), count, buffer.type);
  });
  const uint64_t rest = bytes % size;
  if (rest == 0) return;
  // The last element arrives in part: the other part stays what the user has there.
  std::vector<std::byte> element(size);
  void* last = element_address(buffer, whole);
  pack_elements(last, 1, buffer.type, element.data(), size);
  memcpy(element.data(), in + size * static_cast<uint64_t>(whole), rest);
  unpack_elements(element.data(), size, last, 1, buffer.type);
}

TypedTemporary::TypedTemporary(MPI_Count count, MPI_Datatype type) : buffer_{nullptr, count, type} {
  MPI_Aint lower = 0, true_extent = 0;
  PMPI_Type_get_true_extent(type, &lower, &true_extent);
  const MPI_Aint reach = extent_of(type) * (count > 0 ? count - 1 : 0);
  const MPI_Aint first = std::min<MPI_Aint>(lower, lower + reach);
  const MPI_Aint span = true_extent + (reach < 0 ? -reach : reach);
  memory_.reset(new std::byte[static_cast<size_t>(span) + 1]);
  buffer_.address = memory_.get() - first;
}

DatatypeHold::DatatypeHold(MPI_Datatype type) : type_(type) {
  if (type == MPI_DATATYPE_NULL || is_plain(type) || is_predefined(type)) return;
  PMPI_Type_dup(type, &type_);
  owned_ = true;
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
