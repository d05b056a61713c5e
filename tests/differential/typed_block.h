// Random derived datatypes, and buffers for items of them.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

#include "random.h"

// A datatype of `elements` elements of one basic type, in a random arrangement. Equal `elements` of equal basic types
// match each other, however they are arranged.
class RandomType {
 public:
  RandomType(Random& random, MPI_Datatype basic, int elements);
  // The basic type itself, or a type that the caller keeps.
  explicit RandomType(MPI_Datatype given);
  static RandomType contiguous(MPI_Datatype basic, int elements);
  RandomType(RandomType&& other) noexcept;
  RandomType(const RandomType&) = delete;
  RandomType& operator=(const RandomType&) = delete;
  RandomType& operator=(RandomType&&) = delete;
  ~RandomType() { release(); }

  // Frees the handle, which MPI allows while operations on it are under way.
  void release();

  MPI_Datatype handle() const { return handle_; }
  MPI_Aint extent() const { return extent_; }
  bool has_gaps() const;

 private:
  friend class Block;

  RandomType() = default;
  void make_contiguous(MPI_Datatype basic, int elements);
  void measure();

  MPI_Datatype handle_ = MPI_DATATYPE_NULL;
  bool is_owned_ = false;
  MPI_Aint extent_ = 0;
  MPI_Aint true_lower_bound_ = 0;
  MPI_Aint true_extent_ = 0;
};

// Memory for `count` items, with some bytes around them. All of it is filled with a pattern and all of it counts in the
// digest: what MPI writes where it must not is found as well as what it does not write.
class Block {
 public:
  Block(const RandomType& type, int64_t count, uint64_t key);

  void* data() const { return bytes_.get() + origin_; }
  void fill(uint64_t key);
  // Small whole numbers, in which every sum and product of doubles is exact.
  void fill_with_small_doubles(uint64_t key);
  // As it was filled the last time.
  void refill(uint64_t key) { has_small_doubles_ ? fill_with_small_doubles(key) : fill(key); }
  uint64_t digest() const;

 private:
  struct Free {
    void operator()(char* bytes) const { free(bytes); }
  };

  std::unique_ptr<char, Free> bytes_;
  size_t size_ = 0;
  size_t origin_ = 0;
  bool has_small_doubles_ = false;
};

// The memory of one side of an operation. It lives until the operation is complete.
struct Items {
  Items(RandomType&& its_type, int64_t items, uint64_t key)
      : type(std::move(its_type)), count(static_cast<int>(items)), block(type, items, key) {}

  RandomType type;
  int count;
  Block block;
};

uint64_t digest_of(const char* bytes, size_t size);
void fill_bytes(char* bytes, size_t size, uint64_t key);
