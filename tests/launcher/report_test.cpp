#include "launch/report.h"

#include <gtest/gtest.h>

namespace spillway::launch {
namespace {

TEST(LinkReport, has_what_is_known_of_the_link) {
  EXPECT_EQ(link_report(3, {1 << 20, 900, 31}), "link 3 bytes=1048576 busy_us=900 min_rtt_us=31\n");
}

TEST(LinkReport, says_so_when_no_round_trip_is_known) {
  EXPECT_EQ(link_report(0, {100, 0, 0}), "link 0 bytes=100 busy_us=0 min_rtt_us=0\n");
}

TEST(LinkReport, is_empty_when_nothing_was_sent) { EXPECT_EQ(link_report(1, {}), ""); }

}  // namespace
}  // namespace spillway::launch
