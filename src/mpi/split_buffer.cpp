#include "mpi/split_buffer.h"

#include "mpi/typed_buffer.h"

namespace spillway::mpi {

SplitBuffer::SplitBuffer(const TypedBuffer& buffer) {
  add(static_cast<std::byte*>(buffer.address), buffer.count, buffer.type);
}

SplitBuffer::~SplitBuffer() {
  for (MPI_Datatype& type : made_types_) PMPI_Type_free(&type);
}

void SplitBuffer::add(std::byte* address, MPI_Count count, MPI_Datatype type) {
  if (packed_bytes_of_one(type) <= kPieceBytes || is_plain(type)) {
    parts_.push_back(TypedBuffer{address, count, type});
    return;
  }
  const MPI_Aint extent = extent_of(type);
  for (MPI_Count i = 0; i < count; ++i) add_element(address + i * extent, type);
}

void SplitBuffer::add_element(std::byte* address, MPI_Datatype type) {
  const Envelope envelope(type);
  const bool is_known = envelope.datatypes != 0 && envelope.large_counts == 0;
  const Contents* made = is_known ? &contents_.emplace_back(type, envelope) : nullptr;
  switch (is_known ? envelope.combiner : MPI_COMBINER_NAMED) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      return add(address, 1, made->datatypes[0]);
    case MPI_COMBINER_CONTIGUOUS:
      return add(address, made->integers[0], made->datatypes[0]);
    case MPI_COMBINER_VECTOR:
      return add_rows(address, made->integers[0], made->integers[1], made->integers[2] * extent_of(made->datatypes[0]),
                      made->datatypes[0]);
    case MPI_COMBINER_HVECTOR:
      return add_rows(address, made->integers[0], made->integers[1], made->addresses[0], made->datatypes[0]);
    case MPI_COMBINER_SUBARRAY:
      return add_subarray(address, *made);
    case MPI_COMBINER_STRUCT:
      for (size_t i = 0; i < made->datatypes.size(); ++i)
        add(address + made->addresses[i], made->integers[i + 1], made->datatypes[i]);
      return;
    default:
      parts_.push_back(TypedBuffer{address, 1, type});
  }
}

// A row is an element of a datatype of our own, whose extent is the distance to the next row.
void SplitBuffer::add_rows(std::byte* address, int rows, int length, MPI_Aint distance, MPI_Datatype type) {
  if (packed_bytes_of_one(type) * static_cast<uint64_t>(length) > kPieceBytes) {
    for (int row = 0; row < rows; ++row) add(address + row * distance, length, type);
    return;
  }
  MPI_Datatype block = MPI_DATATYPE_NULL, row = MPI_DATATYPE_NULL;
  PMPI_Type_contiguous(length, type, &block);
  PMPI_Type_create_resized(block, 0, distance, &row);
  PMPI_Type_free(&block);
  PMPI_Type_commit(&row);
  made_types_.push_back(row);
  add(address, rows, row);
}

// The subarray of all dimensions but the outermost has the extent of the whole array in these: what the outermost
// dimension selects are elements of it that follow on each other.
void SplitBuffer::add_subarray(std::byte* address, const Contents& made) {
  const int dimensions = made.integers[0];
  const int* sizes = &made.integers[1];
  const int *selected = sizes + dimensions, *starts = selected + dimensions;
  const int order = starts[dimensions];
  const int outermost = order == MPI_ORDER_C ? 0 : dimensions - 1, first_inner = order == MPI_ORDER_C ? 1 : 0;
  MPI_Datatype inner = made.datatypes[0];
  if (dimensions > 1) {
    PMPI_Type_create_subarray(dimensions - 1, sizes + first_inner, selected + first_inner, starts + first_inner, order,
                              made.datatypes[0], &inner);
    PMPI_Type_commit(&inner);
    made_types_.push_back(inner);
  }
  add(address + starts[outermost] * extent_of(inner), selected[outermost], inner);
}

}  // namespace spillway::mpi
