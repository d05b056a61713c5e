// User memory as MPI describes it (address, count, datatype), and its bytes as they travel.
//
// Predefined datatypes without gaps travel as they lie in memory; all others are packed and unpacked by the MPI
// library, whose knowledge of datatypes Spillway does not repeat.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace spillway::mpi {

struct TypedBuffer {
  void* address = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

// Casts away const where MPI hands us an input: inputs are only read.
inline TypedBuffer input_buffer(const void* address, MPI_Count count, MPI_Datatype type) {
  return TypedBuffer{const_cast<void*>(address), count, type};
}

// Size of the data, without gaps.
uint64_t packed_bytes(const TypedBuffer& buffer);
uint64_t packed_bytes_of_one(MPI_Datatype type);

// True if the data lies in memory as it travels.
bool is_plain(MPI_Datatype type);

// Distance between elements in memory.
MPI_Aint extent_of(MPI_Datatype type);

// `buffer` moved on by `elements`.
TypedBuffer shifted(const TypedBuffer& buffer, MPI_Aint elements);

// The bytes of a buffer as they travel: in place where the datatype allows, else a packed copy.
class PackedView {
 public:
  explicit PackedView(const TypedBuffer& buffer);
  const void* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

 private:
  const void* data_ = nullptr;
  uint64_t bytes_ = 0;
  std::unique_ptr<std::byte[]> copy_;
};

// Puts `bytes` of packed data, at most the buffer's, into a buffer whose datatype is not plain. The data may end in the
// middle of an element.
void unpack(const void* packed, uint64_t bytes, const TypedBuffer& buffer);

// Memory of our own that can hold `count` elements of a datatype in their natural layout.
class TypedTemporary {
 public:
  TypedTemporary(MPI_Count count, MPI_Datatype type);
  const TypedBuffer& buffer() const { return buffer_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  TypedBuffer buffer_;
};

// Keeps a datatype usable although the program frees its handle, for operations that are not complete when the call
// returns.
class DatatypeHold {
 public:
  DatatypeHold() = default;
  explicit DatatypeHold(MPI_Datatype type);
  DatatypeHold(DatatypeHold&& other) noexcept;
  DatatypeHold& operator=(DatatypeHold&& other) noexcept;
  ~DatatypeHold();
  MPI_Datatype type() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  bool owned_ = false;
};

}  // namespace spillway::mpi
