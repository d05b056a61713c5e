// What has come of a stream, in blocks of several senders: records in the order in which each sender has sent them, one
// window after the other. A window is over when every sender has said so, or has ended; what comes earlier of the next
// ones is kept until then.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "shuffle/block_sink.h"
#include "shuffle/run_cursor.h"

namespace spillway::shuffle {

class StreamQueue final : public BlockSink {
 public:
  explicit StreamQueue(int sender_count) : senders_(static_cast<size_t>(sender_count)) {}

  // Whoever sends waits for acknowledgements, so what is here is bounded.
  void charge(uint64_t /*bytes*/) override {}
  void deliver(int sender, uint32_t partition, Run run) override;
  void end_window(int sender) override;
  void end(int sender) override;

  // A record of the current window; false where none has come. It stays until the next call.
  bool next(Record& record);
  // The sender of a block of which all records have been given out, or of a window that it has ended and that has come;
  // -1: of none more.
  int take_finished_sender();

  bool is_window_over() const { return passed_count_ == senders_.size(); }
  // Whether another window follows: known when something of it has come, or everybody has ended.
  bool has_next_window() const;
  bool is_last_window() const;
  // REQUIRES: is_window_over() and has_next_window(). What is left of the window is dropped.
  void begin_next_window();
  // Drops all that has come.
  void drop();

 private:
  struct Block {
    int sender;
    Run run;
  };
  // nullopt: the end of a window.
  using Item = std::optional<Run>;
  struct Sender {
    bool has_passed = false;  // the current window
    bool has_ended = false;
    std::deque<Item> later;  // of the next windows
  };

  void finish_block();
  void drop_window();
  void pass(size_t sender);
  void end_window_of(size_t sender);

  std::vector<Sender> senders_;
  size_t passed_count_ = 0;
  std::deque<Block> blocks_;  // of the current window
  std::optional<Block> current_;
  std::optional<MemoryCursor> cursor_;
  std::deque<int> finished_;
};

}  // namespace spillway::shuffle
