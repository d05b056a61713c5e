#include "shuffle/stream_queue.h"

#include <algorithm>
#include <utility>

namespace spillway::shuffle {

void StreamQueue::deliver(int sender, uint32_t /*partition*/, Run run) {
  Sender& from = senders_[static_cast<size_t>(sender)];
  if (from.has_passed) {
    from.later.emplace_back(std::move(run));
  } else {
    blocks_.push_back({sender, std::move(run)});
  }
}

void StreamQueue::pass(size_t sender) {
  senders_[sender].has_passed = true;
  ++passed_count_;
}

void StreamQueue::end_window_of(size_t sender) {
  pass(sender);
  finished_.push_back(static_cast<int>(sender));
}

void StreamQueue::end_window(int sender) {
  Sender& from = senders_[static_cast<size_t>(sender)];
  if (from.has_passed) {
    from.later.emplace_back(std::nullopt);
  } else {
    end_window_of(static_cast<size_t>(sender));
  }
}

void StreamQueue::end(int sender) {
  Sender& from = senders_[static_cast<size_t>(sender)];
  from.has_ended = true;
  if (!from.has_passed) pass(static_cast<size_t>(sender));
}

void StreamQueue::finish_block() {
  finished_.push_back(current_->sender);
  cursor_.reset();
  current_.reset();
}

bool StreamQueue::next(Record& record) {
  for (;;) {
    if (cursor_ && cursor_->next(record)) return true;
    if (current_) finish_block();
    if (blocks_.empty()) return false;
    current_ = std::move(blocks_.front());
    blocks_.pop_front();
    cursor_.emplace(current_->run);
  }
}

int StreamQueue::take_finished_sender() {
  if (finished_.empty()) return -1;
  const int sender = finished_.front();
  finished_.pop_front();
  return sender;
}

bool StreamQueue::has_next_window() const {
  return std::ranges::any_of(senders_, [](const Sender& each) { return !each.later.empty(); });
}

bool StreamQueue::is_last_window() const {
  return std::ranges::all_of(senders_, [](const Sender& each) { return each.has_ended && each.later.empty(); });
}

void StreamQueue::drop_window() {
  if (current_) finish_block();
  for (const Block& block : blocks_) finished_.push_back(block.sender);
  blocks_.clear();
}

void StreamQueue::drop() {
  drop_window();
  for (size_t i = 0; i < senders_.size(); ++i) {
    finished_.insert(finished_.end(), senders_[i].later.size(), static_cast<int>(i));
    senders_[i].later.clear();
  }
}

void StreamQueue::begin_next_window() {
  drop_window();
  passed_count_ = 0;
  for (size_t i = 0; i < senders_.size(); ++i) {
    Sender& sender = senders_[i];
    sender.has_passed = false;
    while (!sender.later.empty() && !sender.has_passed) {
      Item item = std::move(sender.later.front());
      sender.later.pop_front();
      if (item) {
        blocks_.push_back({static_cast<int>(i), std::move(*item)});
      } else {
        end_window_of(i);
      }
    }
    if (sender.has_ended && !sender.has_passed) pass(i);
  }
}

}  // namespace spillway::shuffle
