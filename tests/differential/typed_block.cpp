#include "typed_block.h"

#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr size_t kMargin = 16;

// Pieces of random length, with random gaps, in which `elements` elements lie.
struct Pieces {
  Pieces(Random& random, int elements) {
    const int most = random.between(1, 6);
    int position = random.below(3);
    while (elements > 0) {
      const bool is_last = static_cast<int>(lengths.size()) + 1 >= most;
      const int length = is_last ? elements : random.between(1, elements);
      lengths.push_back(length);
      positions.push_back(position);
      position += length + random.below(4);
      elements -= length;
    }
  }

  int number() const { return static_cast<int>(lengths.size()); }

  std::vector<int> lengths;
  std::vector<int> positions;
};

MPI_Datatype strided(Random& random, MPI_Datatype basic, int elements, int direction) {
  MPI_Datatype made;
  std::vector<int> divisors{1};
  for (int length : {2, 3, 4, 8, 64}) {
    if (elements % length == 0) divisors.push_back(length);
  }
  const int length = random.among(divisors);
  MPI_Type_vector(elements / length, length, direction * (length + random.below(3)), basic, &made);
  return made;
}

MPI_Datatype part_of_array(Random& random, MPI_Datatype basic, int elements) {
  MPI_Datatype made;
  const int rows = elements % 3 == 0 ? 3 : elements % 2 == 0 ? 2 : 1;
  const int starts[] = {random.below(2), random.below(3)};
  const int part[] = {rows, elements / rows};
  const int whole[] = {part[0] + starts[0] + random.below(2), part[1] + starts[1] + random.below(3)};
  MPI_Type_create_subarray(2, whole, part, starts, random.chance(50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, basic, &made);
  return made;
}

MPI_Datatype structure(const Pieces& pieces, MPI_Datatype basic) {
  int size = 0;
  MPI_Type_size(basic, &size);
  MPI_Datatype made;
  std::vector<MPI_Aint> offsets;
  for (int position : pieces.positions) offsets.push_back(static_cast<MPI_Aint>(position) * size);
  const std::vector<MPI_Datatype> types(pieces.lengths.size(), basic);
  MPI_Type_create_struct(pieces.number(), pieces.lengths.data(), offsets.data(), types.data(), &made);
  return made;
}

MPI_Datatype widened(Random& random, MPI_Datatype basic, int elements) {
  MPI_Datatype inner;
  MPI_Datatype made;
  MPI_Aint lower_bound, extent;
  MPI_Type_contiguous(elements, basic, &inner);
  MPI_Type_get_extent(inner, &lower_bound, &extent);
  MPI_Type_create_resized(inner, 0, extent * random.between(1, 2), &made);
  MPI_Type_free(&inner);
  return made;
}

MPI_Datatype arranged(Random& random, MPI_Datatype basic, int elements) {
  MPI_Datatype made;
  switch (random.below(8)) {
    case 0:
      MPI_Type_contiguous(elements, basic, &made);
      return made;
    case 1:
      return strided(random, basic, elements, 1);
    case 2:
      return strided(random, basic, elements, -1);
    case 3:
    case 4: {
      const Pieces pieces(random, elements);
      MPI_Type_indexed(pieces.number(), pieces.lengths.data(), pieces.positions.data(), basic, &made);
      return made;
    }
    case 5:
      return structure(Pieces(random, elements), basic);
    case 6:
      return part_of_array(random, basic, elements);
    default:
      return widened(random, basic, elements);
  }
}

}  // namespace

RandomType::RandomType(Random& random, MPI_Datatype basic, int elements) : handle_(basic) {
  if (elements > 1 || random.chance(30)) {
    handle_ = arranged(random, basic, elements);
    is_owned_ = true;
    MPI_Type_commit(&handle_);
  }
  measure();
  int size = 0;
  MPI_Type_size(handle_, &size);
  // What a rank has for itself, Open MPI 4.1 copies wrongly if each item is one long piece with a gap behind it.
  if (size > 65536 && true_extent_ == size && extent_ != size) {
    release();
    make_contiguous(basic, elements);
  }
}

RandomType::RandomType(MPI_Datatype given) : handle_(given) { measure(); }

RandomType RandomType::contiguous(MPI_Datatype basic, int elements) {
  RandomType made;
  made.make_contiguous(basic, elements);
  return made;
}

void RandomType::make_contiguous(MPI_Datatype basic, int elements) {
  MPI_Type_contiguous(elements, basic, &handle_);
  is_owned_ = true;
  MPI_Type_commit(&handle_);
  measure();
}

RandomType::RandomType(RandomType&& other) noexcept
    : handle_(other.handle_),
      is_owned_(std::exchange(other.is_owned_, false)),
      extent_(other.extent_),
      true_lower_bound_(other.true_lower_bound_),
      true_extent_(other.true_extent_) {}

void RandomType::measure() {
  MPI_Aint lower_bound;
  MPI_Type_get_extent(handle_, &lower_bound, &extent_);
  MPI_Type_get_true_extent(handle_, &true_lower_bound_, &true_extent_);
}

bool RandomType::has_gaps() const {
  int size = 0;
  MPI_Type_size(handle_, &size);
  return extent_ != size || true_extent_ != size || true_lower_bound_ != 0;
}

void RandomType::release() {
  if (std::exchange(is_owned_, false)) MPI_Type_free(&handle_);
}

Block::Block(const RandomType& type, int64_t count, uint64_t key) {
  const MPI_Aint before = type.true_lower_bound_ < 0 ? -type.true_lower_bound_ : 0;
  const MPI_Aint after = type.true_lower_bound_ + type.true_extent_ + (count > 0 ? (count - 1) * type.extent_ : 0);
  origin_ = (static_cast<size_t>(before) + 7) / 8 * 8 + kMargin;
  size_ = origin_ + static_cast<size_t>(after > 0 ? after : 0) + kMargin;
  bytes_.reset(static_cast<char*>(malloc(size_)));
  fill(key);
}

void Block::fill(uint64_t key) {
  has_small_doubles_ = false;
  fill_bytes(bytes_.get(), size_, key);
}

void Block::fill_with_small_doubles(uint64_t key) {
  has_small_doubles_ = true;
  Random random{key};
  for (size_t at = 0; at + sizeof(double) <= size_; at += sizeof(double)) {
    const double value = random.between(1, 5);
    memcpy(bytes_.get() + at, &value, sizeof value);
  }
}

uint64_t Block::digest() const { return digest_of(bytes_.get(), size_); }

uint64_t digest_of(const char* bytes, size_t size) {
  uint64_t digest = size;
  for (; size >= sizeof digest; bytes += sizeof digest, size -= sizeof digest) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    digest = (digest ^ word) * 0xbf58476d1ce4e5b9u;
    digest ^= digest >> 29;
  }
  for (; size > 0; ++bytes, --size) digest = mixed(digest ^ static_cast<unsigned char>(*bytes));
  return mixed(digest);
}

void fill_bytes(char* bytes, size_t size, uint64_t key) {
  Random random{key};
  for (; size >= sizeof(uint64_t); bytes += sizeof(uint64_t), size -= sizeof(uint64_t)) {
    const uint64_t word = random.next();
    memcpy(bytes, &word, sizeof word);
  }
  const uint64_t word = random.next();
  memcpy(bytes, &word, size);
}
