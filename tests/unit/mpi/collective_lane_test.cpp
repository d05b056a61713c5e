#include "mpi/collective_lane.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace spillway::mpi {
namespace {

constexpr uint32_t kRequests = 1u << 19;
constexpr int kStarts = 1 << 10;

TEST(CollectiveLaneTest, tells_operations_and_their_steps_apart) {
  std::set<int32_t> tags;
  std::vector<CollectiveLane> lanes = {CollectiveLane::blocking(), CollectiveLane::nonblocking()};
  for (uint32_t request : {0u, 1u, 2u, kRequests / 2, kRequests - 1})
    lanes.push_back(CollectiveLane::persistent(request));
  for (CollectiveLane& lane : lanes)
    for (int operation = 0; operation < kStarts; ++operation) {
      const int32_t tag = lane.next_tag();
      EXPECT_TRUE(tags.insert(tag).second);
      EXPECT_TRUE(tags.insert(tag + 1).second);
    }
  EXPECT_GE(*tags.begin(), 0);  // -1 fits every tag
}

TEST(CollectiveLaneTest, begins_anew_within_its_own_tags) {
  CollectiveLane last = CollectiveLane::persistent(kRequests - 1), first = CollectiveLane::persistent(0);
  const int32_t begin = last.next_tag();
  for (int start = 1; start < kStarts; ++start) EXPECT_GT(last.next_tag(), begin);
  EXPECT_EQ(last.next_tag(), begin);
  EXPECT_EQ(CollectiveLane::persistent(kRequests).next_tag(), first.next_tag());
}

}  // namespace
}  // namespace spillway::mpi
