// Files, which the MPI library carries out: the ranks that have opened one gather asleep before each collective call.
// With a number as argument, each rank's part of the data has that many MiB, and the rank has as much besides. With
// `begun` and a number, it has that many MiB, and begins and ends to read them in two calls.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "checked_program.h"

namespace {

constexpr int kLength = 30000;

// A name that all ranks know and no other job has.
std::string file_name(const char* what) {
  long number = getpid();
  MPI_Bcast(&number, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  const char* folder = getenv("TMPDIR");
  return std::string(folder != nullptr ? folder : "/var/tmp") + "/spillway-" + std::to_string(number) + what;
}

class File {
 public:
  File(const char* what, MPI_Comm comm) {
    const std::string name = file_name(what);
    MPI_File_open(comm, name.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                  &file_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { MPI_File_close(&file_); }
  MPI_File handle() const { return file_; }

 private:
  MPI_File file_ = MPI_FILE_NULL;
};

MPI_Offset place_of(int rank) { return static_cast<MPI_Offset>(rank) * kLength * static_cast<MPI_Offset>(sizeof(int)); }

void at_explicit_places(CheckedProgram& program) {
  const File file("-places", MPI_COMM_WORLD);
  const std::vector<int> out = patterned(program.rank(), 1, kLength);
  MPI_Status status;
  MPI_File_write_at_all(file.handle(), place_of(program.rank()), out.data(), kLength, MPI_INT, &status);
  program.status(status, status.MPI_SOURCE, status.MPI_TAG, kLength, MPI_INT);
  MPI_File_sync(file.handle());
  MPI_Barrier(MPI_COMM_WORLD);
  std::vector<int> in(kLength, -1);
  MPI_File_read_at_all(file.handle(), place_of(program.right()), in.data(), kLength, MPI_INT, MPI_STATUS_IGNORE);
  program.holds(in == patterned(program.right(), 1, kLength));
  std::fill(in.begin(), in.end(), -1);
  MPI_File_read_at(file.handle(), place_of(program.left()), in.data(), kLength, MPI_INT, MPI_STATUS_IGNORE);
  program.holds(in == patterned(program.left(), 1, kLength));
  MPI_Offset bytes = 0;
  MPI_File_get_size(file.handle(), &bytes);
  program.equal(bytes, place_of(program.size()));
}

// Element i of the file belongs to rank i modulo their number.
void interleaved(CheckedProgram& program) {
  const File file("-interleaved", MPI_COMM_WORLD);
  MPI_Datatype every;
  MPI_Type_create_resized(MPI_INT, 0, static_cast<MPI_Aint>(sizeof(int)) * program.size(), &every);
  MPI_Type_commit(&every);
  MPI_File_set_view(file.handle(), static_cast<MPI_Offset>(sizeof(int)) * program.rank(), MPI_INT, every, "native",
                    MPI_INFO_NULL);
  const std::vector<int> out = patterned(program.rank(), 2, kLength);
  MPI_File_write_all(file.handle(), out.data(), kLength, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(file.handle());
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_set_view(file.handle(), 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  std::vector<int> in(static_cast<size_t>(program.size()), -1);
  for (const int index : {0, kLength / 2, kLength - 1}) {
    const auto place = static_cast<MPI_Offset>(index) * program.size();
    MPI_File_read_at_all(file.handle(), place, in.data(), program.size(), MPI_INT, MPI_STATUS_IGNORE);
    for (int rank = 0; rank < program.size(); ++rank)
      program.equal(in[static_cast<size_t>(rank)], pattern(rank, 2, static_cast<size_t>(index)));
  }
  MPI_Type_free(&every);
}

void begun_and_ended(CheckedProgram& program) {
  const File file("-begun", MPI_COMM_WORLD);
  const std::vector<int> out = patterned(program.rank(), 3, kLength);
  MPI_File_write_at_all_begin(file.handle(), place_of(program.rank()), out.data(), kLength, MPI_INT);
  MPI_File_write_at_all_end(file.handle(), out.data(), MPI_STATUS_IGNORE);
  MPI_File_sync(file.handle());
  MPI_Barrier(MPI_COMM_WORLD);
  std::vector<int> in(kLength, -1);
  MPI_Request request;
  MPI_File_iread_at(file.handle(), place_of(program.right()), in.data(), kLength, MPI_INT, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  program.holds(in == patterned(program.right(), 3, kLength));
}

void in_order_of_ranks(CheckedProgram& program) {
  const File file("-ordered", MPI_COMM_WORLD);
  const std::vector<int> out = patterned(program.rank(), 4, kLength);
  MPI_File_write_ordered(file.handle(), out.data(), kLength, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(file.handle());
  MPI_Barrier(MPI_COMM_WORLD);
  std::vector<int> in(kLength, -1);
  MPI_File_read_at(file.handle(), place_of(program.left()), in.data(), kLength, MPI_INT, MPI_STATUS_IGNORE);
  program.holds(in == patterned(program.left(), 4, kLength));
}

// Each half of the ranks has a file of its own, and writes it a different number of times.
void files_of_some_ranks(CheckedProgram& program) {
  const int half = program.rank() % 2;
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, half, -program.rank(), &comm);
  {
    const File file(half == 0 ? "-even" : "-odd", comm);
    int place = 0;
    MPI_Comm_rank(comm, &place);
    for (int time = 0; time < 2 + 3 * half; ++time) {
      const std::vector<int> out = patterned(program.rank(), 5 + time, kLength);
      MPI_File_write_at_all(file.handle(), place_of(place), out.data(), kLength, MPI_INT, MPI_STATUS_IGNORE);
    }
    std::vector<int> in(kLength, -1);
    MPI_File_read_at_all(file.handle(), place_of(place), in.data(), kLength, MPI_INT, MPI_STATUS_IGNORE);
    program.holds(in == patterned(program.rank(), 6 + 3 * half, kLength));
  }
  MPI_Comm_free(&comm);
}

void much(CheckedProgram& program, size_t mib) {
  const File file("-much", MPI_COMM_WORLD);
  const size_t count = (mib << 20) / sizeof(int);
  const auto bytes = static_cast<MPI_Offset>(mib << 20);
  std::vector<int> out(count), in(count, -1);
  for (size_t i = 0; i < count; ++i) out[i] = pattern(program.rank(), 6, i);
  const auto ints = static_cast<int>(count);
  MPI_File_write_at_all(file.handle(), bytes * program.rank(), out.data(), ints, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(file.handle());
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_read_at_all(file.handle(), bytes * program.right(), in.data(), ints, MPI_INT, MPI_STATUS_IGNORE);
  size_t wrong = 0;
  for (size_t i = 0; i < count; ++i) wrong += in[i] != pattern(program.right(), 6, i);
  for (size_t i = 0; i < count; ++i) wrong += out[i] != pattern(program.rank(), 6, i);
  program.equal(wrong, 0u);
}

// The library may go on to read the file when the first call has returned: the memory must be where it was.
void much_begun_and_ended(CheckedProgram& program, size_t mib) {
  const File file("-much", MPI_COMM_WORLD);
  const size_t count = (mib << 20) / sizeof(int);
  const auto bytes = static_cast<MPI_Offset>(mib << 20);
  const auto ints = static_cast<int>(count);
  std::vector<int> data(count);
  for (size_t i = 0; i < count; ++i) data[i] = pattern(program.rank(), 7, i);
  MPI_File_write_at_all_begin(file.handle(), bytes * program.rank(), data.data(), ints, MPI_INT);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_write_at_all_end(file.handle(), data.data(), MPI_STATUS_IGNORE);
  MPI_File_sync(file.handle());
  MPI_Barrier(MPI_COMM_WORLD);
  for (int time = 0; time < 3; ++time) {
    const int from = (program.rank() + time) % program.size();
    std::fill(data.begin(), data.end(), -1);
    MPI_Barrier(MPI_COMM_WORLD);  // some are unloaded
    MPI_File_read_at_all_begin(file.handle(), bytes * from, data.data(), ints, MPI_INT);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read_at_all_end(file.handle(), data.data(), MPI_STATUS_IGNORE);
    size_t wrong = 0;
    for (size_t i = 0; i < count; ++i) wrong += data[i] != pattern(from, 7, i);
    program.equal(wrong, 0u);
  }
}

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  if (argc > 2 && std::string(argv[1]) == "begun") {
    much_begun_and_ended(program, static_cast<size_t>(atol(argv[2])));
    return program.finish();
  }
  const long mib = argc > 1 ? atol(argv[1]) : 0;
  if (mib != 0) {
    much(program, static_cast<size_t>(mib));
    return program.finish();
  }
  at_explicit_places(program);
  interleaved(program);
  begun_and_ended(program);
  in_order_of_ranks(program);
  files_of_some_ranks(program);
  return program.finish();
}
