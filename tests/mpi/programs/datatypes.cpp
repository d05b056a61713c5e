// Derived datatypes: messages between each of them and plain memory, in both directions, against a list of the places
// that each covers.
#include <cstddef>
#include <cstring>

#include "checked_program.h"

namespace {

// A datatype of integers, with the offsets of its integers in the order in which they travel, and its extent; both in
// integers.
struct Layout {
  MPI_Datatype type;
  std::vector<int> offsets;
  int extent;
};

Layout plain(MPI_Datatype type, std::vector<int> offsets, int extent) {
  MPI_Type_commit(&type);
  return Layout{type, std::move(offsets), extent};
}

Layout matrix_column() {
  MPI_Datatype type;
  MPI_Type_vector(4, 1, 5, MPI_INT, &type);
  return plain(type, {0, 5, 10, 15}, 16);
}

Layout blocks() {
  const int lengths[] = {2, 1, 3}, displacements[] = {4, 0, 8};
  MPI_Datatype type;
  MPI_Type_indexed(3, lengths, displacements, MPI_INT, &type);
  return plain(type, {4, 5, 0, 8, 9, 10}, 11);
}

Layout structure() {
  const int lengths[] = {1, 2};
  const MPI_Aint displacements[] = {2 * sizeof(int), 5 * sizeof(int)};
  const MPI_Datatype types[] = {MPI_INT, MPI_INT};
  MPI_Datatype inner, type;
  MPI_Type_create_struct(2, lengths, displacements, types, &inner);
  MPI_Type_create_resized(inner, 0, 9 * sizeof(int), &type);
  MPI_Type_free(&inner);
  return plain(type, {2, 5, 6}, 9);
}

// Begins before its address.
Layout negative_lower_bound() {
  const MPI_Aint displacements[] = {-2 * static_cast<MPI_Aint>(sizeof(int)), sizeof(int)};
  const int lengths[] = {1, 1};
  MPI_Datatype inner, type;
  MPI_Type_create_hindexed(2, lengths, displacements, MPI_INT, &inner);
  MPI_Type_create_resized(inner, -3 * static_cast<MPI_Aint>(sizeof(int)), 6 * sizeof(int), &type);
  MPI_Type_free(&inner);
  return plain(type, {-2, 1}, 6);
}

Layout negative_extent() {
  MPI_Datatype inner, type;
  MPI_Type_contiguous(2, MPI_INT, &inner);
  MPI_Type_create_resized(inner, 0, -3 * static_cast<MPI_Aint>(sizeof(int)), &type);
  MPI_Type_free(&inner);
  return plain(type, {0, 1}, -3);
}

Layout nested() {
  Layout column = matrix_column();
  MPI_Datatype resized, type;
  MPI_Type_create_resized(column.type, 0, sizeof(int), &resized);
  MPI_Type_contiguous(2, resized, &type);
  MPI_Type_free(&resized);
  MPI_Type_free(&column.type);
  MPI_Datatype wide;
  MPI_Type_create_resized(type, 0, 20 * sizeof(int), &wide);
  MPI_Type_free(&type);
  return plain(wide, {0, 5, 10, 15, 1, 6, 11, 16}, 20);
}

Layout subarray() {
  const int sizes[] = {3, 4}, part[] = {2, 2}, start[] = {1, 1};
  MPI_Datatype type;
  MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, MPI_INT, &type);
  return plain(type, {5, 6, 9, 10}, 12);
}

Layout contiguous() {
  MPI_Datatype type;
  MPI_Type_contiguous(3, MPI_INT, &type);
  return plain(type, {0, 1, 2}, 3);
}

// Memory around an origin, so that datatypes may reach to both sides of it.
class Field {
 public:
  explicit Field(int reach) : reach_(reach), values_(static_cast<size_t>(2 * reach), -1) {}
  int& at(int offset) { return values_[static_cast<size_t>(offset + reach_)]; }
  void* origin() { return &at(0); }
  bool operator==(const Field& other) const { return values_ == other.values_; }

 private:
  int reach_;
  std::vector<int> values_;
};

