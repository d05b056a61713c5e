// Files that a restart may need: what is in them, whatever the sizes of writes, and what is said when a write fails.
#include "compression/kept_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <spillway/mpid_files.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <spillway/job_files.hpp>
#include <stdexcept>
#include <string>

#include "base/descriptor.h"
#include "storage/scratch_directory.h"

namespace spillway::compression {
namespace {

constexpr size_t kMiB = 1 << 20;

std::string some_bytes(size_t count) {
  std::string bytes(count, '\0');
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(i * 7 + i / 4096);
  return bytes;
}

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string message_of(const std::function<void()>& what) {
  try {
    what();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

class KeptOutputs : public testing::Test {
 protected:
  ~KeptOutputs() override {
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) std::filesystem::remove(entry);
  }

  static base::Descriptor opened(const std::string& path) {
    return base::Descriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  }
  storage::ScratchDirectory directory_;
  const std::string path_ = directory_.path() + std::string("/kept");
};

TEST_F(KeptOutputs, have_what_was_written) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{4095}, size_t{4096}, size_t{4097}, kMiB - 1, kMiB, kMiB + 1,
                            3 * kMiB, 7 * kMiB + 12345})
    for (const size_t piece : {size_t{100}, size_t{65536}, 2 * kMiB + 1}) {
      const std::string bytes = some_bytes(size);
      std::filesystem::remove(path_);
      const base::Descriptor file = opened(path_);
      KeptOutput output(path_, file.number());
      for (size_t at = 0; at < size; at += piece) output.write(std::string_view(bytes).substr(at, piece));
      output.finish();
      EXPECT_TRUE(contents_of(path_) == bytes) << size << " by " << piece;
    }
}

TEST_F(KeptOutputs, say_that_the_disk_is_full_and_write_no_more) {
  const base::Descriptor file = opened("/dev/full");
  KeptOutput output("some/part", file.number());
  const std::string cause = "cannot write some/part: No space left on device";
  EXPECT_EQ(message_of([&] {
              for (int i = 0; i < 8; ++i) output.write(some_bytes(kMiB));
            }),
            cause);
  EXPECT_EQ(message_of([&] { output.finish(); }), cause);
}

TEST_F(KeptOutputs, name_the_file_where_no_thread_can_be_made) {
  pthread_attr_t usual, too_large;
  pthread_getattr_default_np(&usual);
  pthread_attr_init(&too_large);
  pthread_attr_setstacksize(&too_large, size_t{1} << 47);
  pthread_setattr_default_np(&too_large);
  const base::Descriptor file = opened(path_);
  EXPECT_EQ(MPI_D_Keep_open("some/part", file.number()), nullptr);
  pthread_setattr_default_np(&usual);
  EXPECT_EQ(std::string(MPI_D_File_error()),
            "cannot write some/part: no thread can be made for it: Resource temporarily unavailable");
}

TEST_F(KeptOutputs, are_what_programs_write_with_checkpoints) {
  setenv("MPI_D_CHECKPOINT", "somewhere", 1);
  const std::string bytes = some_bytes(3 * kMiB + 1);
  {
    mpid::OutputFile output(path_);
    output << bytes;
    output.finish();
  }
  EXPECT_TRUE(contents_of(path_) == bytes);
  std::filesystem::create_symlink("/dev/full", path_ + "-2.partial");
  const std::string full = path_ + "-2";
  EXPECT_EQ(message_of([&] {
              mpid::OutputFile output(full);
              output << bytes;
              output.finish();
            }),
            "cannot write " + full + ": No space left on device");
  unsetenv("MPI_D_CHECKPOINT");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_.path()), {}), 1);
}

TEST_F(KeptOutputs, pass_the_file_cache_by_where_the_file_system_has_that) {
  const base::Descriptor file = opened(path_);
  if (fcntl(file.number(), F_SETFL, O_DIRECT) != 0) GTEST_SKIP() << "this file system has no direct writes";
  KeptOutput output(path_, file.number());
  EXPECT_NE(fcntl(file.number(), F_GETFL) & O_DIRECT, 0);
  output.write(some_bytes(2 * kMiB));
  output.finish();
  EXPECT_NE(fcntl(file.number(), F_GETFL) & O_DIRECT, 0);
  EXPECT_EQ(contents_of(path_).size(), 2 * kMiB);
}

}  // namespace
}  // namespace spillway::compression
