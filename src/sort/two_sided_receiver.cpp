#include "sort/two_sided_receiver.h"

#include <cstddef>
#include <utility>

#include "storage/spill_file.h"

namespace spillway::sort {

using two_sided::test;

TwoSidedReceiver::TwoSidedReceiver(const InputPlan& plan, const TwoSidedGroups& groups, std::vector<char*> slots,
                                   Receives receives)
    : plan_(plan), groups_(groups), slots_(std::move(slots)), receives_(receives) {
  MPI_Comm_rank(groups_.transfer, &own_);
  MPI_Comm_size(groups_.transfer, &receivers_);
  own_ -= groups_.readers;
  receivers_ -= groups_.readers;
  MPI_Comm_size(groups_.node, &sorters_);
  --sorters_;
  for (uint64_t slot = slots_.size(); slot-- != 0;) free_slots_.push_back(slot);
  if (own_ == 0) token_ = Token::here;
}

void TwoSidedReceiver::run() {
  while (token_ != Token::over || !incoming_.empty() || !receiving_.empty()) {
    bool has_moved = advance_token();
    has_moved |= take_back();
    has_moved |= start_receives();
    has_moved |= end_receives();
    if (has_moved)
      pause_.reset();
    else
      pause_.take();
  }
  for (int sorter = 0; sorter < sorters_; ++sorter) tell(sorter, {two_sided::kNoMore, 0});
  while (handed_out_ != 0)
    if (!take_back()) pause_.take();
}

bool TwoSidedReceiver::advance_token() {
  if (token_ == Token::over) return false;
  if (token_ == Token::elsewhere) {
    if (token_request_ == MPI_REQUEST_NULL)
      MPI_Irecv(&token_bytes_, 1, MPI_UINT64_T, groups_.readers + (own_ + receivers_ - 1) % receivers_,
                two_sided::kTokenTag, groups_.transfer, &token_request_);
    if (!test(token_request_)) return false;
    token_ = Token::here;
  }
  if (token_bytes_ == plan_.total_bytes()) {  // the special one goes around once
    hand_on(two_sided::kEndToken);
    is_first_to_end_ = true;
    return true;
  }
  if (token_bytes_ == two_sided::kEndToken) {
    if (!is_first_to_end_) hand_on(two_sided::kEndToken);
    token_ = Token::over;
    return true;
  }
  if (receives_ == Receives::one && !(incoming_.empty() && receiving_.empty())) return false;
  if (size_request_ == MPI_REQUEST_NULL)
    MPI_Irecv(&size_, two_sided::kSizeWords, MPI_UINT64_T, MPI_ANY_SOURCE, two_sided::kSizeTag, groups_.transfer,
              &size_request_);
  int is_done = 0;
  MPI_Status status;
  MPI_Test(&size_request_, &is_done, &status);
  if (is_done == 0) return false;
  incoming_.push_back({status.MPI_SOURCE, size_});
  hand_on(token_bytes_ + size_.bytes);
  return true;
}

// There is one token, so that no more than one message of it is ever under way.
void TwoSidedReceiver::hand_on(uint64_t token) {
  token_bytes_ = token;
  if (receivers_ == 1) return;
  MPI_Send(&token, 1, MPI_UINT64_T, groups_.readers + (own_ + 1) % receivers_, two_sided::kTokenTag, groups_.transfer);
  token_ = Token::elsewhere;
}

// Of one reader in the order of its sizes, which is that of its data.
bool TwoSidedReceiver::start_receives() {
  bool has_started = false;
  while (!incoming_.empty() && !free_slots_.empty()) {
    const Incoming next = incoming_.front();
    incoming_.pop_front();
    Receiving& receiving = receiving_.emplace_back(Receiving{free_slots_.back(), next.size.block, MPI_REQUEST_NULL});
    free_slots_.pop_back();
    const uint64_t bytes = plan_.block(next.size.block).read_bytes;  // more than the block's own
    MPI_Irecv(slots_[receiving.slot], static_cast<int>(bytes), MPI_BYTE, next.reader, two_sided::kDataTag,
              groups_.transfer, &receiving.request);
    has_started = true;
  }
  return has_started;
}

bool TwoSidedReceiver::end_receives() {
  bool has_ended = false;
  for (size_t i = 0; i < receiving_.size();) {
    if (!test(receiving_[i].request)) {
      ++i;
      continue;
    }
    tell(static_cast<int>(turn_++ % static_cast<uint64_t>(sorters_)), {receiving_[i].slot, receiving_[i].block});
    ++handed_out_;
    receiving_.erase(receiving_.begin() + static_cast<ptrdiff_t>(i));
    has_ended = true;
  }
  return has_ended;
}

bool TwoSidedReceiver::take_back() {
  if (handed_out_ == 0) return false;
  if (empty_request_ == MPI_REQUEST_NULL)
    MPI_Irecv(&empty_slot_, 1, MPI_UINT64_T, MPI_ANY_SOURCE, two_sided::kEmptyTag, groups_.node, &empty_request_);
  if (!test(empty_request_)) return false;
  free_slots_.push_back(empty_slot_);
  --handed_out_;
  return true;
}

// A few bytes to a process that will receive them: MPI keeps so many as there are slots.
void TwoSidedReceiver::tell(int sorter, const two_sided::Full& full) {
  MPI_Send(&full, two_sided::kFullWords, MPI_UINT64_T, 1 + sorter, two_sided::kFullTag, groups_.node);
}

}  // namespace spillway::sort