template <typename Visit>
void for_each_place(const Layout& layout, int count, Visit visit) {
  size_t travels_as = 0;
  for (int element = 0; element < count; ++element)
    for (int offset : layout.offsets) visit(element * layout.extent + offset, travels_as++);
}

// `count` elements of one layout around the ring, to plain memory and from it, and by a broadcast from the last rank.
void both_ways(CheckedProgram& program, const Layout& layout, int count) {
  const int reach = count * 20 + 40;
  const auto total = layout.offsets.size() * static_cast<size_t>(count);
  Field out(reach), in(reach), wanted(reach);
  for_each_place(layout, count, [&](int place, size_t i) { out.at(place) = pattern(program.rank(), count, i); });
  for_each_place(layout, count, [&](int place, size_t i) { wanted.at(place) = pattern(program.left(), count, i); });
  std::vector<int> packed(total);
  MPI_Status status;
  MPI_Sendrecv(out.origin(), count, layout.type, program.right(), 1, packed.data(), static_cast<int>(total), MPI_INT,
               program.left(), 1, MPI_COMM_WORLD, &status);
  program.status(status, program.left(), 1, static_cast<int>(total), MPI_INT);
  program.holds(packed == patterned(program.left(), count, total));

  const std::vector<int> own = patterned(program.rank(), count, total);
  MPI_Sendrecv(own.data(), static_cast<int>(total), MPI_INT, program.right(), 2, in.origin(), count, layout.type,
               program.left(), 2, MPI_COMM_WORLD, &status);
  program.status(status, program.left(), 2, count, layout.type);
  program.holds(in == wanted);

  Field everywhere(reach), of_last(reach);
  const int root = program.size() - 1;
  for_each_place(layout, count, [&](int place, size_t i) { of_last.at(place) = pattern(root, count, i); });
  MPI_Bcast(program.rank() == root ? out.origin() : everywhere.origin(), count, layout.type, root, MPI_COMM_WORLD);
  if (program.rank() != root) program.holds(everywhere == of_last);
}

// A nonblocking receive outlives the handle of its datatype.
void freed_before_use(CheckedProgram& program) {
  Layout layout = matrix_column();
  std::vector<int> in(16, -1);
  const std::vector<int> out = patterned(program.rank(), 1, 4);
  MPI_Request request;
  MPI_Irecv(in.data(), 1, layout.type, program.left(), 1, MPI_COMM_WORLD, &request);
  MPI_Type_free(&layout.type);
  Layout other = blocks();  // takes the handle over, if the library uses handles again
  MPI_Send(out.data(), 4, MPI_INT, program.right(), 1, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < 16; ++i)
    program.equal(in[static_cast<size_t>(i)], i % 5 == 0 ? pattern(program.left(), 1, static_cast<size_t>(i) / 5) : -1);
  MPI_Type_free(&other.type);
}

int attribute_copies = 0, attribute_deletions = 0;

int copy_attribute(MPI_Datatype, int, void*, void* value, void* copied, int* flag) {
  ++attribute_copies;
  *static_cast<void**>(copied) = value;
  *flag = 1;
  return MPI_SUCCESS;
}

int delete_attribute(MPI_Datatype, int, void*, void*) {
  ++attribute_deletions;
  return MPI_SUCCESS;
}

// Communication copies no attributes, and ends none: neither of a type that has to be packed nor of one that has not.
void attributes(CheckedProgram& program) {
  int key = MPI_KEYVAL_INVALID;
  MPI_Type_create_keyval(copy_attribute, delete_attribute, &key, nullptr);
  for (Layout layout : {blocks(), contiguous()}) {
    attribute_copies = attribute_deletions = 0;
    MPI_Type_set_attr(layout.type, key, &key);
    std::vector<int> out(1000, 1), in(1000, 0);
    MPI_Request receive, send;
    MPI_Irecv(in.data(), 2, layout.type, program.left(), 1, MPI_COMM_WORLD, &receive);
    MPI_Send_init(out.data(), 2, layout.type, program.right(), 1, MPI_COMM_WORLD, &send);
    MPI_Start(&send);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Request_free(&send);
    program.equal(in[0], 1);
    program.equal(attribute_copies, 0);
    program.equal(attribute_deletions, 0);
    MPI_Type_free(&layout.type);
    program.equal(attribute_deletions, 1);
  }
  MPI_Type_free_keyval(&key);
}

