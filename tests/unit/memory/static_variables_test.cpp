#include "memory/static_variables.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "arena_fixture.h"
#include "storage/scratch_directory.h"

// Global, so that the compiler must keep them; named so that no other test's are taken for them.
unsigned char static_variables_test_zeroed[3 * 1024 * 1024 + 17];
unsigned char static_variables_test_initialised[1024 * 1024] = {1, 2, 3};
unsigned char static_variables_test_small[1000];
extern "C" unsigned char _PyRuntime[1024 * 1024];
unsigned char _PyRuntime[1024 * 1024];
extern const unsigned char static_variables_test_constant[1024 * 1024];
const unsigned char static_variables_test_constant[1024 * 1024] = {1};
struct StaticVariablesTestPointers {
  const char* first;
  const char* others[100000];
};
extern const StaticVariablesTestPointers static_variables_test_relocated;  // read-only after relocation
const StaticVariablesTestPointers static_variables_test_relocated = {"first", {"second"}};
thread_local unsigned char static_variables_test_of_thread[1024 * 1024];

namespace spillway::memory {
namespace {

using Found = std::map<const void*, StaticVariable>;

struct Search {
  const char* file;
  uint64_t minimum_bytes;
  Found found;
};

int search_program(dl_phdr_info* object, size_t, void* context) {
  auto& search = *static_cast<Search*>(context);
  find_static_variables(
      *object, search.file, search.minimum_bytes,
      [](const StaticVariable& variable, void* found) {
        static_cast<Found*>(found)->emplace(variable.address, variable);
      },
      &search.found);
  return 1;  // the program is the first one
}

Found variables_of(const char* file, uint64_t minimum_bytes) {
  // Used, or the compiler could leave them out.
  static_variables_test_of_thread[5] = static_variables_test_small[7] + static_variables_test_constant[9] +
                                       static_cast<unsigned char>(strlen(static_variables_test_relocated.first));
  Search search{file, minimum_bytes, {}};
  dl_iterate_phdr(search_program, &search);
  return search.found;
}

TEST(StaticVariablesTest, finds_large_ones_and_what_they_began_with) {
  const Found found = variables_of("/proc/self/exe", 256 * kKiB);
  const auto zeroed = found.find(static_variables_test_zeroed);
  ASSERT_NE(zeroed, found.end());
  EXPECT_EQ(zeroed->second.bytes, sizeof static_variables_test_zeroed);
  EXPECT_EQ(zeroed->second.beginning, Beginning::zeros);
  const auto initialised = found.find(static_variables_test_initialised);
  ASSERT_NE(initialised, found.end());
  EXPECT_EQ(initialised->second.bytes, sizeof static_variables_test_initialised);
  EXPECT_EQ(initialised->second.beginning, Beginning::program_file);
}

TEST(StaticVariablesTest, leaves_out_what_is_small_or_constant_or_of_one_thread) {
  const Found found = variables_of("/proc/self/exe", 256 * kKiB);
  for (const auto& [address, variable] : found) {
    EXPECT_GE(variable.bytes, 256 * kKiB);
    EXPECT_NE(address, static_variables_test_constant);
    EXPECT_NE(address, &static_variables_test_relocated);
    EXPECT_NE(address, static_variables_test_of_thread);
    EXPECT_NE(address, _PyRuntime) << "Python's threads change it while a rank waits";
  }
  EXPECT_FALSE(variables_of("/proc/self/exe", 2 * kMiB).contains(static_variables_test_initialised));
  EXPECT_TRUE(variables_of("/proc/self/exe", 100 * kMiB).empty());
}

TEST(StaticVariablesTest, finds_none_in_a_file_that_is_not_the_one_that_was_loaded) {
  EXPECT_TRUE(variables_of("/bin/sh", 256 * kKiB).empty());
  EXPECT_TRUE(variables_of("/proc/self/status", 256 * kKiB).empty());
  EXPECT_TRUE(variables_of("/nonexistent", 256 * kKiB).empty());
}

TEST(StaticVariablesTest, are_unloaded_and_come_back) {
  const storage::ScratchDirectory directory(std::filesystem::temp_directory_path());
  static Arena arena(kAddressBytes);  // for good: it maps the variables
  arena.attach(MemoryAccount{}, base::SpillDirectories(strdup(directory.path())));
  const Found found = variables_of("/proc/self/exe", 256 * kKiB);
  for (const unsigned char* address : {static_variables_test_zeroed, static_variables_test_initialised}) {
    const StaticVariable& variable = found.at(address);
    EXPECT_GT(arena.adopt(variable.address, variable.bytes, variable.beginning).managed_bytes, 0u);
  }
  arena.mark_all_charged();
  EXPECT_EQ(arena.unload(kEverything).released_bytes, arena.managed_bytes());
  EXPECT_EQ(static_variables_test_initialised[2], 3);
  fill(static_variables_test_zeroed, sizeof static_variables_test_zeroed, 1);
  fill(static_variables_test_initialised, sizeof static_variables_test_initialised, 2);
  arena.mark_all_charged();
  EXPECT_GE(arena.unload(kEverything).written_bytes, arena.managed_bytes() - 2 * kPageBytes);
  EXPECT_TRUE(is_filled(static_variables_test_zeroed, sizeof static_variables_test_zeroed, 1));
  EXPECT_TRUE(is_filled(static_variables_test_initialised, sizeof static_variables_test_initialised, 2));
}

}  // namespace
}  // namespace spillway::memory
