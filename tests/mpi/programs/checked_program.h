// What the programs of this folder share: each checks what MPI gives it against what it works out itself, and says what
// was wrong.
//
// With the argument `strict` a program also does what one of the MPI libraries at hand does wrong (the comments say
// what), but Spillway does right. Without it, it can be compared with the MPI library alone.
//
// The output does not depend on the schedule, so it must be the same under Spillway as under the MPI library alone.
// Rank 0 counts its checks in it: a program that left something out would not be equal to itself.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <iostream>
#include <source_location>
#include <string>
#include <vector>

// Open MPI 5.0 says that it is of version 3.1.
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
#define SPILLWAY_TEST_HAS_MPI_4
#endif

// Initialises MPI, and finalises it in finish(). One per program.
class CheckedProgram {
 public:
  CheckedProgram(int* argc, char*** argv) {
    MPI_Init(argc, argv);
    learn(*argc, *argv);
  }

  // For programs that have called MPI_Init_thread.
  CheckedProgram() { learn(0, nullptr); }
  CheckedProgram(int argc, char** argv) { learn(argc, argv); }

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_strict() const { return is_strict_; }
  int right() const { return (rank_ + 1) % size_; }
  int left() const { return (rank_ + size_ - 1) % size_; }

  template <typename Got, typename Wanted>
  void equal(const Got& got, const Wanted& wanted, std::source_location where = std::source_location::current()) {
    ++checks_;
    if (got == static_cast<Got>(wanted)) return;
    if (++failures_ > kMostMessages) return;
    std::cerr << "rank " << rank_ << ": " << file_name(where) << ":" << where.line() << " (" << where.function_name()
              << "): " << got << " is not " << static_cast<Got>(wanted) << std::endl;
  }

  void holds(bool condition, std::source_location where = std::source_location::current()) {
    equal(condition, true, where);
  }

  // The class of an error that was returned.
  void error_class(int code, int wanted, std::source_location where = std::source_location::current()) {
    int got = MPI_SUCCESS;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &got);
    equal(got, wanted, where);
  }

  void status(const MPI_Status& got, int source, int tag, int count, MPI_Datatype type,
              std::source_location where = std::source_location::current()) {
    int got_count = 0;
    MPI_Get_count(&got, type, &got_count);
    equal(got.MPI_SOURCE, source, where);
    equal(got.MPI_TAG, tag, where);
    equal(got_count, count, where);
  }

  // Prints the summary; the result is the exit status.
  int finish() {
    if (rank_ == 0) {
      printf("%ld checks on rank 0 of %d\n", checks_, size_);
      fflush(stdout);
    }
    MPI_Finalize();
    return failures_ == 0 ? 0 : 1;
  }

 private:
  static constexpr long kMostMessages = 10;

  static std::string file_name(const std::source_location& where) {
    const std::string path = where.file_name();
    return path.substr(path.rfind('/') + 1);
  }

  void learn(int argc, char** argv) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    is_strict_ = argc > 1 && std::string(argv[1]) == "strict";
  }

  bool is_strict_ = false;
  int rank_ = 0;
  int size_ = 0;
  long checks_ = 0;
  long failures_ = 0;
};

// Data that tells where it comes from: element `index` of message `tag` from rank `source`.
inline int pattern(int source, int tag, size_t index) {
  const uint64_t mixed = (static_cast<uint64_t>(source) * 1000003 + static_cast<uint64_t>(tag)) * 0x9e3779b97f4a7c15u +
                         index * 2654435761u;
  return static_cast<int>(mixed >> 17 & 0x7fffffff);
}

inline std::vector<int> patterned(int source, int tag, size_t count) {
  std::vector<int> data(count);
  for (size_t i = 0; i < count; ++i) data[i] = pattern(source, tag, i);
  return data;
}
