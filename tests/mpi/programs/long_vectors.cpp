// long_vectors [strict [MEBIBYTES]]: reductions of vectors, and messages of derived datatypes, that are much longer
// than the pieces in which Spillway works on them. Under Spillway (`strict`) no rank needs memory for another vector.
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "checked_program.h"

namespace {

long peak_mebibytes() {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;)
    if (word == "VmHWM:") {
      long kibibytes = 0;
      file >> kibibytes;
      return kibibytes >> 10;
    }
  return 0;
}

// 2 x 2 matrices modulo a small number: their product depends on the order.
struct Matrix {
  uint32_t cells[2][2];
  bool operator==(const Matrix& other) const { return memcmp(cells, other.cells, sizeof cells) == 0; }
};

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix result;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      result.cells[i][j] = (a.cells[i][0] * b.cells[0][j] + a.cells[i][1] * b.cells[1][j]) % 9973;
  return result;
}

void multiply(void* in, void* inout, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i)
    static_cast<Matrix*>(inout)[i] = product(static_cast<Matrix*>(in)[i], static_cast<Matrix*>(inout)[i]);
}

Matrix matrix_of(int rank, size_t i) {
  Matrix made;
  for (size_t cell = 0; cell < 4; ++cell)
    made.cells[cell / 2][cell % 2] = static_cast<uint32_t>((i * 31 + static_cast<size_t>(rank) * 7 + cell * cell) % 97);
  return made;
}

// The product of the matrices of ranks [0, end).
Matrix product_until(int end, size_t i) {
  Matrix result = matrix_of(0, i);
  for (int rank = 1; rank < end; ++rank) result = product(result, matrix_of(rank, i));
  return result;
}

class LongVectors {
 public:
  LongVectors(CheckedProgram& program, size_t bytes) : program_(program), matrices_(bytes / sizeof(Matrix)) {
    MPI_Type_contiguous(4, MPI_UINT32_T, &type_);
    MPI_Type_commit(&type_);
    MPI_Op_create(multiply, 0, &op_);
  }
  LongVectors(const LongVectors&) = delete;
  LongVectors& operator=(const LongVectors&) = delete;
  ~LongVectors() {
    MPI_Op_free(&op_);
    MPI_Type_free(&type_);
  }

  void reduce_all() {
    fill();
    MPI_Allreduce(MPI_IN_PLACE, matrices_.data(), count(), type_, op_, MPI_COMM_WORLD);
    expect(0, matrices_.size(), program_.size());
  }

  void scan() {
    fill();
    MPI_Scan(MPI_IN_PLACE, matrices_.data(), count(), type_, op_, MPI_COMM_WORLD);
    expect(0, matrices_.size(), program_.rank() + 1);
    fill();
    MPI_Exscan(MPI_IN_PLACE, matrices_.data(), count(), type_, op_, MPI_COMM_WORLD);
    if (program_.rank() > 0) expect(0, matrices_.size(), program_.rank());
  }

  // The first rank gets half, the last nearly all of the rest.
  void reduce_and_scatter() {
    fill();
    std::vector<int> counts(static_cast<size_t>(program_.size()), 5);
    counts[0] = count() / 2;
    counts.back() += count() - count() / 2 - 5 * (program_.size() - 1);
    if (program_.size() == 1) counts[0] = count();
    size_t begin = 0;
    for (int rank = 0; rank < program_.rank(); ++rank) begin += static_cast<size_t>(counts[static_cast<size_t>(rank)]);
    MPI_Reduce_scatter(MPI_IN_PLACE, matrices_.data(), counts.data(), type_, op_, MPI_COMM_WORLD);
    expect(begin, static_cast<size_t>(counts[static_cast<size_t>(program_.rank())]), program_.size());
  }

