// Text as input of key-value jobs: files divided among tasks by lines. Output files are in job_files.hpp. Needs no MPI,
// but libmpid. All of it throws std::runtime_error with a message that names the file.
#ifndef SPILLWAY_TEXT_FILES_HPP
#define SPILLWAY_TEXT_FILES_HPP

#include <spillway/job_files.hpp>

namespace spillway::mpid {

// Goes through the lines of a split: those whose first byte is in it.
class LineReader {
 public:
  // Begins one byte early: so it sees whether a line begins with the split.
  explicit LineReader(const Split& split)
      : split_(split), position_(split.begin == 0 ? 0 : split.begin - 1), end_(split.end), file_(split, position_) {
    std::string_view ignored;
    if (split.begin != 0 && split.begin < split.end) next(ignored);
  }

  // False behind the last one. The line stays until the next call.
  bool next(std::string_view& line) {
    if (position_ >= end_) return false;
    size_t searched = 0;
    for (;;) {
      const char* begin = buffer_.data() + taken_;
      const size_t size = filled_ - taken_;
      const void* newline = size == searched ? nullptr : std::memchr(begin + searched, '\n', size - searched);
      const bool is_last = newline == nullptr && is_at_end_of_file_;
      if (newline != nullptr || is_last) {
        const size_t length = is_last ? size : static_cast<size_t>(static_cast<const char*>(newline) - begin);
        line = {begin, length};
        taken_ += length + (is_last ? 0 : 1);
        position_ += length + 1;
        return !is_last || length != 0;
      }
      searched = size;
      fill();
    }
  }

  // Calls with the line that next() gave last. A std::runtime_error gets its place before the message.
  template <typename Function>
  void call(Function& function, std::string_view line) const {
    try {
      function(line);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(place() + ": " + error.what());
    }
  }

 private:
  // File and number of the line. Reads all that is before it.
  [[nodiscard]] std::string place() const {
    uint64_t number = 1;
    LineReader lines({split_.path, 0, position_, split_.is_compressed, "", split_.planned});
    for (std::string_view line; lines.next(line) && lines.position_ < position_;) ++number;
    return split_.name() + ", line " + std::to_string(number);
  }

  static constexpr size_t kMostReadBytes = 1 << 20;
  static constexpr size_t kLeastReadBytes = 64 << 10;  // of a short split, not much more is read than it has

  void fill() {
    if (taken_ != 0) std::memmove(buffer_.data(), buffer_.data() + taken_, filled_ - taken_);
    filled_ -= taken_;
    taken_ = 0;
    if (buffer_.empty()) buffer_.resize(std::clamp<uint64_t>(end_ - position_, kLeastReadBytes, kMostReadBytes));
    if (filled_ == buffer_.size()) buffer_.resize(2 * filled_);
    const size_t got = file_.read(buffer_.data() + filled_, buffer_.size() - filled_);
    is_at_end_of_file_ = got == 0;
    filled_ += got;
  }

  const Split split_;
  uint64_t position_;  // of the next line in the file
  const uint64_t end_;
  InputFile file_;
  std::vector<char> buffer_;
  size_t taken_ = 0;
  size_t filled_ = 0;
  bool is_at_end_of_file_ = false;
};

class LineSplits : public FileSplits {
 public:
  LineSplits(const std::vector<std::string>& paths, uint64_t split_bytes) : FileSplits(paths, split_bytes, 1) {}

  // Calls with each line, without its newline, of those splits that are a task's. A std::runtime_error that the
  // function throws gets file and line before its message.
  template <typename Function>
  void for_each_line(int task, int tasks, Function function) const {
    for_each_split(task, tasks, [&](const Split& split) {
      LineReader lines(split);
      for (std::string_view line; lines.next(line);) lines.call(function, line);
    });
  }
};

// Calls with each word of a line: what is between spaces, tabs and other control characters.
template <typename Function>
void for_each_word(std::string_view line, Function function) {
  const auto is_space = [](char letter) { return static_cast<unsigned char>(letter) <= ' '; };
  for (const char *at = line.data(), *end = at + line.size(); at != end;) {
    const char* begin = at;
    while (at != end && !is_space(*at)) ++at;
    if (at != begin) function(std::string_view(begin, static_cast<size_t>(at - begin)));
    while (at != end && is_space(*at)) ++at;
  }
}

namespace detail {

inline std::vector<std::string> lines_at(const std::vector<FileSplits::Place>& places) {
  constexpr uint64_t kPlaceBytes = 64 << 10;
  constexpr size_t kLineBytes = 64;  // more is not needed to divide
  std::vector<std::string> sample;
  for (auto [split, lines_of_place] : places) {
    if (!split.is_compressed) split.end = std::min(split.end, split.begin + kPlaceBytes);
    LineReader lines(split);
    std::string_view line;
    for (size_t taken = 0; taken < lines_of_place && lines.next(line); ++taken)
      sample.emplace_back(line.substr(0, kLineBytes));
  }
  return sample;
}

}  // namespace detail

// The beginnings of lines from all over the splits, but of compressed files from their beginning, sorted; the same
// wherever it is computed. For KeyRanges.
inline std::vector<std::string> sampled_lines(const LineSplits& splits) {
  std::vector<std::string> sample = detail::lines_at(splits.places(kSamplePlaces, kSampleItems));
  std::sort(sample.begin(), sample.end());
  return sample;
}

// The same where the processes of a job look for it together, and so also in files that only one host has: collective.
template <typename Processes>
std::vector<std::string> sampled_lines(const LineSplits& splits, const Processes& processes) {
  std::vector<std::string> sample =
      processes.all(detail::lines_at(splits.places(kSamplePlaces, kSampleItems, processes)));
  std::sort(sample.begin(), sample.end());
  return sample;
}

}  // namespace spillway::mpid

#endif
