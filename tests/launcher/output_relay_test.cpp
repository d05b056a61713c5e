#include "launch/output_relay.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <string>

namespace spillway::launch {
namespace {

class OutputRelayTest : public testing::Test {
 protected:
  OutputRelayTest() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    reader_ = base::Descriptor(ends[0]);
    destination_ = base::Descriptor(ends[1]);
  }

  std::string read_once() {
    char text[65536];
    const ssize_t bytes = read(reader_.number(), text, sizeof text);
    return std::string(text, bytes > 0 ? static_cast<size_t>(bytes) : 0);
  }

  base::Descriptor reader_;
  base::Descriptor destination_;
};

TEST_F(OutputRelayTest, says_something_at_once_though_nobody_reads) {
  const int capacity = fcntl(destination_.number(), F_GETPIPE_SZ);
  const std::string filling(static_cast<size_t>(capacity), 'x');
  ASSERT_EQ(write(destination_.number(), filling.data(), filling.size()), capacity);
  OutputRelay relay(destination_.number());
  const base::Descriptor launcher(fcntl(relay.writing_end().number(), F_DUPFD_CLOEXEC, 0));
  relay.start();
  for (int i = 0; i < 3; ++i) relay.say("a warning\n");
  std::string text;
  while (text.size() < filling.size() + 30) text += read_once();
  EXPECT_EQ(text, filling + "a warning\na warning\na warning\n");
  relay.stop_reading();
}

TEST_F(OutputRelayTest, says_what_came_after_the_launcher_had_closed_its_end) {
  OutputRelay relay(destination_.number());
  relay.start();  // nobody else has the end
  relay.say("late");
  relay.finish();
  EXPECT_EQ(read_once(), "late");
}

TEST_F(OutputRelayTest, ends_without_one_who_keeps_its_end_open) {
  OutputRelay relay(destination_.number());
  const base::Descriptor launcher(fcntl(relay.writing_end().number(), F_DUPFD_CLOEXEC, 0));
  relay.start();
  ASSERT_EQ(write(launcher.number(), "last words\n", 11), 11);
  relay.stop_reading();
  relay.finish();
  EXPECT_EQ(read_once(), "last words\n");
}

}  // namespace
}  // namespace spillway::launch