  // One element after the other from each rank to the next, as `type`, which is `elements` matrices long.
  void pass_on(MPI_Datatype type, size_t elements) {
    fill();
    MPI_Sendrecv_replace(matrices_.data(), static_cast<int>(matrices_.size() / elements), type, program_.right(), 1,
                         program_.left(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    size_t wrong = 0;
    for (size_t i = 0; i < matrices_.size() / elements * elements; ++i)
      wrong += !(matrices_[i] == matrix_of(program_.left(), i));
    program_.equal(wrong, 0u);
  }

  void pass_blocks_on() {
    MPI_Datatype block;
    MPI_Type_contiguous(64, type_, &block);
    MPI_Type_commit(&block);
    pass_on(block, 64);
    MPI_Type_free(&block);
  }

  // Every second matrix, as one element: to the gaps between the right neighbour's own.
  void pass_every_second_on() {
    fill();
    MPI_Datatype every_second;
    MPI_Type_vector(count() / 2, 1, 2, type_, &every_second);
    MPI_Type_commit(&every_second);
    MPI_Sendrecv(matrices_.data(), 1, every_second, program_.right(), 1, matrices_.data() + 1, 1, every_second,
                 program_.left(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    size_t wrong = 0;
    for (size_t i = 0; i < matrices_.size() / 2 * 2; ++i)
      wrong += !(matrices_[i] == matrix_of(i % 2 == 0 ? program_.rank() : program_.left(), i / 2 * 2));
    program_.equal(wrong, 0u);
    MPI_Type_free(&every_second);
  }

  // A structure of all cells, in an order of its own.
  void pass_structures_on() {
    int lengths[] = {3, 1};
    MPI_Aint places[] = {4, 0};
    MPI_Datatype types[] = {MPI_UINT32_T, MPI_UINT32_T}, structure;
    MPI_Type_create_struct(2, lengths, places, types, &structure);
    MPI_Type_commit(&structure);
    pass_on(structure, 1);
    MPI_Type_free(&structure);
  }

 private:
  int count() const { return static_cast<int>(matrices_.size()); }

  void fill() {
    for (size_t i = 0; i < matrices_.size(); ++i) matrices_[i] = matrix_of(program_.rank(), i);
  }

  void expect(size_t begin, size_t length, int end_rank) {
    size_t wrong = 0;
    for (size_t i = 0; i < length; ++i) wrong += !(matrices_[i] == product_until(end_rank, begin + i));
    program_.equal(wrong, 0u);
  }

  CheckedProgram& program_;
  std::vector<Matrix> matrices_;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
  MPI_Op op_ = MPI_OP_NULL;
};

constexpr int kNumbers = 4 << 20;  // of the array in which the elements lie

std::vector<MPI_Datatype> long_types() {
  std::vector<MPI_Datatype> types(9);
  MPI_Type_vector(400000, 1, 2, MPI_INT, &types[0]);
  MPI_Type_vector(3, 300000, 400000, MPI_INT, &types[1]);
  MPI_Type_create_hvector(400000, 2, 12, MPI_SHORT, &types[2]);
  const int sizes[] = {30, 200, 300}, selected[] = {25, 101, 177}, starts[] = {3, 90, 120};
  MPI_Type_create_subarray(3, sizes, selected, starts, MPI_ORDER_C, MPI_INT, &types[3]);
  const int sizes_of_columns[] = {300, 200, 30}, selected_of_columns[] = {177, 101, 25},
            starts_of_columns[] = {0, 9, 4};
  MPI_Type_create_subarray(3, sizes_of_columns, selected_of_columns, starts_of_columns, MPI_ORDER_FORTRAN, MPI_INT,
                           &types[4]);
  const int lengths[] = {1, 2, 5};
  const MPI_Aint places[] = {8000000, 0, 7000000};
  const MPI_Datatype members[] = {types[0], types[1], MPI_DOUBLE_INT};
  MPI_Type_create_struct(3, lengths, places, members, &types[5]);
  MPI_Type_create_resized(types[0], -400, 3300000, &types[6]);
  MPI_Type_contiguous(2, types[6], &types[7]);
  std::vector<int> block_lengths(200000, 2), block_places(200000);
  for (size_t i = 0; i < block_places.size(); ++i) block_places[i] = static_cast<int>(i * 7 % 200000 * 3);
  MPI_Type_indexed(200000, block_lengths.data(), block_places.data(), MPI_INT, &types[8]);
  for (MPI_Datatype& type : types) MPI_Type_commit(&type);
  return types;
}

// Elements that are longer than a piece travel as the library packs them, also if the last one arrives in part.
void long_elements(CheckedProgram& program) {
  for (MPI_Datatype type : long_types()) {
    int bytes = 0;
    MPI_Pack_size(1, type, MPI_COMM_WORLD, &bytes);
    std::vector<int> array = patterned(0, 1, kNumbers), untouched(kNumbers, -1), wanted = untouched;
    std::vector<char> packed(static_cast<size_t>(bytes)), got(packed.size());
    int position = 0;
    MPI_Pack(array.data(), 1, type, packed.data(), bytes, &position, MPI_COMM_WORLD);
    MPI_Sendrecv(array.data(), 1, type, program.right(), 1, got.data(), bytes, MPI_PACKED, program.left(), 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    program.holds(got == packed);
    position = 0;
    MPI_Unpack(packed.data(), bytes, &position, wanted.data(), 1, type, MPI_COMM_WORLD);
    array = untouched;
    MPI_Sendrecv(packed.data(), bytes, MPI_PACKED, program.right(), 2, array.data(), 1, type, program.left(), 2,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    program.holds(array == wanted);
    MPI_Type_free(&type);
  }
}

// Every second number of an array, as one element; the second of two arrives in part.
void half_an_element(CheckedProgram& program) {
  constexpr int kLength = 400000, kMissing = 1234;
  MPI_Datatype every_second;
  MPI_Type_vector(kLength, 1, 2, MPI_INT, &every_second);
  MPI_Type_commit(&every_second);
  const size_t extent = 2 * kLength - 1;
  const std::vector<int> packed = patterned(program.rank(), 1, 2 * kLength);
  std::vector<int> in(2 * extent, -1), wanted(2 * extent, -1);
  MPI_Sendrecv(packed.data(), 2 * kLength - kMissing, MPI_INT, program.right(), 1, in.data(), 2, every_second,
               program.left(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (size_t i = 0; i < packed.size() - kMissing; ++i)
    wanted[i / kLength * extent + i % kLength * 2] = pattern(program.left(), 1, i);
  program.holds(in == wanted);
  MPI_Type_free(&every_second);
}

}  // namespace

int main(int argc, char** argv) {
  constexpr long kSpareMebibytes = 64;  // messages that wait in the budget's room count for whoever has copied them
  CheckedProgram program(&argc, &argv);
  const size_t mebibytes = argc > 2 ? strtoull(argv[2], nullptr, 10) : 4;
  {
    LongVectors vectors(program, mebibytes << 20);
    const long before = peak_mebibytes();
    vectors.reduce_all();
    vectors.scan();
    vectors.reduce_and_scatter();
    vectors.pass_blocks_on();
    vectors.pass_structures_on();
    vectors.pass_every_second_on();
    if (program.is_strict() && mebibytes > kSpareMebibytes) program.holds(peak_mebibytes() < before + kSpareMebibytes);
  }
  long_elements(program);
  half_an_element(program);
  return program.finish();
}
