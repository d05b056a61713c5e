// More than 2^31 elements, and derived types of more than 2^31 bytes. Each rank has one array of 2 GiB.
#include <algorithm>
#include <cstring>

#include "checked_program.h"

namespace {

constexpr MPI_Count kHalf = (MPI_Count{1} << 30) + 3;
constexpr MPI_Count kLength = 2 * kHalf;  // more than 2^31
constexpr int kPiece = 1 << 20;

// Tells the piece of the array and who wrote it.
char piece_value(int source, MPI_Count piece) { return static_cast<char>(source * 37 + piece * 11 + piece / 256); }

class Array {
 public:
  Array() : bytes_(static_cast<size_t>(kLength)) {}
  char* data() { return bytes_.data(); }

  void fill(int source) {
    each_piece(0, kLength,
               [&](MPI_Count piece, char* at, size_t size) { memset(at, piece_value(source, piece), size); });
  }
  // Whether all bytes of a part are those that `source` wrote there.
  bool is_of(int source, MPI_Count begin, MPI_Count end) {
    bool is_right = true;
    each_piece(begin, end, [&](MPI_Count piece, const char* at, size_t size) {
      const char value = piece_value(source, piece);
      is_right = is_right && at[0] == value && memcmp(at, at + 1, size - 1) == 0;
    });
    return is_right;
  }

 private:
  template <typename Each>
  void each_piece(MPI_Count begin, MPI_Count end, Each each) {
    for (MPI_Count at = begin; at < end;) {
      const MPI_Count piece = at / kPiece, next = std::min((piece + 1) * kPiece, end);
      each(piece, bytes_.data() + at, static_cast<size_t>(next - at));
      at = next;
    }
  }

  std::vector<char> bytes_;
};

// With the calls that programs had before MPI 4: the count is small, the type is long.
void long_type(CheckedProgram& program, Array& array) {
  MPI_Datatype half, whole;
  MPI_Type_contiguous(static_cast<int>(kHalf), MPI_CHAR, &half);
  MPI_Type_contiguous(2, half, &whole);
  MPI_Type_commit(&half);
  MPI_Type_commit(&whole);
  array.fill(program.rank());
  if (program.rank() == 0) MPI_Send(array.data(), 1, whole, 1, 1, MPI_COMM_WORLD);
  if (program.rank() == 1) {
    MPI_Status status;
    int count = 0, elements = 0;
    MPI_Count all_elements = 0;
    MPI_Recv(array.data(), 1, whole, 0, 1, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, whole, &count);
    program.equal(count, 1);
    MPI_Get_count(&status, half, &count);
    program.equal(count, 2);
    MPI_Get_elements(&status, MPI_CHAR, &elements);
    program.equal(elements, MPI_UNDEFINED);
    MPI_Get_elements_x(&status, MPI_CHAR, &all_elements);
    program.equal(all_elements, kLength);
    program.holds(array.is_of(0, 0, kLength));
  }
  array.fill(program.rank());
  MPI_Bcast(array.data(), 1, whole, 1, MPI_COMM_WORLD);
  program.holds(array.is_of(1, 0, kLength));
  MPI_Type_free(&whole);
  MPI_Type_free(&half);
}

#if MPI_VERSION >= 4  // Open MPI 5.0 lacks these
void large_count(CheckedProgram& program, Array& array) {
  array.fill(program.rank());
  if (program.rank() == 0) {
    MPI_Request request;
    MPI_Isend_c(array.data(), kLength, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (program.rank() == 1) {
    MPI_Status status;
    MPI_Count count = 0;
    MPI_Recv_c(array.data(), kLength, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &status);
    MPI_Get_count_c(&status, MPI_CHAR, &count);
    program.equal(count, kLength);
    program.holds(array.is_of(0, 0, kLength));
  }
  if (program.rank() == 0) array.fill(5);
  MPI_Bcast_c(array.data(), kLength, MPI_CHAR, 1, MPI_COMM_WORLD);
  program.holds(array.is_of(0, 0, kLength));
}

// Each rank has written one half; the other one is zero.
void reduction(CheckedProgram& program, Array& array) {
  array.fill(0);
  memset(array.data() + (program.rank() == 0 ? kHalf : 0), 0, static_cast<size_t>(kHalf));
  MPI_Allreduce_c(MPI_IN_PLACE, array.data(), kLength, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
  program.holds(array.is_of(0, 0, kLength));
}

// What rank 1 gives has its place beyond 2^31 bytes.
void far_places(CheckedProgram& program, Array& array) {
  const MPI_Count counts[] = {kLength - 1000, 1000};
  const MPI_Aint places[] = {0, static_cast<MPI_Aint>(kLength - 1000)};
  array.fill(program.rank());
  MPI_Allgatherv_c(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, array.data(), counts, places, MPI_CHAR, MPI_COMM_WORLD);
  program.holds(array.is_of(0, 0, counts[0]));
  program.holds(array.is_of(1, places[1], kLength));
}
#endif

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  Array array;
  long_type(program, array);
#if MPI_VERSION >= 4  // Open MPI 5.0 lacks these
  large_count(program, array);
  reduction(program, array);
  far_places(program, array);
#endif
  return program.finish();
}
