#include "message/matching.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <list>
#include <utility>

#include "seed.h"

namespace spillway::message {
namespace {

std::unique_ptr<Envelope> envelope(int32_t source, int32_t tag, uint64_t number = 0, uint64_t context = 1) {
  auto made = std::make_unique<Envelope>();
  made->source = source;
  made->tag = tag;
  made->context = context;
  made->bytes = number;
  return made;
}

PostedReceive receive(int32_t source, int32_t tag, uint64_t context = 1) {
  PostedReceive made;
  made.context = context;
  made.source = source;
  made.tag = tag;
  return made;
}

TEST(MatchingTest, gives_a_message_to_the_oldest_receive_that_it_fits) {
  MatchingEngine engine;
  PostedReceive other_tag = receive(1, 5), any = receive(kAnySource, kAnyTag), exact = receive(1, 6);
  for (PostedReceive* posted : {&other_tag, &any, &exact}) engine.post(posted);
  EXPECT_EQ(engine.arrive(envelope(1, 6)), &any);
  EXPECT_EQ(engine.arrive(envelope(1, 6)), &exact);
  EXPECT_EQ(engine.arrive(envelope(1, 6)), nullptr);
  EXPECT_EQ(other_tag.matched, nullptr);
  EXPECT_EQ(engine.unexpected_count(), 1u);
}

TEST(MatchingTest, gives_a_receive_the_oldest_message_that_fits_it) {
  MatchingEngine engine;
  engine.arrive(envelope(1, 5, 100));
  engine.arrive(envelope(2, 6, 101));
  engine.arrive(envelope(1, 6, 102));
  PostedReceive wanted = receive(kAnySource, 6);
  engine.post(&wanted);
  ASSERT_NE(wanted.matched, nullptr);
  EXPECT_EQ(wanted.matched->bytes, 101u);
}

TEST(MatchingTest, forgets_a_context_unless_something_waits_in_it) {
  MatchingEngine engine;
  PostedReceive waiting = receive(1, 5, 7), done = receive(1, 5, 8);
  engine.post(&waiting);
  engine.post(&done);
  engine.arrive(envelope(1, 5, 0, 8));
  engine.arrive(envelope(1, 5, 100, 9));
  EXPECT_EQ(engine.context_count(), 3u);
  for (uint64_t context : {6, 7, 8, 9}) engine.forget(context);
  EXPECT_EQ(engine.context_count(), 2u);
  EXPECT_EQ(engine.arrive(envelope(1, 5, 0, 7)), &waiting);
  EXPECT_NE(engine.probe(9, 1, 5), nullptr);
}

TEST(MatchingTest, keeps_contexts_apart) {
  MatchingEngine engine;
  engine.arrive(envelope(1, 5, 0, 7));
  PostedReceive wanted = receive(kAnySource, kAnyTag, 8);
  engine.post(&wanted);
  EXPECT_EQ(wanted.matched, nullptr);
  EXPECT_EQ(engine.probe(8, kAnySource, kAnyTag), nullptr);
  EXPECT_EQ(engine.probe(9, kAnySource, kAnyTag), nullptr);
  EXPECT_NE(engine.probe(7, kAnySource, kAnyTag), nullptr);
}

TEST(MatchingTest, shows_a_message_to_a_probe_and_leaves_it) {
  MatchingEngine engine;
  engine.arrive(envelope(3, 4, 55));
  EXPECT_EQ(engine.probe(1, 3, 5), nullptr);
  EXPECT_EQ(engine.probe(1, 3, 4)->bytes, 55u);
  EXPECT_EQ(engine.probe(1, kAnySource, kAnyTag)->bytes, 55u);
  EXPECT_EQ(engine.extract(1, 3, kAnyTag)->bytes, 55u);
  EXPECT_EQ(engine.extract(1, 3, kAnyTag), nullptr);
}

TEST(MatchingTest, takes_a_message_back_only_until_it_is_matched) {
  MatchingEngine engine;
  for (uint32_t token : {7, 8, 9}) {
    std::unique_ptr<Envelope> sent = envelope(1, 5, token);
    sent->sender = 3;
    sent->token = token;
    engine.arrive(std::move(sent));
  }
  PostedReceive first = receive(1, 5), second = receive(1, 5);
  engine.post(&first);
  EXPECT_EQ(first.matched->token, 7u);
  EXPECT_EQ(engine.take_back(3, 7), nullptr);
  EXPECT_EQ(engine.take_back(2, 8), nullptr) << "another sender's";
  EXPECT_EQ(engine.take_back(3, 8)->bytes, 8u);
  EXPECT_EQ(engine.take_back(3, 8), nullptr);
  engine.post(&second);
  EXPECT_EQ(second.matched->token, 9u);
  EXPECT_EQ(engine.unexpected_count(), 0u);
}

TEST(MatchingTest, withdraws_a_receive_only_until_it_is_matched) {
  MatchingEngine engine;
  PostedReceive first = receive(1, 1), second = receive(1, 1);
  engine.post(&first);
  engine.post(&second);
  EXPECT_TRUE(engine.withdraw(&first));
  EXPECT_FALSE(engine.withdraw(&first));
  EXPECT_EQ(engine.arrive(envelope(1, 1)), &second);
  EXPECT_FALSE(engine.withdraw(&second));
}

TEST(MatchingTest, takes_what_an_owner_that_is_gone_has_waited_for) {
  MatchingEngine engine;
  PostedReceive later = receive(1, 1);
  {
    PostedReceive gone = receive(1, 1), beside = receive(1, 2);
    engine.post(&gone);
    engine.post(&beside);
    engine.disown(&gone);
    EXPECT_TRUE(engine.withdraw(&beside));
    EXPECT_EQ(engine.unwanted_count(gone.context), 1u);
  }
  engine.post(&later);
  engine.forget(later.context);
  PostedReceive* unwanted = engine.arrive(envelope(1, 1, 7));
  ASSERT_TRUE(engine.is_unwanted(unwanted)) << "it has been posted before the other one";
  EXPECT_EQ(std::exchange(unwanted->matched, nullptr)->bytes, 7u);
  EXPECT_EQ(engine.unwanted_count(later.context), 0u);
  EXPECT_EQ(engine.context_count(), 1u) << "a receive waits in it";
  EXPECT_EQ(engine.arrive(envelope(1, 1, 8)), &later);
  EXPECT_FALSE(engine.is_unwanted(&later));
  EXPECT_EQ(engine.context_count(), 0u) << "it was to be forgotten";
}

// The oracle: two lists of everything, searched from the beginning.
class NaiveMatching {
 public:
  struct Message {
    int32_t source, tag;
    uint64_t context, number;
  };
  struct Wanted {
    int32_t source, tag;
    uint64_t context;
    size_t id;
  };

