// sizes [longest]: messages of every size up to `longest` bytes (default 4 MiB), around each of the sizes where they
// take another way: inside an envelope, in chunks of memory, in chunks of a file.
#include <algorithm>
#include <cstdlib>

#include "checked_program.h"

namespace {

std::vector<size_t> sizes_up_to(size_t longest) {
  std::vector<size_t> sizes = {0, 1, 7, 63, 64, 195, 196, 197, 255, 256, 4095, 4096, 8191, 8192, 8193, 16384, 65537};
  for (size_t size = 262144; size <= std::min(longest, size_t{4} << 20); size *= 4)
    for (size_t near : {size - 1, size, size + 1}) sizes.push_back(near);
  if (longest > 262144) sizes.push_back(longest);
  return sizes;
}

unsigned char byte_of(int source, size_t size, size_t index) {
  return static_cast<unsigned char>(static_cast<size_t>(source) * 37 + size * 11 + index + (index >> 8) * 7 +
                                    (index >> 16) * 3);
}

void fill(std::vector<unsigned char>& data, int source, size_t size) {
  for (size_t i = 0; i < size; ++i) data[i] = byte_of(source, size, i);
}

bool is_from(const std::vector<unsigned char>& data, int source, size_t size) {
  for (size_t i = 0; i < size; ++i)
    if (data[i] != byte_of(source, size, i)) return false;
  return true;
}

// Everybody's message to everybody is on its way before the first is received.
void to_everybody(CheckedProgram& program, std::vector<unsigned char>& out, std::vector<unsigned char>& in,
                  size_t size) {
  fill(out, program.rank(), size);
  std::vector<MPI_Request> requests(static_cast<size_t>(program.size()));
  for (int peer = 0; peer < program.size(); ++peer)
    MPI_Isend(out.data(), static_cast<int>(size), MPI_BYTE, peer, 1, MPI_COMM_WORLD,
              &requests[static_cast<size_t>(peer)]);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int step = 0; step < program.size(); ++step) {
    const int peer = (program.rank() + step) % program.size();
    MPI_Status status;
    std::fill(in.begin(), in.end(), 0);
    MPI_Recv(in.data(), static_cast<int>(size) + 1, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &status);
    program.status(status, peer, 1, static_cast<int>(size), MPI_BYTE);
    program.holds(is_from(in, peer, size));
    program.equal(static_cast<int>(in[size]), 0);
  }
  MPI_Waitall(program.size(), requests.data(), MPI_STATUSES_IGNORE);
}

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  const size_t longest = argc > 1 ? strtoull(argv[1], nullptr, 10) : size_t{4} << 20;
  for (size_t size : sizes_up_to(longest)) {
    std::vector<unsigned char> out(size + 1), in(size + 1);
    to_everybody(program, out, in, size);
  }
  return program.finish();
}
