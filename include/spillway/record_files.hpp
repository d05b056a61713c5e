// Records of the same number of bytes as input of key-value jobs: files divided among tasks between records. Output
// files are in job_files.hpp. Needs no MPI, but libmpid. All of it throws std::runtime_error with a message that names
// the file.
#ifndef SPILLWAY_RECORD_FILES_HPP
#define SPILLWAY_RECORD_FILES_HPP

#include <spillway/job_files.hpp>

namespace spillway::mpid {

// Goes through the records of a split.
class RecordReader {
 public:
  RecordReader(const Split& split, size_t record_bytes)
      : split_(split), record_bytes_(record_bytes), position_(split.begin), file_(split, split.begin) {}

  // False behind the last one. The record stays until the next call.
  bool next(std::string_view& record) {
    if (taken_ == filled_ && !fill()) return false;
    record = {buffer_.data() + taken_, record_bytes_};
    taken_ += record_bytes_;
    return true;
  }

  // Calls with the record that next() gave last. A std::runtime_error gets its place before the message.
  template <typename Function>
  void call(Function& function, std::string_view record) const {
    try {
      function(record);
    } catch (const std::runtime_error& error) {
      const uint64_t begin = position_ - (filled_ - taken_) - record_bytes_;
      throw std::runtime_error(split_.name() + ", record " + std::to_string(begin / record_bytes_) + " (byte " +
                               std::to_string(begin) + "): " + error.what());
    }
  }

 private:
  static constexpr size_t kReadBytes = 1 << 20;

  bool fill() {
    const size_t most = std::max<size_t>(kReadBytes / record_bytes_, 1) * record_bytes_;
    const size_t wanted = std::min<uint64_t>(most, split_.end - position_);
    taken_ = 0;
    if (wanted > buffer_.size()) buffer_.resize(wanted);
    filled_ = file_.read(buffer_.data(), wanted);
    position_ += filled_;
    if (filled_ < wanted) check_end();
    return filled_ != 0;
  }

  // Of the file, which has come before that of the split.
  void check_end() const {
    if (!split_.is_compressed)
      throw std::runtime_error("cannot read " + split_.path + ": it has become shorter than " +
                               std::to_string(split_.end) + " bytes");
    if (position_ % record_bytes_ != 0)
      throw std::runtime_error("cannot read " + split_.path + ": the " + std::to_string(position_) +
                               " bytes of its contents are no whole number of records of " +
                               std::to_string(record_bytes_) + " bytes");
  }

  const Split split_;
  const size_t record_bytes_;
  uint64_t position_;  // of what is read next
  InputFile file_;
  std::vector<char> buffer_;
  size_t taken_ = 0;
  size_t filled_ = 0;
};

// Throws where a file's size is no multiple of that of the records; of a compressed file, when its end is read.
class RecordSplits : public FileSplits {
 public:
  RecordSplits(const std::vector<std::string>& paths, uint64_t record_bytes, uint64_t split_bytes)
      : FileSplits(paths, split_bytes, record_bytes) {}

  // Calls with each record of those splits that are a task's. A std::runtime_error that the function throws gets file
  // and record, counted from 0, before its message.
  template <typename Function>
  void for_each_record(int task, int tasks, Function function) const {
    for_each_split(task, tasks, [&](const Split& split) {
      RecordReader records(split, unit_bytes());
      for (std::string_view record; records.next(record);) records.call(function, record);
    });
  }
};

namespace detail {

inline std::vector<std::string> keys_at(const std::vector<FileSplits::Place>& places, uint64_t record_bytes,
                                        size_t key_bytes) {
  std::vector<std::string> sample;
  for (auto [split, records_of_place] : places) {
    split.end = std::min(split.end, split.begin + records_of_place * record_bytes);
    RecordReader records(split, record_bytes);
    for (std::string_view record; records.next(record);) sample.emplace_back(record.substr(0, key_bytes));
  }
  return sample;
}

}  // namespace detail

// The first bytes of records from all over the splits, but of compressed files from their beginning, sorted; the same
// wherever it is computed. For KeyRanges.
inline std::vector<std::string> sampled_keys(const RecordSplits& splits, size_t key_bytes) {
  std::vector<std::string> sample =
      detail::keys_at(splits.places(kSamplePlaces, kSampleItems), splits.unit_bytes(), key_bytes);
  std::sort(sample.begin(), sample.end());
  return sample;
}

// The same where the processes of a job look for it together, and so also in files that only one host has: collective.
template <typename Processes>
std::vector<std::string> sampled_keys(const RecordSplits& splits, size_t key_bytes, const Processes& processes) {
  std::vector<std::string> sample = processes.all(
      detail::keys_at(splits.places(kSamplePlaces, kSampleItems, processes), splits.unit_bytes(), key_bytes));
  std::sort(sample.begin(), sample.end());
  return sample;
}

}  // namespace spillway::mpid

#endif
