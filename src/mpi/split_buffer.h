// A buffer whose elements are so large that not even one is to be packed as a whole, such as a plane of a large array:
// seen as several buffers of smaller elements, one after the other.
//
// Follows the ways in which programs make large datatypes with a regular layout. Elements of others stay whole.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <deque>
#include <vector>

#include "mpi/datatype_contents.h"

namespace spillway::mpi {

struct TypedBuffer;

class SplitBuffer {
 public:
  explicit SplitBuffer(const TypedBuffer& buffer);
  SplitBuffer(const SplitBuffer&) = delete;
  SplitBuffer& operator=(const SplitBuffer&) = delete;
  ~SplitBuffer();

  // In the order in which the data travels. The datatypes live as long as this object.
  const std::vector<TypedBuffer>& parts() const { return parts_; }

 private:
  void add(std::byte* address, MPI_Count count, MPI_Datatype type);
  void add_element(std::byte* address, MPI_Datatype type);
  void add_rows(std::byte* address, int rows, int length, MPI_Aint distance, MPI_Datatype type);
  void add_subarray(std::byte* address, const Contents& made);

  std::vector<TypedBuffer> parts_;
  std::deque<Contents> contents_;
  std::vector<MPI_Datatype> made_types_;
};

}  // namespace spillway::mpi
