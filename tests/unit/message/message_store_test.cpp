#include "message/message_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <thread>

#include "message_fixture.h"
#include "seed.h"

namespace spillway::message {
namespace {

constexpr uint64_t kBudget = 64 * kMiB;
constexpr uint64_t kFloor = 4 * kMiB;

class MessageStoreTest : public testing::Test {
 protected:
  // What the payload holds, read by another rank than the one that put it there.
  std::vector<std::byte> read(const Payload& payload) {
    std::vector<std::byte> data(payload.bytes);
    receiver_.store.copy_out(payload, data.data(), data.size());
    return data;
  }

  // Takes all of the budget but the store's floor.
  void fill_node() { sender_.ledger.charge(kBudget - kFloor); }

  uint64_t memory_of_segment() {
    struct stat status {};
    fstat(segment_.descriptor(), &status);
    return static_cast<uint64_t>(status.st_blocks) * 512;
  }

  node::Segment segment_ = node::Segment::create(message_config(2, kBudget));
  int spill_ = spill_file();
  Rank sender_{segment_, 0, spill_};
  Rank receiver_{segment_, 1, spill_};
};

TEST_F(MessageStoreTest, keeps_payloads_of_any_size_in_memory) {
  for (uint64_t bytes : {uint64_t{1}, uint64_t{201}, uint64_t{8191}, uint64_t{8192}, uint64_t{8193}, 3 * kMiB + 5}) {
    const auto data = pattern(bytes, bytes);
    const Payload payload = sender_.store.put(data.data(), bytes);
    EXPECT_EQ(payload.place, Place::memory);
    EXPECT_EQ(read(payload), data);
    receiver_.store.release(payload);
  }
  EXPECT_EQ(sender_.self.record().statistics.spilled_bytes, 0u);
}

TEST_F(MessageStoreTest, does_not_deliver_what_storage_has_changed) {
  fill_node();
  const auto first = pattern(kFloor, 1), second = pattern(3 * kMiB + 77, 2);
  sender_.store.put(first.data(), first.size());
  const Payload payload = sender_.store.put(second.data(), second.size());
  ASSERT_EQ(payload.place, Place::storage);
  EXPECT_EQ(read(payload), second);
  const auto middle = static_cast<off_t>(payload.first_chunk * node::kSpillChunkBytes + second.size() / 2);
  ASSERT_EQ(pwrite(spill_, "other", 5, middle), 5);
  EXPECT_DEATH(read(payload), "read something else from the spill directory");
}

TEST_F(MessageStoreTest, spills_what_memory_has_no_room_for) {
  fill_node();
  const auto first = pattern(3 * kMiB + 77, 1);
  const auto second = pattern(3 * kMiB + 77, 2);
  const Payload in_memory = sender_.store.put(first.data(), first.size());
  const Payload on_storage = sender_.store.put(second.data(), second.size());
  EXPECT_EQ(in_memory.place, Place::memory);
  EXPECT_EQ(on_storage.place, Place::storage);
  EXPECT_EQ(sender_.self.record().statistics.spilled_bytes, second.size());
  EXPECT_EQ(read(on_storage), second);
  EXPECT_EQ(read(in_memory), first);
  receiver_.store.release(in_memory);
  receiver_.store.release(on_storage);
}

TEST_F(MessageStoreTest, spills_payloads_of_any_size_and_alignment) {
  fill_node();
  ASSERT_TRUE(sender_.ledger.charge_store(kFloor));
  const auto source = pattern(6 * kMiB, 3);
  for (uint64_t bytes : {uint64_t{201}, uint64_t{4096}, uint64_t{4097}, node::kSpillChunkBytes - 1,
                         node::kSpillChunkBytes, node::kSpillChunkBytes + 1, kMiB, kMiB + 1, 5 * kMiB + 333}) {
    const Payload payload = sender_.store.put(source.data() + 13, bytes);
    ASSERT_EQ(payload.place, Place::storage);
    EXPECT_EQ(read(payload),
              std::vector<std::byte>(source.begin() + 13, source.begin() + 13 + static_cast<std::ptrdiff_t>(bytes)));
    receiver_.store.release(payload);
  }
}

TEST_F(MessageStoreTest, takes_several_payloads_in_parts_by_turns) {
  for (const bool is_full : {false, true}) {
    if (is_full) {
      fill_node();
      sender_.store.trim();
      ASSERT_TRUE(sender_.ledger.charge_store(kFloor));
    }
    const std::vector<std::vector<std::byte>> data{pattern(kMiB, 1), pattern(3 * kMiB + 1, 2), pattern(5000, 3)};
    std::vector<MessageStore::Filling> fillings;
    for (const auto& each : data) {
      fillings.push_back(sender_.store.reserve(each.size()));
      EXPECT_EQ(fillings.back().payload.place, is_full ? Place::storage : Place::memory);
    }
    for (uint64_t done = 0; done < 4 * kMiB; done += node::kSpillChunkBytes)
      for (size_t i = 0; i < data.size(); ++i) {
        if (done >= data[i].size()) continue;
        const uint64_t part = std::min<uint64_t>(node::kSpillChunkBytes, data[i].size() - done);
        MemoryStream stream(data[i].data() + done);
        sender_.store.fill(fillings[i], stream, part);
        receiver_.store.spill(UINT64_MAX);  // leaves alone what is not finished
      }
    for (size_t i = 0; i < data.size(); ++i) {
      sender_.store.finish(fillings[i]);
      EXPECT_EQ(read(fillings[i].payload), data[i]);
      receiver_.store.release(fillings[i].payload);
    }
  }
}

TEST_F(MessageStoreTest, gives_the_beginning_to_a_receiver_with_a_short_buffer) {
  fill_node();
  for (int i = 0; i < 2; ++i) {  // in memory, then on storage
    const auto data = pattern(3 * kMiB, 4);
    const Payload payload = sender_.store.put(data.data(), data.size());
    std::vector<std::byte> out(2 * kMiB + 100, std::byte{0xee});
    receiver_.store.copy_out(payload, out.data(), 2 * kMiB);
    EXPECT_TRUE(std::equal(out.begin(), out.begin() + 2 * kMiB, data.begin()));
    EXPECT_EQ(out[2 * kMiB], std::byte{0xee}) << "written beyond the buffer";
  }
}

TEST_F(MessageStoreTest, gives_a_payload_in_pieces_wherever_it_moves_meanwhile) {
  Random random(test_seed());
  for (int round = 0; round < 20; ++round) {
    const auto data = pattern(2 * kMiB + random.below(kMiB), random.below(1000));
    const Payload payload = sender_.store.put(data.data(), data.size());
    sender_.store.put(data.data(), random.below(100000) + 1);  // so that chunks of the next do not follow on each other
    if (round % 4 == 0) receiver_.store.spill(UINT64_MAX);
    const uint64_t moves_at = round % 4 == 1 ? random.below(data.size()) : UINT64_MAX;
    const uint64_t longest = random.one_in(2) ? 20000 : 2 * kMiB;
    std::vector<std::byte> out(data.size());
    PayloadStream stream(receiver_.store, payload);
    for (uint64_t done = 0; done < data.size();) {
      const uint64_t part = std::min<uint64_t>(data.size() - done, 1 + random.below(longest));
      stream.read(out.data() + done, part);
      if (done <= moves_at && moves_at < done + part) sender_.store.spill(UINT64_MAX);
      done += part;
    }
    ASSERT_EQ(out, data);
    receiver_.store.release(payload);
  }
}

TEST_F(MessageStoreTest, keeps_one_copy_for_many_readers) {
  const auto data = pattern(kMiB, 5);
  const Payload payload = sender_.store.put(data.data(), data.size(), 3);
  for (int reader = 0; reader < 3; ++reader) {
    EXPECT_EQ(segment_.header().store_bytes, kMiB);
    EXPECT_EQ(read(payload), data);
    receiver_.store.release(payload);
  }
  EXPECT_EQ(receiver_.store.trim(), kMiB);
  EXPECT_EQ(segment_.header().store_bytes, 0u);
}

TEST_F(MessageStoreTest, uses_freed_memory_again_and_charges_it_once) {
  const auto data = pattern(2 * kMiB, 6);
  for (int round = 0; round < 10; ++round) receiver_.store.release(sender_.store.put(data.data(), data.size()));
  EXPECT_EQ(segment_.header().store_bytes, 2 * kMiB);
}

TEST_F(MessageStoreTest, gives_memory_of_free_chunks_back_to_the_system_when_trimmed) {
  const auto data = pattern(8 * kMiB, 7);
  const auto kept = pattern(kMiB, 8);
  const Payload first = sender_.store.put(data.data(), data.size());
  const Payload second = sender_.store.put(kept.data(), kept.size());
  const uint64_t before = memory_of_segment();
  receiver_.store.release(first);
  EXPECT_EQ(sender_.store.trim(), 8 * kMiB);
  EXPECT_LE(memory_of_segment() + 8 * kMiB, before + 65536);
  EXPECT_EQ(segment_.header().store_bytes, kMiB);
  EXPECT_EQ(read(second), kept);
  EXPECT_EQ(sender_.store.trim(), 0u);
}

TEST_F(MessageStoreTest, moves_payloads_of_any_size_to_storage_and_gives_their_memory_back) {
  std::vector<Payload> payloads;
  uint64_t seed = 0, chunks = 0;
  const std::vector<uint64_t> sizes{201, 8192, 8193, node::kSpillChunkBytes, node::kSpillChunkBytes + 1, 3 * kMiB + 5};
  const uint64_t before = memory_of_segment();
  for (uint64_t bytes : sizes) {
    payloads.push_back(sender_.store.put(pattern(bytes, ++seed).data(), bytes, 2));
    chunks += (bytes + 8191) / 8192;
  }
  EXPECT_EQ(receiver_.store.spill(UINT64_MAX), chunks * 8192);
  EXPECT_EQ(segment_.header().store_bytes, 0u);
  EXPECT_LE(memory_of_segment(), before + 65536) << "tables of the pools apart";
  EXPECT_EQ(receiver_.store.spill(UINT64_MAX), 0u);
  seed = 0;
  for (const Payload& payload : payloads) {
    EXPECT_EQ(read(payload), pattern(payload.bytes, ++seed));
    receiver_.store.release(payload);
    sender_.store.release(payload);
  }
  const auto data = pattern(5 * kMiB, 9);
  EXPECT_EQ(read(sender_.store.put(data.data(), data.size())), data) << "the chunks serve the next";
}

TEST_F(MessageStoreTest, moves_no_more_than_is_wanted) {
  for (uint64_t i = 0; i < 8; ++i) sender_.store.put(pattern(kMiB, i).data(), kMiB);
  EXPECT_EQ(sender_.store.spill(kMiB + 1), 2 * kMiB);
  EXPECT_EQ(segment_.header().store_bytes, 6 * kMiB);
  EXPECT_EQ(sender_.self.record().statistics.spilled_bytes, 2 * kMiB);
}

TEST_F(MessageStoreTest, moves_while_others_put_read_and_release) {
  constexpr int kMessages = 3000;
  std::mutex mutex;
  std::deque<std::pair<Payload, uint64_t>> waiting;
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  const auto mover_of = [&](Rank& rank) {
    while (!done) rank.store.spill(64 * 1024);
  };
  Rank third{segment_, 0, spill_};
  std::thread mover([&] { mover_of(third); });
  std::thread reader([&] {
    std::vector<std::byte> out(200000);
    for (int i = 0; i < 2 * kMessages;) {
      std::unique_lock lock(mutex);
      if (waiting.empty()) {
        lock.unlock();
        std::this_thread::yield();
        continue;
      }
      const auto [payload, seed] = waiting.front();
      waiting.pop_front();
      lock.unlock();
      receiver_.store.copy_out(payload, out.data(), payload.bytes);
      const auto expected = pattern(payload.bytes, seed);
      wrong += !std::equal(expected.begin(), expected.end(), out.begin());
      receiver_.store.release(payload);
      ++i;
    }
  });
  Random random(test_seed());
  for (uint64_t i = 0; i < kMessages; ++i) {
    const uint64_t bytes = 201 + random.below(i % 20 == 0 ? 190000 : 20000);
    const Payload payload = sender_.store.put(pattern(bytes, i).data(), bytes, 2);
    std::lock_guard lock(mutex);
    waiting.emplace_back(payload, i);
    waiting.emplace_back(payload, i);
  }
  reader.join();
  done = true;
  mover.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(third.self.record().statistics.spilled_bytes, 0u);
  sender_.store.trim();
  EXPECT_EQ(segment_.header().store_bytes, 0u);
}

TEST_F(MessageStoreTest, loses_no_charge_and_no_byte_in_random_use) {
  Random random(test_seed());
  struct Waiting {
    Payload payload;
    std::vector<std::byte> data;
    uint32_t readers;
  };
  std::deque<Waiting> waiting;
  uint64_t spilled = 0;
  bool moved = false;
  for (int step = 0; step < 1500; ++step) {
    Rank& rank = random.one_in(2) ? sender_ : receiver_;
    const uint64_t dice = random.below(100);
    if (dice < 45) {
      const uint64_t bytes = 201 + random.below(random.one_in(10) ? 12 * kMiB : 100000);
      const auto readers = static_cast<uint32_t>(1 + random.below(3));
      auto data = pattern(bytes, static_cast<uint64_t>(step));
      const Payload payload = rank.store.put(data.data(), bytes, readers);
      spilled += payload.place == Place::storage ? bytes : 0;
      waiting.push_back(Waiting{payload, std::move(data), readers});
    } else if (dice < 97 && !waiting.empty()) {
      Waiting& chosen = waiting[random.below(waiting.size())];
      std::vector<std::byte> out(chosen.data.size());
      rank.store.copy_out(chosen.payload, out.data(), out.size());
      ASSERT_EQ(out, chosen.data);
      rank.store.release(chosen.payload);
      if (--chosen.readers != 0) continue;
      std::swap(chosen, waiting.back());
      waiting.pop_back();
    } else if (dice == 97) {
      rank.store.spill(random.below(kMiB));
      moved = true;
    } else if (dice >= 98) {
      rank.store.trim();
    }
    ASSERT_LE(segment_.header().store_bytes, kBudget);
  }
  for (Waiting& rest : waiting)
    for (; rest.readers != 0; --rest.readers) sender_.store.release(rest.payload);
  sender_.store.trim();
  EXPECT_EQ(segment_.header().store_bytes, 0u);
  EXPECT_TRUE(moved);
  EXPECT_GE(sender_.self.record().statistics.spilled_bytes + receiver_.self.record().statistics.spilled_bytes, spilled);
}

}  // namespace
}  // namespace spillway::message
