// Large allocations that live across steps: made, grown, written in part, looked at and freed, by each rank on its own.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "program.h"
#include "typed_block.h"

namespace {

size_t held_bytes(const std::vector<Piece>& pieces) {
  size_t sum = 0;
  for (const Piece& piece : pieces) sum += piece.size;
  return sum;
}

size_t some_size(Program& program, Random& own) {
  static const std::vector<size_t> sizes = {100000,  262143,  262144,  262145,  266240, 400000,
                                            1 << 20, 1234567, 2 << 20, 3000001, 6 << 20};
  return std::min(own.among(sizes), program.memory_bytes() / 2);
}

// Fresh memory is filled, except that of calloc, which must be zero.
Piece made(Program& program, Random& own, size_t size) {
  void* bytes = nullptr;
  const int way = own.below(4);
  if (way == 0) {
    bytes = calloc(1, size);
    program.add(digest_of(static_cast<char*>(bytes), size));
  } else if (way == 1) {
    const size_t alignments[] = {64, 4096, 65536};
    if (posix_memalign(&bytes, alignments[own.below(3)], size) != 0) abort();
  } else {
    bytes = malloc(size);
  }
  if (way != 0 || own.chance(50)) fill_bytes(static_cast<char*>(bytes), size, own.next());
  return {static_cast<char*>(bytes), size};
}

void resize(Random& own, Piece& piece, size_t size) {
  const size_t kept = std::min(size, piece.size);
  piece.bytes = static_cast<char*>(realloc(piece.bytes, size));
  piece.size = size;
  fill_bytes(piece.bytes + kept, size - kept, own.next());
}

void write_part(Random& own, Piece& piece) {
  for (int times = own.between(1, 5); times > 0; --times) {
    const size_t begin = own.next() % piece.size;
    const size_t length = std::min(piece.size - begin, static_cast<size_t>(own.between(1, 20000)));
    fill_bytes(piece.bytes + begin, length, own.next());
  }
}

void look_at_and_free(Program& program, size_t index) {
  std::vector<Piece>& pieces = program.pieces();
  program.add(digest_of(pieces[index].bytes, pieces[index].size));
  free(pieces[index].bytes);
  pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(index));
}

}  // namespace

void change_memory(Program& program, Random& random) {
  program.announce("memory is allocated, written, read and freed");
  Random own = program.own_random(random);
  std::vector<Piece>& pieces = program.pieces();
  for (int times = own.between(1, 4); times > 0; --times) {
    const size_t index = pieces.empty() ? 0 : own.next() % pieces.size();
    const int action = pieces.empty() ? 0 : own.below(8);
    const size_t size = some_size(program, own);
    if (action < 3) {
      pieces.push_back(made(program, own, size));
    } else if (action == 3) {
      resize(own, pieces[index], size);
    } else if (action == 4) {
      write_part(own, pieces[index]);
    } else if (action == 5) {
      program.add(digest_of(pieces[index].bytes, pieces[index].size));
    } else {
      look_at_and_free(program, index);
    }
    while (held_bytes(pieces) > program.memory_bytes()) look_at_and_free(program, 0);
    program.delay();
  }
}

void free_all_memory(Program& program) {
  while (!program.pieces().empty()) look_at_and_free(program, 0);
}
