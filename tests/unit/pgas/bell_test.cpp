#include "pgas/bell.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace spillway::pgas {
namespace {

constexpr uint64_t kMinuteNs = 60'000'000'000;

TEST(Bell, wakes_who_sleeps_until_a_change) {
  Bell bell{};
  std::atomic<int> value{0};
  const auto begin = std::chrono::steady_clock::now();
  std::thread writer([&] {
    for (int next = 1; next <= 2000; ++next) {
      while (value.load() != -next + 1) std::this_thread::yield();  // the last one has been seen
      value.store(next);
      bell.ring();
    }
  });
  for (int wanted = 1; wanted <= 2000; ++wanted) {
    while (value.load() != wanted) bell.sleep([&] { return value.load() == wanted; }, kMinuteNs);
    value.store(-wanted);
  }
  writer.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(50));  // no sleep to its end
}

TEST(Bell, does_not_sleep_where_the_change_has_come) {
  Bell bell{};
  const auto begin = std::chrono::steady_clock::now();
  bell.sleep([] { return true; }, kMinuteNs);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(Bell, sleeps_no_longer_than_it_is_told) {
  Bell bell{};
  bell.sleep([] { return false; }, 1'000'000);
  EXPECT_EQ(bell.is_awaited.load(), 0u);
}

}  // namespace
}  // namespace spillway::pgas
