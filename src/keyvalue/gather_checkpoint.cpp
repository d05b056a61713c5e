#include "keyvalue/gather_checkpoint.h"

#include <algorithm>
#include <cstdint>

#include "keyvalue/broadcast_bytes.h"
#include "keyvalue/failure.h"

namespace spillway::keyvalue {

GatherCheckpoint::GatherCheckpoint(const CheckpointDirectory& directory, bool is_restored)
    : directory_(directory), is_restored_(is_restored) {
  if (!is_restored_) return;
  if (directory_.process() == 0) read();
  auto count = static_cast<uint64_t>(gathered_.size());
  MPI_Bcast(&count, 1, MPI_UINT64_T, 0, directory_.communicator());
  gathered_.resize(count);
  for (std::string& bytes : gathered_) broadcast_bytes(directory_.communicator(), 0, bytes);
}

void GatherCheckpoint::read() {
  const auto& names = directory_.names();
  if (std::find(names.begin(), names.end(), kOfGathered) == names.end()) return;
  const std::unique_ptr<CheckpointReader> reader = directory_.open_if_whole(kOfGathered);
  if (!reader) return;
  reader->for_each_block([](const KeptBlock&) { return true; },
                         [&](const shuffle::BlockHeader& header, const char* block) {
                           gathered_.emplace_back(block + sizeof header, header.bytes);
                         });
}

bool GatherCheckpoint::restore(std::string& gathered) {
  if (!is_restored_) return false;
  if (next_ == gathered_.size())
    throw Failure(MPI_D_ERR_CHECKPOINT,
                  directory_.path_of(kOfGathered) + " does not have what the start before had gathered in call " +
                      std::to_string(next_ + 1) + " of MPI_D_Allgather(): it is lost, or the program has changed",
                  "empty the directory, or name another one with MPI_D_CHECKPOINT (--checkpoint)");
  gathered = std::move(gathered_[next_++]);
  return true;
}

void GatherCheckpoint::commit() {
  if (is_restored_ || gathered_.empty() || directory_.process() != 0) return;
  const auto writer = directory_.writer_of(kOfGathered);
  for (const std::string& bytes : gathered_)
    writer->add_block({shuffle::kBlockVersion, 0, bytes.size(), 0}, bytes.data());
  writer->close({});
  writer->publish();
  gathered_.clear();
}

}  // namespace spillway::keyvalue
