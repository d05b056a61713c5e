#include "launch/patience.h"

#include <gtest/gtest.h>

namespace spillway::launch {
namespace {

constexpr uint64_t kSecond = 1000000000;
constexpr uint64_t kBegin = 77 * kSecond;

TEST(Patience, counts_the_time_between_looks) {
  Patience patience(kSecond, kBegin);
  for (int look = 1; look <= 30; ++look) patience.look(kBegin + look * kSecond);
  EXPECT_EQ(patience.waited_ns(), 30 * kSecond);
}

TEST(Patience, counts_a_machine_that_stood_still_as_two_intervals) {
  Patience patience(kSecond, kBegin);
  patience.look(kBegin + kSecond);
  patience.look(kBegin + 100 * kSecond);
  EXPECT_EQ(patience.waited_ns(), 3 * kSecond);
}

TEST(Patience, counts_nothing_while_the_job_is_stopped) {
  Patience patience(kSecond, kBegin);
  patience.look(kBegin + kSecond);
  patience.pause();
  for (int look = 2; look <= 50; ++look) patience.look(kBegin + look * kSecond);
  patience.go_on(kBegin + 50 * kSecond);
  patience.look(kBegin + 51 * kSecond);
  EXPECT_EQ(patience.waited_ns(), 2 * kSecond);
}

TEST(Patience, starts_anew_with_whatever_comes) {
  Patience patience(kSecond, kBegin);
  patience.look(kBegin + 2 * kSecond);
  patience.start_anew(kBegin + 3 * kSecond);
  EXPECT_EQ(patience.waited_ns(), 0u);
  patience.look(kBegin + 4 * kSecond);
  EXPECT_EQ(patience.waited_ns(), kSecond);
}

}  // namespace
}  // namespace spillway::launch
