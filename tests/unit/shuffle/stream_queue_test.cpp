#include "shuffle/stream_queue.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "shuffle/run_writer.h"

namespace spillway::shuffle {
namespace {

Run run_of(std::initializer_list<const char*> keys) {
  MemoryRunWriter writer(1000);
  for (const char* key : keys) writer.add({key, "value"});
  return writer.finish();
}

class StreamQueueTest : public testing::Test {
 protected:
  // All that can be given out now.
  std::string taken() {
    std::string keys;
    for (Record record; queue_.next(record);) keys.append(record.key).append(" ");
    return keys;
  }
  std::vector<int> finished() {
    std::vector<int> senders;
    for (int sender = 0; (sender = queue_.take_finished_sender()) >= 0;) senders.push_back(sender);
    return senders;
  }

  StreamQueue queue_{2};
};

TEST_F(StreamQueueTest, gives_records_as_they_come) {
  queue_.deliver(1, 0, run_of({"b", "a"}));
  queue_.deliver(0, 0, run_of({"c"}));
  EXPECT_EQ(taken(), "b a c ");
  EXPECT_EQ(finished(), (std::vector<int>{1, 0}));
  EXPECT_FALSE(queue_.is_window_over());
}

TEST_F(StreamQueueTest, window_ends_when_all_senders_have_ended_it) {
  queue_.deliver(0, 0, run_of({"a"}));
  queue_.end_window(0);
  queue_.deliver(0, 0, run_of({"next"}));
  EXPECT_EQ(taken(), "a ");
  EXPECT_FALSE(queue_.is_window_over());
  queue_.deliver(1, 0, run_of({"b"}));
  queue_.end_window(1);
  EXPECT_EQ(taken(), "b ");
  EXPECT_TRUE(queue_.is_window_over());
  ASSERT_TRUE(queue_.has_next_window());
  queue_.begin_next_window();
  EXPECT_FALSE(queue_.is_window_over());
  EXPECT_EQ(taken(), "next ");
}

TEST_F(StreamQueueTest, sender_may_be_windows_ahead) {
  for (const char* key : {"0", "1", "2"}) {
    queue_.deliver(0, 0, run_of({key}));
    queue_.end_window(0);
  }
  queue_.end(0);
  queue_.end(1);
  for (const char* expected : {"0 ", "1 ", "2 "}) {
    EXPECT_EQ(taken(), expected);
    EXPECT_TRUE(queue_.is_window_over());
    if (queue_.has_next_window()) queue_.begin_next_window();
  }
  EXPECT_TRUE(queue_.is_last_window());
}

TEST_F(StreamQueueTest, it_is_not_known_whether_a_window_follows_until_something_of_it_comes) {
  queue_.end_window(0);
  queue_.end_window(1);
  EXPECT_TRUE(queue_.is_window_over());
  EXPECT_FALSE(queue_.has_next_window());
  EXPECT_FALSE(queue_.is_last_window());
  queue_.end(0);
  EXPECT_FALSE(queue_.is_last_window());
  queue_.end(1);
  EXPECT_TRUE(queue_.is_last_window());
}

TEST_F(StreamQueueTest, blocks_and_ends_of_windows_are_done_with_when_they_are_dropped) {
  queue_.deliver(0, 0, run_of({"a", "b"}));
  queue_.deliver(1, 0, run_of({"c"}));
  queue_.end_window(1);
  queue_.deliver(1, 0, run_of({"later"}));
  Record record;
  ASSERT_TRUE(queue_.next(record));
  queue_.drop();
  EXPECT_EQ(finished(), (std::vector<int>{1, 0, 1, 1}));
  EXPECT_EQ(taken(), "");
}

}  // namespace
}  // namespace spillway::shuffle
