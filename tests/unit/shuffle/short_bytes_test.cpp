#include "shuffle/short_bytes.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <set>
#include <string>

#include "shuffle/key_hash.h"

namespace spillway::shuffle {
namespace {

constexpr size_t kPageBytes = 4096;

// A page, and behind it one that must not be read.
class PageBeforeHole {
 public:
  PageBeforeHole()
      : memory_(static_cast<char*>(
            mmap(nullptr, 2 * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    EXPECT_EQ(mprotect(memory_ + kPageBytes, kPageBytes, PROT_NONE), 0);
    std::memset(memory_, '#', kPageBytes);
  }
  ~PageBeforeHole() { munmap(memory_, 2 * kPageBytes); }
  PageBeforeHole(const PageBeforeHole&) = delete;
  PageBeforeHole& operator=(const PageBeforeHole&) = delete;

  char* end() const { return memory_ + kPageBytes; }

 private:
  char* memory_;
};

TEST(ShortBytes, are_the_bytes_and_zeros_wherever_they_lie) {
  const PageBeforeHole page;
  const std::string text = "abcdefghijklmnop";
  for (size_t bytes = 0; bytes <= ShortBytes::kMost; ++bytes)
    for (size_t before_end = bytes; before_end < bytes + 40; ++before_end) {
      char* at = page.end() - before_end;
      std::memcpy(at, text.data(), bytes);
      const ShortBytes loaded = load_short(at, bytes);
      std::string expected = text.substr(0, bytes);
      expected.resize(ShortBytes::kMost, '\0');
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(&loaded), sizeof loaded), expected);
      std::memset(at, '#', bytes);
    }
}

TEST(ShortBytes, differ_in_each_byte) {
  std::string text(ShortBytes::kMost, 'a');
  const ShortBytes same = load_short(text.data(), text.size());
  for (char& letter : text) {
    letter = 'b';
    EXPECT_FALSE(load_short(text.data(), text.size()) == same);
    letter = 'a';
  }
  EXPECT_TRUE(load_short(text.data(), text.size()) == same);
}

TEST(KeyHash, depends_on_the_bytes_and_their_number_alone) {
  const PageBeforeHole page;
  std::set<uint64_t> hashes;
  for (size_t bytes = 0; bytes <= 40; ++bytes) {
    const std::string key(bytes, '\0');
    const std::string with_more = key + "more";
    std::memset(page.end() - bytes, 0, bytes);
    const uint64_t hash = key_hash(key);
    EXPECT_EQ(key_hash({with_more.data(), bytes}), hash);
    EXPECT_EQ(key_hash({page.end() - bytes, bytes}), hash);
    hashes.insert(hash);
  }
  EXPECT_EQ(hashes.size(), 41u);
}

// Partitions come from the upper half of a hash, the table's places from the lower one.
TEST(KeyHash, spreads_numbers_evenly) {
  constexpr int kKeys = 64000;
  constexpr int kParts = 64;
  int upper[kParts] = {};
  int lower[kParts] = {};
  for (int i = 0; i < kKeys; ++i) {
    const uint64_t hash = key_hash(std::to_string(i));
    ++upper[hash >> 58];
    ++lower[hash % kParts];
  }
  for (int part = 0; part < kParts; ++part) {
    EXPECT_NEAR(upper[part], kKeys / kParts, 200);  // six standard deviations
    EXPECT_NEAR(lower[part], kKeys / kParts, 200);
  }
}

}  // namespace
}  // namespace spillway::shuffle
