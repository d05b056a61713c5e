#include "memory/page_map.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "seed.h"

namespace spillway::memory {
namespace {

// The state of each page of a range, and whether the runs follow each other without holes.
std::vector<PageState> states_of(const unsigned char* memory, uint64_t pages) {
  std::vector<PageState> states;
  PageMap map(reinterpret_cast<uint64_t>(memory), pages * kPageBytes);
  for (PageRun run; map.next(run);) {
    EXPECT_EQ(run.begin, reinterpret_cast<uint64_t>(memory) + states.size() * kPageBytes);
    EXPECT_GT(run.bytes, 0u);
    states.insert(states.end(), run.bytes / kPageBytes, run.state);
  }
  EXPECT_EQ(states.size(), pages);
  return states;
}

class PageMapTest : public testing::Test {
 protected:
  unsigned char* map_anonymous(uint64_t pages) {
    void* memory = mmap(nullptr, pages * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, pages * kPageBytes, MADV_NOHUGEPAGE);
    return static_cast<unsigned char*>(memory);
  }

  unsigned char* map_file(uint64_t pages) {
    FILE* file = tmpfile();
    EXPECT_NE(file, nullptr);
    const std::vector<char> content(pages * kPageBytes, 1);
    EXPECT_EQ(fwrite(content.data(), 1, content.size(), file), content.size());
    EXPECT_EQ(fflush(file), 0);
    void* memory = mmap(nullptr, pages * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(file), 0);
    madvise(memory, pages * kPageBytes, MADV_RANDOM);  // no page but the one that is touched
    fclose(file);
    return static_cast<unsigned char*>(memory);
  }
};

TEST_F(PageMapTest, calls_untouched_memory_absent_and_written_memory_dirty) {
  unsigned char* memory = map_anonymous(16);
  memory[3 * kPageBytes] = 1;
  memory[4 * kPageBytes] = 1;
  std::vector<PageState> expected(16, PageState::absent);
  expected[3] = expected[4] = PageState::dirty;
  EXPECT_EQ(states_of(memory, 16), expected);
}

TEST_F(PageMapTest, tells_pages_of_a_file_that_were_read_from_those_that_were_written) {
  unsigned char* memory = map_file(64);
  EXPECT_EQ(memory[10 * kPageBytes], 1);
  memory[40 * kPageBytes] = 2;
  const std::vector<PageState> states = states_of(memory, 64);
  EXPECT_EQ(states[10], PageState::clean);
  EXPECT_EQ(states[40], PageState::dirty);
  EXPECT_EQ(std::count(states.begin(), states.end(), PageState::dirty), 1);
}

TEST_F(PageMapTest, calls_dropped_pages_absent_again) {
  unsigned char* memory = map_file(8);
  for (uint64_t page = 0; page < 8; ++page) memory[page * kPageBytes] = 2;
  EXPECT_EQ(states_of(memory, 8), std::vector<PageState>(8, PageState::dirty));
  madvise(memory, 8 * kPageBytes, MADV_DONTNEED);
  EXPECT_EQ(states_of(memory, 8), std::vector<PageState>(8, PageState::absent));
}

TEST_F(PageMapTest, shows_a_random_pattern_across_the_borders_of_its_window) {
  constexpr uint64_t kPages = 10000;  // more than two windows
  Random random(test_seed());
  unsigned char* memory = map_anonymous(kPages);
  std::vector<PageState> expected(kPages, PageState::absent);
  for (uint64_t page = 0; page < kPages; page += 1 + random.below(random.one_in(20) ? 500 : 5)) {
    memory[page * kPageBytes] = 1;
    expected[page] = PageState::dirty;
  }
  EXPECT_EQ(states_of(memory, kPages), expected);
}

TEST_F(PageMapTest, shows_a_forked_child_its_own_pages) {
  unsigned char* memory = map_anonymous(4);
  memory[0] = 1;
  EXPECT_EQ(states_of(memory, 4)[2], PageState::absent);  // the parent's descriptor is open now
  const pid_t pid = fork();
  if (pid == 0) {
    memory[2 * kPageBytes] = 1;
    _exit(states_of(memory, 4)[2] == PageState::dirty ? 0 : 1);
  }
  int status = 1;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(states_of(memory, 4)[2], PageState::absent);
}

}  // namespace
}  // namespace spillway::memory
