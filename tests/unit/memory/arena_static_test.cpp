// Static variables as regions of the arena. Anonymous memory stands for those that begin with zeros, a private mapping
// of a file for those that the program's file has contents for: that is how they come into memory.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "arena_fixture.h"

namespace spillway::memory {
namespace {

constexpr uint64_t kPage = kPageBytes;
constexpr uint64_t kPiece = 4 * kMiB;

class ArenaStaticTest : public ArenaTest {
 protected:
  static unsigned char* map(uint64_t bytes, int descriptor = -1) {
    void* memory = mmap(nullptr, bytes + kPiece, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | (descriptor < 0 ? MAP_ANONYMOUS : 0), descriptor, 0);
    EXPECT_NE(memory, MAP_FAILED);
    return static_cast<unsigned char*>(memory);
  }

  // From a multiple of the size of a piece on.
  static unsigned char* zeroed(uint64_t bytes) {
    const auto address = reinterpret_cast<uint64_t>(map(bytes));
    return reinterpret_cast<unsigned char*>((address + kPiece - 1) / kPiece * kPiece);
  }

  unsigned char* with_contents(uint64_t bytes, uint64_t seed) {
    const std::string path = std::string(directory_.path()) + "/program";
    const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    std::vector<unsigned char> contents(bytes);
    fill(contents.data(), bytes, seed);
    EXPECT_EQ(write(descriptor, contents.data(), bytes), static_cast<ssize_t>(bytes));
    unlink(path.c_str());
    unsigned char* memory = map(bytes, descriptor);
    close(descriptor);
    return memory;
  }

