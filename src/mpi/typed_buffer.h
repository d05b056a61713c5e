// User memory as MPI describes it (address, count, datatype), and its bytes as they travel.
//
// Datatypes that are one block without gaps travel as they lie in memory; all others are packed and unpacked by the MPI
// library, whose knowledge of datatypes Spillway does not repeat. It packs whole elements, so a message is packed a few
// elements at a time, into the place where it goes.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "message/byte_stream.h"
#include "mpi/split_buffer.h"

namespace spillway::mpi {

// Temporary memory has at most this size, unless one element is larger.
inline constexpr uint64_t kPieceBytes = 1 << 20;

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

// Memory of our own for the time of a call. What is larger than a piece is charged like the program's own memory: the
// rank may have to wait for room.
class Scratch {
 public:
  Scratch() = default;
  explicit Scratch(uint64_t bytes);
  Scratch(Scratch&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), is_charged_(std::exchange(other.is_charged_, false)) {}
  Scratch& operator=(Scratch&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(is_charged_, other.is_charged_);
    return *this;
  }
  ~Scratch();
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  bool is_charged_ = false;
};

// The bytes of a buffer as they travel.
class PackedStream final : public message::ByteStream {
 public:
  explicit PackedStream(const TypedBuffer& buffer);
  uint64_t bytes() const { return bytes_; }  // of the whole buffer
  void read(void* out, uint64_t bytes) override;

 private:
  void begin_part(const TypedBuffer& part);
  void make_room_for_elements();
  uint64_t read_part(std::byte* out, uint64_t bytes);
  uint64_t read_plain(std::byte* out, uint64_t bytes);
  uint64_t read_split_element(std::byte* out, uint64_t bytes);
  uint64_t read_whole_elements(std::byte* out, uint64_t bytes);

  uint64_t bytes_ = 0;
  std::unique_ptr<SplitBuffer> split_;  // where elements are too large
  size_t next_part_ = 0;
  // The part that is being read; else the buffer.
  TypedBuffer rest_;
  uint64_t element_bytes_ = 0;
  uint64_t part_left_ = 0;
  bool is_plain_ = false;
  Scratch element_;  // one that did not fit where the last piece went
  uint64_t element_left_ = 0;
};

// Puts the next `bytes` of packed data, at most the buffer's, into a buffer. They may end in the middle of an element.
void unpack(message::ByteStream& packed, uint64_t bytes, const TypedBuffer& buffer);

// Where `count` elements of a type lie: from the offset `first` of the buffer's address on. Empty for a wrong type.
struct Span {
  MPI_Aint first = 0;
  uint64_t bytes = 0;
};
Span span_of(MPI_Count count, MPI_Datatype type);

// Memory of our own that can hold `count` elements of a datatype in their natural layout.
class TypedTemporary {
 public:
  TypedTemporary(MPI_Count count, MPI_Datatype type);
  void* address() const { return address_; }

 private:
  Scratch memory_;
  void* address_ = nullptr;
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
