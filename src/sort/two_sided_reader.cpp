#include "sort/two_sided_reader.h"

#include <algorithm>
#include <memory>

#include "sort/aligned_memory.h"
#include "storage/spill_file.h"

namespace spillway::sort {
namespace {

using two_sided::test;

constexpr uint64_t kShortWaitNs = 50'000;
constexpr int kNobody = -1;
constexpr int kOver = -2;
constexpr uint64_t kMostSizes = 256;  // before it is seen that MPI has delivered them

}  // namespace

TwoSidedReader::TwoSidedReader(const InputPlan& plan, InputFiles& files, const TwoSidedGroups& groups,
                               const std::vector<char*>& slots, AsyncIo& io, Progress& progress)
    : plan_(plan), files_(files), groups_(groups), io_(io), progress_(progress) {
  MPI_Comm_rank(groups_.read, &own_);
  MPI_Comm_size(groups_.read, &readers_);
  MPI_Comm_size(groups_.transfer, &receivers_);
  receivers_ -= readers_;
  for (char* memory : slots) buffers_.push_back({memory});
  next_block_ = static_cast<uint64_t>(own_);
  offers_.resize(static_cast<size_t>(readers_));
  assignments_.resize(static_cast<size_t>(readers_));
  size_messages_.resize(kMostSizes * (sizeof(two_sided::Size) + MPI_BSEND_OVERHEAD));
}

void TwoSidedReader::run() {
  MPI_Buffer_attach(size_messages_.data(), static_cast<int>(size_messages_.size()));
  const auto is_empty = [](const Buffer& buffer) { return buffer.step == Step::empty; };
  while (!is_over_ || !std::all_of(buffers_.begin(), buffers_.end(), is_empty)) {
    bool has_moved = io_.progress();
    has_moved |= start_reads();
    has_moved |= end_sends();
    has_moved |= advance_round();
    if (progress_.is_due()) progress_.show('d', assigned_blocks_, plan_.block_count());
    if (has_moved)
      pause_.reset();
    else
      idle();
  }
  void* memory = nullptr;
  int bytes = 0;
  MPI_Buffer_detach(&memory, &bytes);
}

bool TwoSidedReader::start_reads() {
  bool has_started = false;
  for (size_t i = 0; i < buffers_.size() && next_block_ < plan_.block_count(); ++i) {
    Buffer& buffer = buffers_[i];
    if (buffer.step != Step::empty) continue;
    buffer.block = next_block_;
    buffer.of = plan_.block(next_block_);
    buffer.step = Step::reading;
    next_block_ += static_cast<uint64_t>(readers_);
    const uint64_t needed = buffer.of.read_bytes;
    const std::shared_ptr<DirectFile> file = files_.open(buffer.of.file);
    io_.read(*file, buffer.memory, whole_blocks(needed), needed, buffer.of.read_offset,
             [this, file, i] { buffers_[i].step = Step::read; });
    has_started = true;
  }
  return has_started;
}

bool TwoSidedReader::end_sends() {
  bool has_ended = false;
  for (Buffer& buffer : buffers_) {
    if (buffer.step != Step::sending || !test(buffer.sending)) continue;
    buffer.step = Step::empty;
    has_ended = true;
  }
  return has_ended;
}

TwoSidedReader::Buffer* TwoSidedReader::next_read() {
  Buffer* next = nullptr;
  for (Buffer& buffer : buffers_)
    if (buffer.step == Step::read && (next == nullptr || buffer.block < next->block)) next = &buffer;
  return next;
}

bool TwoSidedReader::advance_round() {
  switch (round_) {
    case Round::none: {
      if (is_over_) return false;
      const Buffer* next = next_read();
      if (next == nullptr && !has_paused_) return false;
      has_paused_ = false;
      offer_ = next != nullptr ? next->of.bytes : 0;
      MPI_Igather(&offer_, 1, MPI_UINT64_T, offers_.data(), 1, MPI_UINT64_T, 0, groups_.read, &request_);
      round_ = Round::gathering;
      return true;
    }
    case Round::gathering:
      if (!test(request_)) return false;
      if (own_ == 0) assign();
      MPI_Iscatter(assignments_.data(), 1, MPI_INT, &assigned_, 1, MPI_INT, 0, groups_.read, &request_);
      round_ = Round::scattering;
      return true;
    default: {
      if (!test(request_)) return false;
      round_ = Round::none;
      is_over_ = assigned_ == kOver;
      // A block that has been read meanwhile may be an earlier one; each is as good.
      if (assigned_ >= 0) send(*next_read(), assigned_);
      return assigned_ != kNobody;
    }
  }
}

void TwoSidedReader::assign() {
  const int nobody = assigned_blocks_ == plan_.block_count() ? kOver : kNobody;
  for (size_t reader = 0; reader < offers_.size(); ++reader)
    assignments_[reader] =
        offers_[reader] == 0 ? nobody : static_cast<int>(assigned_blocks_++ % static_cast<uint64_t>(receivers_));
}

void TwoSidedReader::send(Buffer& buffer, int receiver) {
  if (++sizes_since_attached_ > kMostSizes) {
    void* memory = nullptr;
    int bytes = 0;
    MPI_Buffer_detach(&memory, &bytes);  // when all are delivered
    MPI_Buffer_attach(size_messages_.data(), static_cast<int>(size_messages_.size()));
    sizes_since_attached_ = 1;
  }
  const two_sided::Size size{buffer.block, buffer.of.bytes};
  const int to = readers_ + receiver;
  MPI_Bsend(&size, two_sided::kSizeWords, MPI_UINT64_T, to, two_sided::kSizeTag, groups_.transfer);
  MPI_Isend(buffer.memory, static_cast<int>(buffer.of.read_bytes), MPI_BYTE, to, two_sided::kDataTag, groups_.transfer,
            &buffer.sending);
  buffer.step = Step::sending;
}

void TwoSidedReader::idle() {
  has_paused_ = true;
  if (io_.pending() != 0 && !pause_.is_short())
    io_.wait(kShortWaitNs);
  else
    pause_.take();
}

}  // namespace spillway::sort