// Absolute addresses: the message begins at MPI_BOTTOM.
void absolute_addresses(CheckedProgram& program) {
  int first = program.rank(), second = program.rank() + 100, got_first = -1, got_second = -1;
  const auto type_of = [](int* a, int* b) {
    MPI_Aint places[2];
    MPI_Get_address(a, &places[0]);
    MPI_Get_address(b, &places[1]);
    const int lengths[] = {1, 1};
    MPI_Datatype type;
    MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
  };
  MPI_Datatype out = type_of(&first, &second), in = type_of(&got_first, &got_second);
  MPI_Sendrecv(MPI_BOTTOM, 1, out, program.right(), 1, MPI_BOTTOM, 1, in, program.left(), 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  program.equal(got_first, program.left());
  program.equal(got_second, program.left() + 100);
  MPI_Bcast(MPI_BOTTOM, 1, out, 0, MPI_COMM_WORLD);
  program.equal(first, 0);
  program.equal(second, 100);
  MPI_Type_free(&out);
  MPI_Type_free(&in);
}

void pairs_and_packed_data(CheckedProgram& program) {
  struct DoubleInt {
    double value;
    int place;
  };
  DoubleInt out[3], in[4];
  memset(in, 0x33, sizeof in);
  for (int i = 0; i < 3; ++i) out[i] = DoubleInt{program.rank() + i * 0.5, i};
  if (program.is_strict()) {  // from which MPICH 4.0.0 crashes
    MPI_Sendrecv(out, 3, MPI_DOUBLE_INT, program.right(), 1, in, 4, MPI_DOUBLE_INT, program.left(), 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < 3; ++i) {
      program.equal(in[i].value, program.left() + i * 0.5);
      program.equal(in[i].place, i);
    }
    program.equal(in[3].place, 0x33333333);
  }

  char buffer[100], received[100];
  int position = 0;
  MPI_Pack(&out[0].value, 1, MPI_DOUBLE, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
  MPI_Pack(&out[1].place, 1, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
  MPI_Sendrecv(buffer, position, MPI_PACKED, program.right(), 2, received, sizeof received, MPI_PACKED, program.left(),
               2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  position = 0;
  double value = 0;
  int place = 0;
  MPI_Unpack(received, sizeof received, &position, &value, 1, MPI_DOUBLE, MPI_COMM_WORLD);
  MPI_Unpack(received, sizeof received, &position, &place, 1, MPI_INT, MPI_COMM_WORLD);
  program.equal(value, program.left());
  program.equal(place, 1);
}

void zero_sizes(CheckedProgram& program) {
  MPI_Datatype nothing;
  MPI_Type_contiguous(0, MPI_INT, &nothing);
  MPI_Type_commit(&nothing);
  int data = 3;
  MPI_Status status;
  MPI_Sendrecv(&data, 5, nothing, program.right(), 1, &data, 1, MPI_INT, program.left(), 1, MPI_COMM_WORLD, &status);
  program.status(status, program.left(), 1, 0, MPI_INT);
  MPI_Sendrecv(nullptr, 0, MPI_INT, program.right(), 1, nullptr, 0, MPI_DOUBLE, program.left(), 1, MPI_COMM_WORLD,
               &status);
  program.status(status, program.left(), 1, 0, MPI_DOUBLE);
  program.equal(data, 3);
  MPI_Type_free(&nothing);
}

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  for (auto make :
       {matrix_column, blocks, structure, negative_lower_bound, negative_extent, nested, subarray, contiguous}) {
    Layout layout = make();
    for (int count : {0, 1, 3, 50000}) both_ways(program, layout, count);
    MPI_Type_free(&layout.type);
  }
  freed_before_use(program);
  attributes(program);
  absolute_addresses(program);
  pairs_and_packed_data(program);
  zero_sizes(program);
  return program.finish();
}