  static bool fits(const Wanted& wanted, const Message& message) {
    return wanted.context == message.context && (wanted.source == -1 || wanted.source == message.source) &&
           (wanted.tag == -1 || wanted.tag == message.tag);
  }

  // The receive that takes the message, or -1.
  std::ptrdiff_t arrive(const Message& message) {
    const auto found = std::find_if(posted.begin(), posted.end(), [&](const Wanted& w) { return fits(w, message); });
    if (found == posted.end()) {
      unexpected.push_back(message);
      return -1;
    }
    const auto id = static_cast<std::ptrdiff_t>(found->id);
    posted.erase(found);
    return id;
  }

  // The number of the message that the receive takes, or -1.
  std::ptrdiff_t post(const Wanted& wanted, bool removes = true, bool keeps = true) {
    const auto found =
        std::find_if(unexpected.begin(), unexpected.end(), [&](const Message& m) { return fits(wanted, m); });
    if (found == unexpected.end()) {
      if (keeps) posted.push_back(wanted);
      return -1;
    }
    const auto number = static_cast<std::ptrdiff_t>(found->number);
    if (removes) unexpected.erase(found);
    return number;
  }

  std::list<Wanted> posted;
  std::list<Message> unexpected;
};

std::ptrdiff_t number_of(const Envelope* found) {
  return found == nullptr ? -1 : static_cast<std::ptrdiff_t>(found->bytes);
}

TEST(MatchingTest, matches_as_the_simplest_model_does_in_any_order_of_events) {
  Random random(test_seed());
  MatchingEngine engine;
  NaiveMatching model;
  std::deque<PostedReceive> receives;
  const auto some = [&](int32_t bound) { return static_cast<int32_t>(random.below(static_cast<uint64_t>(bound))); };
  const auto some_or_any = [&](int32_t bound) { return random.one_in(3) ? -1 : some(bound); };
  for (uint64_t step = 0; step < 30000; ++step) {
    const uint64_t context = random.below(3);
    const uint64_t dice = random.below(100);
    if (dice < 45) {
      const NaiveMatching::Message message{some(4), some(4), context, step};
      const PostedReceive* taken = engine.arrive(envelope(message.source, message.tag, step, context));
      const std::ptrdiff_t expected = model.arrive(message);
      ASSERT_EQ(taken, expected < 0 ? nullptr : &receives[static_cast<size_t>(expected)]) << "step " << step;
      ASSERT_TRUE(taken == nullptr || taken->matched->bytes == step);
      continue;
    }
    const NaiveMatching::Wanted wanted{some_or_any(4), some_or_any(4), context, receives.size()};
    if (dice < 85) {
      PostedReceive& posted = receives.emplace_back(receive(wanted.source, wanted.tag, context));
      engine.post(&posted);
      ASSERT_EQ(number_of(posted.matched.get()), model.post(wanted)) << "step " << step;
    } else if (dice < 90) {
      ASSERT_EQ(number_of(engine.probe(context, wanted.source, wanted.tag)), model.post(wanted, false, false));
    } else if (dice < 95) {
      ASSERT_EQ(number_of(engine.extract(context, wanted.source, wanted.tag).get()), model.post(wanted, true, false));
    } else if (!receives.empty()) {
      const size_t id = random.below(receives.size());
      const size_t withdrawn = model.posted.remove_if([&](const NaiveMatching::Wanted& w) { return w.id == id; });
      ASSERT_EQ(engine.withdraw(&receives[id]), withdrawn == 1);
    }
    ASSERT_EQ(engine.unexpected_count(), model.unexpected.size());
  }
}

}  // namespace
}  // namespace spillway::message
