#include "storage/page_checksums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "storage/page_hash.h"

namespace spillway::storage {
namespace {

constexpr uint64_t kPage = PageChecksums::kPageBytes;

class PageChecksumsTest : public testing::Test {
 protected:
  PageChecksumsTest() {
    checksums_.initialise(table_.data());
    for (uint64_t i = 0; i < contents_.size(); ++i) contents_[i] = static_cast<char>(i * 7 + i / kPage);
  }
  void write(uint64_t offset, uint64_t bytes) {
    for (uint64_t at = offset; at < offset + bytes; at += kPage) checksums_.replace(at, contents_.data() + at);
  }
  bool is_damaged(uint64_t offset, uint64_t bytes) {
    return checksums_.damaged_page(offset, contents_.data() + offset, bytes) != PageChecksums::kNowhere;
  }

  std::vector<uint64_t> table_ = std::vector<uint64_t>(8);
  std::vector<char> contents_ = std::vector<char>(8 * kPage);
  PageChecksums checksums_;
};

TEST_F(PageChecksumsTest, a_change_of_any_bit_is_found) {
  write(0, 8 * kPage);
  EXPECT_FALSE(is_damaged(0, 8 * kPage));
  for (const uint64_t at : {uint64_t{0}, kPage - 1, 3 * kPage + 77, 8 * kPage - 1}) {
    contents_[at] ^= 0x10;
    EXPECT_TRUE(is_damaged(0, 8 * kPage));
    EXPECT_EQ(checksums_.damaged_page(0, contents_.data(), 8 * kPage), at / kPage * kPage);
    contents_[at] ^= 0x10;
  }
  EXPECT_FALSE(is_damaged(0, 8 * kPage));
}

TEST_F(PageChecksumsTest, pages_that_have_changed_places_are_found) {
  write(0, 2 * kPage);
  std::swap_ranges(contents_.begin(), contents_.begin() + kPage, contents_.begin() + kPage);
  EXPECT_TRUE(is_damaged(0, kPage));
  EXPECT_TRUE(is_damaged(kPage, kPage));
}

TEST_F(PageChecksumsTest, of_what_is_not_known_nothing_is_said) {
  EXPECT_FALSE(is_damaged(0, 8 * kPage));
  write(0, 8 * kPage);
  memset(contents_.data() + 2 * kPage, 1, 2 * kPage);
  checksums_.forget(2 * kPage, kPage);
  EXPECT_FALSE(is_damaged(2 * kPage, kPage));
  EXPECT_TRUE(is_damaged(3 * kPage, kPage));
}

TEST_F(PageChecksumsTest, zeros_are_known_by_their_checksum) {
  checksums_.replace_by_zeros(kPage, 2 * kPage);
  EXPECT_TRUE(is_damaged(kPage, kPage));
  memset(contents_.data(), 0, contents_.size());
  EXPECT_FALSE(is_damaged(0, 8 * kPage));
  EXPECT_FALSE(checksums_.replace(kPage, contents_.data()));
}

TEST_F(PageChecksumsTest, a_page_that_is_written_again_unchanged_is_told) {
  EXPECT_TRUE(checksums_.replace(kPage, contents_.data()));
  EXPECT_FALSE(checksums_.replace(kPage, contents_.data()));
  contents_[5] ^= 1;
  EXPECT_TRUE(checksums_.replace(kPage, contents_.data()));
}

TEST_F(PageChecksumsTest, without_a_table_all_is_new_and_nothing_is_damaged) {
  PageChecksums none;
  EXPECT_FALSE(none.are_kept());
  EXPECT_TRUE(none.replace(0, contents_.data()));
  EXPECT_TRUE(none.replace(0, contents_.data()));
  none.replace_by_zeros(0, kPage);
  none.forget(0, kPage);
  EXPECT_EQ(none.damaged_page(0, contents_.data(), kPage), PageChecksums::kNowhere);
}

TEST_F(PageChecksumsTest, all_processors_agree) {
  for (uint64_t at = 0; at < contents_.size(); at += kPage)
    EXPECT_EQ(fastest_page_hash()(contents_.data() + at), page_hash_of_any_processor(contents_.data() + at));
}

}  // namespace
}  // namespace spillway::storage