  StaticCharge adopt(const void* address, uint64_t bytes, Beginning beginning = Beginning::zeros) {
    const StaticCharge charge = arena_.adopt(address, bytes, beginning);
    Account::managed += charge.managed_bytes;
    Account::resident += charge.resident_bytes;
    return charge;
  }
};

TEST_F(ArenaStaticTest, takes_whole_pages_and_leaves_the_others_alone) {
  unsigned char* memory = zeroed(kMiB);
  fill(memory, kMiB, 1);
  EXPECT_EQ(adopt(memory + 5, kMiB - 10).managed_bytes, kMiB - 2 * kPage);
  EXPECT_EQ(unload().written_bytes, kMiB - 2 * kPage);
  EXPECT_EQ(bytes_in_state(memory, kPage, PageState::dirty), kPage);
  EXPECT_EQ(bytes_in_state(memory + kMiB - kPage, kPage, PageState::dirty), kPage);
  EXPECT_EQ(bytes_in_state(memory, kMiB, PageState::absent), kMiB - 2 * kPage);
  EXPECT_TRUE(is_filled(memory, kMiB, 1));
}

TEST_F(ArenaStaticTest, adopts_nothing_that_has_no_whole_page_or_was_adopted_before) {
  unsigned char* memory = zeroed(kMiB);
  EXPECT_EQ(adopt(memory + 1, 2 * kPage - 2).managed_bytes, 0u);
  EXPECT_EQ(adopt(memory, kMiB).managed_bytes, kMiB);
  EXPECT_EQ(adopt(memory, kMiB).managed_bytes, 0u);
  EXPECT_EQ(adopt(memory + kMiB - kPage, kMiB).managed_bytes, 0u);
  EXPECT_EQ(arena_.managed_bytes(), kMiB);
}

TEST_F(ArenaStaticTest, is_never_taken_for_an_allocation) {
  unsigned char* memory = zeroed(kMiB);
  adopt(memory, kMiB);
  EXPECT_FALSE(arena_.contains(memory));
  unsigned char* allocated = allocate(kMiB);
  fill(allocated, kMiB, 1);
  fill(memory, kMiB, 2);
  unload_and_charge_again();
  arena_.free(allocated);
  EXPECT_TRUE(is_filled(memory, kMiB, 2));
}

TEST_F(ArenaStaticTest, reads_back_what_was_written_in_many_rounds) {
  unsigned char* memory = zeroed(3 * kPiece);
  const uint64_t bytes = 2 * kPiece + 5 * kPage;
  EXPECT_EQ(adopt(memory + 3 * kPage, bytes).managed_bytes, bytes);
  charge_all();
  for (uint64_t round = 1; round < 5; ++round) {
    fill(memory + 3 * kPage, bytes, round);
    unsigned char* allocated = allocate(kMiB);
    fill(allocated, kMiB, round + 10);
    EXPECT_EQ(unload_and_charge_again().written_bytes, bytes + kMiB);
    EXPECT_EQ(bytes_in_state(memory, 3 * kPiece, PageState::absent), 3 * kPiece);
    EXPECT_TRUE(is_filled(memory + 3 * kPage, bytes, round));
    EXPECT_TRUE(is_filled(allocated, kMiB, round + 10));
    arena_.free(allocated);
  }
}

TEST_F(ArenaStaticTest, never_writes_clean_memory_twice) {
  unsigned char* memory = zeroed(kPiece);
  adopt(memory, kPiece);
  charge_all();
  fill(memory, kPiece, 1);
  EXPECT_EQ(unload_and_charge_again().written_bytes, kPiece);
  EXPECT_TRUE(is_filled(memory, kPiece, 1));
  const UnloadResult result = unload_and_charge_again();
  EXPECT_EQ(result.written_bytes, 0u);
  EXPECT_EQ(result.loaded_bytes, kPiece);
}

TEST_F(ArenaStaticTest, charges_as_resident_what_was_touched_before) {
  unsigned char* memory = zeroed(3 * kPiece);
  memory[kPiece + 100] = 1;
  const StaticCharge charge = adopt(memory, 3 * kPiece);
  EXPECT_EQ(charge.managed_bytes, 3 * kPiece);
  EXPECT_EQ(charge.resident_bytes, kPiece);
  EXPECT_EQ(unload().released_bytes, kPiece);
  EXPECT_EQ(Account::resident, 0u);
  charge_all();
  EXPECT_EQ(unload().released_bytes, 3 * kPiece);
}

TEST_F(ArenaStaticTest, gives_up_first_what_nobody_has_touched_and_writes_nothing_for_it) {
  unsigned char* memory = zeroed(3 * kPiece);
  adopt(memory, 3 * kPiece);
  charge_all();
  fill(memory, kPiece, 1);
  UnloadResult result = unload(2 * kPiece);
  EXPECT_EQ(result.released_bytes, 2 * kPiece);
  EXPECT_EQ(result.written_bytes, 0u);
  result = unload();
  EXPECT_EQ(result.released_bytes, kPiece);
  EXPECT_EQ(result.written_bytes, kPiece);
  EXPECT_TRUE(is_filled(memory, kPiece, 1));
  EXPECT_TRUE(is_zero(memory + kPiece, 2 * kPiece));
}

TEST_F(ArenaStaticTest, counts_what_nobody_has_touched_only_from_when_it_is_touched) {
  unsigned char* memory = zeroed(4 * kPiece);
  adopt(memory, 4 * kPiece);
  charge_all();
  memory[0] = 1;
  EXPECT_EQ(arena_.uncount_untouched(kPiece + 1), 2 * kPiece);
  EXPECT_EQ(arena_.managed_bytes(), 2 * kPiece);
  EXPECT_EQ(arena_.uncount_untouched(kEverything), kPiece) << "one piece was touched";
  EXPECT_EQ(Account::managed, kPiece);
  EXPECT_EQ(Account::resident, kPiece);
  EXPECT_EQ(arena_.count_touched(), 0u);
  fill(memory + 2 * kPiece, kPiece, 3);
  EXPECT_EQ(unload().released_bytes, kPiece) << "the other one has not been counted yet";
  EXPECT_EQ(arena_.count_touched(), kPiece);
  EXPECT_EQ(arena_.managed_bytes(), 2 * kPiece);
  EXPECT_EQ(unload().released_bytes, kPiece);
  EXPECT_TRUE(is_filled(memory + 2 * kPiece, kPiece, 3));
}

TEST_F(ArenaStaticTest, tells_how_much_of_a_mapping_is_its_own_and_in_memory) {
  unsigned char* memory = zeroed(2 * kPiece);
  const auto begin = reinterpret_cast<uint64_t>(memory);
  fill(memory, 2 * kPiece, 1);
  EXPECT_EQ(arena_.resident_static_bytes(begin, begin + 2 * kPiece), 0u);
  adopt(memory + kPage, kPiece);
  EXPECT_EQ(arena_.resident_static_bytes(begin, begin + 2 * kPiece), kPiece);
  EXPECT_EQ(arena_.resident_static_bytes(begin, begin + 3 * kPage), 2 * kPage);
  EXPECT_EQ(arena_.resident_static_bytes(begin + kPiece + kPage, begin + 2 * kPiece), 0u);
  unload();
  EXPECT_EQ(arena_.resident_static_bytes(begin, begin + 2 * kPiece), 0u);
}

TEST_F(ArenaStaticTest, keeps_the_contents_of_the_programs_file) {
  unsigned char* memory = with_contents(2 * kPiece, 5);
  adopt(memory, 2 * kPiece, Beginning::program_file);
  EXPECT_EQ(unload_and_charge_again().written_bytes, 0u) << "they are in that file";
  EXPECT_TRUE(is_filled(memory, 2 * kPiece, 5));
  EXPECT_EQ(unload_and_charge_again().written_bytes, 0u) << "they were only read";
  memory[3 * kPage + 1] ^= 0xff;
  memory[2 * kPiece - 1] ^= 0xff;
  EXPECT_GE(unload_and_charge_again().written_bytes, kPiece);
  EXPECT_EQ(bytes_in_state(memory, 2 * kPiece, PageState::absent), 2 * kPiece);
  memory[3 * kPage + 1] ^= 0xff;
  EXPECT_EQ(unload_and_charge_again().written_bytes, kPage);
  memory[2 * kPiece - 1] ^= 0xff;
  EXPECT_TRUE(is_filled(memory, 2 * kPiece, 5));
}

TEST_F(ArenaStaticTest, loads_unloads_and_discards_ranges_of_what_it_has) {
  unsigned char* memory = zeroed(3 * kPiece);
  unsigned char* variable = memory + 10;
  const uint64_t bytes = 2 * kPiece + kMiB, whole = bytes - kPage;  // the first page is shared with others
  fill(variable, bytes, 1);
  adopt(variable, bytes);
  UnloadResult result;
  EXPECT_EQ(arena_.unload_range(variable, bytes, result), RangeResult::done);
  EXPECT_EQ(result.written_bytes, whole);
  EXPECT_EQ(bytes_in_state(memory + kPage, whole, PageState::absent), whole);
  EXPECT_EQ(arena_.load_range(variable, bytes), RangeResult::done);
  EXPECT_EQ(bytes_in_state(memory + kPage, whole, PageState::clean), whole);
  EXPECT_TRUE(is_filled(variable, bytes, 1));
  fill(variable, bytes, 2);
  result = UnloadResult{};
  EXPECT_EQ(arena_.unload_range(memory + kPiece - kPage, 2 * kPage, result), RangeResult::done);
  EXPECT_EQ(result.written_bytes, 2 * kPage) << "one of each piece";
  EXPECT_EQ(arena_.discard_range(memory + kPiece, kPiece), RangeResult::done);
  EXPECT_TRUE(is_filled(variable, kPiece - 10, 2));
  EXPECT_EQ(arena_.load_range(memory, kPage), RangeResult::not_managed);
  EXPECT_EQ(arena_.load_range(memory, ~size_t{0}), RangeResult::not_managed);
}

}  // namespace
}  // namespace spillway::memory
