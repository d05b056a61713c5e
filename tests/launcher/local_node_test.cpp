#include "launch/local_node.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>
#include <vector>

namespace spillway::launch {
namespace {

class RecordedEvents final : public JobEvents {
 public:
  void parent_came(int /*rank*/, int /*pid*/) override {}
  void program_started(int /*rank*/, int /*pid*/) override {}
  void program_never_started(int /*rank*/) override {}
  void program_ended(int /*rank*/, int /*wait_status*/) override {}
  void parent_lost(int /*rank*/) override {}
  void library_came(int /*rank*/) override {}
  void library_lost(int /*rank*/) override {}
  void rank_finalized(int /*rank*/) override {}
  void rank_left_finalize(int /*rank*/) override {}
  void rank_gave_up(int /*rank*/, const std::string& /*text*/, int /*wait_status*/) override {}
  void node_gave_up(const std::string& /*host*/, const std::string& why) override { reasons.push_back(why); }
  void warn(const std::string& /*text*/) override {}

  std::vector<std::string> reasons;
};

// So many more than there are. Restores what was before.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(int more) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const base::Descriptor next(dup(STDERR_FILENO));
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(next.number() + more);
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~DescriptorLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

NodeOptions options_of(uint32_t ranks) {
  NodeOptions options;
  options.rank_count = ranks;
  options.slot_count = 1;
  options.budget_bytes = 1 << 20;
  options.spill_directories = "/var/tmp";
  return options;
}

TEST(LocalNode, says_once_that_it_lacks_descriptors_and_does_not_spin) {
  const NodeOptions options = options_of(2);
  EventLoop loop;
  RecordedEvents events;
  LocalNode node(loop, options);
  node.report_to(events);
  const std::string name = random_socket_name();
  ASSERT_TRUE(node.listen(name));
  const base::Descriptor rank = connect_to(name), other = connect_to(name);
  ASSERT_TRUE(rank && other);
  {
    const DescriptorLimit limit(1);
    for (int i = 0; i < 10; ++i) loop.wait(0);
    EXPECT_FALSE(loop.wait(0));
  }
  ASSERT_EQ(events.reasons.size(), 1u);
  EXPECT_NE(events.reasons[0].find("`ulimit -n`"), std::string::npos) << events.reasons[0];
}

TEST(LocalNode, does_not_begin_with_less_descriptors_than_its_ranks_need) {
  const NodeOptions options = options_of(2);
  EventLoop loop;
  LocalNode node(loop, options);
  const DescriptorLimit limit(10);
  EXPECT_DEATH(node.set_up(0, 1, {{0, 0}, {0, 1}}), "needs 68 descriptors for 2 ranks(.|\n)*`ulimit -n`");
}

}  // namespace
}  // namespace spillway::launch
