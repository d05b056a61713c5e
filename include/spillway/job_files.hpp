// Files of key-value jobs: input that is divided among tasks, and an output file for each task, both also compressed by
// gzip or zstd. Needs no MPI, but libmpid. All of it throws std::runtime_error with a message that names the file.
#ifndef SPILLWAY_JOB_FILES_HPP
#define SPILLWAY_JOB_FILES_HPP

#include <fcntl.h>
#include <spillway/mpid_files.h>
#include <sys/stat.h>
#include <unistd.h>
#include <spillway/input_plan.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace spillway::mpid {

[[noreturn]] inline void fail_with_file(const std::string& what, const std::string& path) {
  throw std::runtime_error("cannot " + what + " " + path + ": " + std::strerror(errno));
}

[[noreturn]] inline void fail_as_library_says() { throw std::runtime_error(MPI_D_File_error()); }

// What a file was like when it was first looked at, by which a change is noticed.
struct FileState {
  uint64_t bytes;
  int64_t written_ns;

  explicit FileState(const struct stat& status)
      : bytes(static_cast<uint64_t>(status.st_size)),
        written_ns(int64_t{status.st_mtim.tv_sec} * 1000000000 + status.st_mtim.tv_nsec) {}
  bool operator==(const FileState&) const = default;
};

// Part of a file. A compressed file is one part: its bytes are those of the contents, and `end` is kUnknownEnd, or
// where somebody wants to stop. So is a file that only one host has.
struct Split {
  static constexpr uint64_t kUnknownEnd = UINT64_MAX;

  std::string path;
  uint64_t begin;
  uint64_t end;
  bool is_compressed = false;
  std::string host;                       // empty: all processes see it
  std::optional<FileState> planned = {};  // whoever reads it refuses a file that has changed since

  // The file, as the program's user names it.
  [[nodiscard]] std::string name() const { return host.empty() ? path : host + ":" + path; }
  // A host's own file that nobody has looked at, as for_each_split() does.
  [[nodiscard]] bool is_unseen() const { return !host.empty() && end == kUnknownEnd && !is_compressed; }
};

// Of samples: at about so many places of the input so many lines or records each.
inline constexpr size_t kSamplePlaces = 256;
inline constexpr size_t kSampleItems = 16;

// Files in parts of about the same size, the same wherever it is computed; they become part of input_plan(). An empty
// file has none; a compressed one, which can be read only from its beginning, has one, and so has `host:/path`, a file
// of that host's own, which nobody else looks at.
class FileSplits {
 public:
  // Cuts only at multiples of `unit_bytes`, of which a file has to be; the contents of a compressed one are looked at
  // when they are read.
  FileSplits(const std::vector<std::string>& paths, uint64_t split_bytes, uint64_t unit_bytes)
      : unit_bytes_(unit_bytes) {
    if (split_bytes == 0 || unit_bytes == 0) throw std::runtime_error("parts of files need at least one byte");
    for (const std::string& path : paths) {
      if (const size_t colon = end_of_host(path); colon != 0) {
        splits_.push_back({path.substr(colon + 1), 0, Split::kUnknownEnd, false, path.substr(0, colon)});
        input_plan() += path + "\n";
        continue;
      }
      const Split whole = whole_file(path);
      const uint64_t size = whole.planned->bytes;
      input_plan() += path + " " + std::to_string(size) + " " + std::to_string(split_bytes) + "\n";
      const uint64_t count = whole.is_compressed ? 1 : size / split_bytes + (size % split_bytes != 0 ? 1 : 0);
      for (uint64_t i = 0; i < count; ++i) {
        const Split split = whole.is_compressed ? whole : part(whole, count, i);
        if (split.begin != split.end) splits_.push_back(split);
      }
    }
  }

  [[nodiscard]] size_t size() const { return splits_.size(); }
  [[nodiscard]] const Split& operator[](size_t number) const { return splits_[number]; }
  [[nodiscard]] uint64_t unit_bytes() const { return unit_bytes_; }

  // What MPI_D_Init() is to know of a job with this input, in the modes MapReduce and iteration: an O task for each
  // split, and where it may run.
  [[nodiscard]] std::map<std::string, std::string> configuration() const {
    std::string hosts;
    for (const Split& split : splits_) hosts.append(&split == splits_.data() ? "" : ",").append(split.host);
    // The names are in mpid.h, which needs MPI.
    return {{"MPI_D_O_TASKS", std::to_string(std::max<size_t>(size(), 1))}, {"MPI_D_INPUT_HOSTS", hosts}};
  }

  // Calls with each split that is a task's.
  template <typename Function>
  void for_each_split(int task, int tasks, Function function) const {
    for (auto i = static_cast<size_t>(task); i < splits_.size(); i += static_cast<size_t>(tasks)) {
      const Split& split = splits_[i];
      if (split.host.empty())
        function(split);
      else if (const Split own = own_file(split); own.begin != own.end)
        function(own);
    }
  }

  // Where to look for samples.
  struct Place {
    Split split;
    size_t items;  // so many lines or records are wanted of it
  };

  // About `count` of them, at equal distances, with `items` each. Of a compressed file one at its beginning, with as
  // many items as others have together.
  [[nodiscard]] std::vector<Place> places(size_t count, size_t items) const {
    std::vector<Place> places;
    const size_t of_each = splits_.empty() ? 0 : (count + splits_.size() - 1) / splits_.size();
    for (const Split& split : splits_) {
      if (!split.host.empty())
        throw std::runtime_error("cannot look for samples in " + split.name() +
                                 ", which only that host has, from here: let processes look together in begin()");
      add_places(split, of_each, items, places);
    }
    return places;
  }
  // The same of those splits that this process looks at, where the processes of a job do together (mpid.hpp):
  // collective. Each split has as many as its share of all bytes.
  template <typename Processes>
  [[nodiscard]] std::vector<Place> places(size_t count, size_t items, const Processes& processes) const {
    std::vector<Split> own;
    uint64_t own_bytes = 0;
    for (size_t i = 0; i < splits_.size(); ++i) {
      if (!processes.looks_at(i)) continue;
      own.push_back(splits_[i].host.empty() ? splits_[i] : own_file(splits_[i]));
      own_bytes += bytes_of(own.back());
    }
    // Of what was there when the job began, where it goes on from a checkpoint.
    const auto all_bytes = static_cast<double>(processes.sum(own_bytes));
    std::vector<Place> places;
    for (const Split& split : own) {
      const auto bytes = static_cast<double>(bytes_of(split));
      if (bytes > 0)
        add_places(split, 1 + static_cast<size_t>(static_cast<double>(count) * bytes / std::max(bytes, all_bytes)),
                   items, places);
    }
    return places;
  }

 private:
  static uint64_t bytes_of(const Split& split) {
    return split.is_compressed ? split.planned->bytes : split.end - split.begin;
  }

  void add_places(const Split& split, size_t count, size_t items, std::vector<Place>& places) const {
    if (split.is_compressed) places.push_back({split, count * items});
    for (size_t i = 0; i < count && !split.is_compressed; ++i) places.push_back({part(split, count, i), items});
  }

  // 0 unless a colon comes before the first slash, as scp has it, and no other slash behind that. ./a:/b is a file, and
  // so is what begins with words that no host has for a name.
  static size_t end_of_host(const std::string& path) {
    const size_t slash = path.find('/');
    if (path.find_first_of(", \t") < slash) return 0;
    if (slash == std::string::npos || slash < 2 || path[slash - 1] != ':' || path.compare(slash, 2, "//") == 0)
      return 0;
    return slash - 1;
  }

  // As it is now.
  [[nodiscard]] Split whole_file(const std::string& path) const {
    const FileState state = state_of(path);
    const int is_compressed = MPI_D_Is_compressed(path.c_str());
    if (is_compressed < 0) fail_as_library_says();
    if (is_compressed == 1) return {path, 0, Split::kUnknownEnd, true, "", state};
    if (state.bytes % unit_bytes_ != 0)
      throw std::runtime_error("cannot read " + path + ": its " + std::to_string(state.bytes) +
                               " bytes are no whole number of records of " + std::to_string(unit_bytes_) + " bytes");
    return {path, 0, state.bytes, false, "", state};
  }

  // Of this host.
  [[nodiscard]] Split own_file(const Split& split) const {
    if (MPI_D_Is_this_host(split.host.c_str()) == 0)
      throw std::runtime_error("cannot read " + split.name() +
                               " on another host: only jobs of the modes MapReduce and iteration whose MPI_D_Init() "
                               "knows of it (configuration() of the splits) run its task there");
    Split own = whole_file(split.path);
    own.host = split.host;
    return own;
  }

  // Of a URI, which may have those of a store in it.
  static std::string without_keys(const std::string& uri) {
    const size_t begin = uri.find("://") + 3;
    const size_t at = uri.substr(0, uri.find('/', begin)).rfind('@');
    return at == std::string::npos ? uri : uri.substr(0, begin) + uri.substr(at + 1);
  }

  static FileState state_of(const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) {
      const size_t scheme_bytes = path.find("://");
      if (errno == ENOENT && scheme_bytes != 0 && scheme_bytes < path.find('/'))
        throw std::runtime_error("cannot read " + without_keys(path) +
                                 ": text and records are read from file systems that the machine has mounted\n"
                                 "  Remedy: mount that one, or copy the file; Python's TableSplits reads CSV and "
                                 "Parquet from there");
      fail_with_file("read", path);
    }
    if (!S_ISREG(status.st_mode)) throw std::runtime_error("cannot read " + path + ": it is not a regular file");
    return FileState(status);
  }

  // Unit u begins part i of n where u = units * i / n, nearly: the product could be too large a number.
  [[nodiscard]] Split part(const Split& whole, uint64_t count, uint64_t i) const {
    const uint64_t units = (whole.end - whole.begin) / unit_bytes_;
    const auto border = [&](uint64_t part) {
      return whole.begin + (units / count * part + std::min(part, units % count)) * unit_bytes_;
    };
    return {whole.path, border(i), border(i + 1), false, whole.host, whole.planned};
  }

  const uint64_t unit_bytes_;
  std::vector<Split> splits_;
};

// Reads a file from some place on; the contents of a compressed one from their beginning. Throws where the file is not
// what it was when it was planned, also when it changes while it is read.
class InputFile {
 public:
  InputFile(const Split& split, uint64_t begin)
      : path_(split.path), name_(split.name()), planned_(split.planned), position_(begin) {
    if (split.is_unseen())
      throw std::runtime_error("cannot read " + split.name() +
                               ", which only that host has, from here: for_each_split() reads it in its task");
    refuse_change();
    if (split.is_compressed) {
      compressed_ = MPI_D_Decompress_open(path_.c_str());
      if (compressed_ == nullptr) fail_as_library_says();
      return;
    }
    descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail_with_file("read", path_);
  }
  ~InputFile() {
    MPI_D_Decompress_close(compressed_);
    if (descriptor_ >= 0) close(descriptor_);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // Fewer bytes only where the file ends.
  size_t read(char* to, size_t bytes) {
    if (compressed_ != nullptr) {
      const ptrdiff_t got = MPI_D_Decompress_read(compressed_, to, bytes);
      refuse_change();
      if (got < 0) fail_as_library_says();
      return static_cast<size_t>(got);
    }
    size_t done = 0;
    while (done < bytes) {
      const ssize_t got = pread(descriptor_, to + done, bytes - done, static_cast<off_t>(position_ + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_with_file("read", path_);
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    refuse_change();
    position_ += done;
    return done;
  }

 private:
  void refuse_change() const {
    if (!planned_) return;
    struct stat status {};
    if ((descriptor_ >= 0 ? fstat(descriptor_, &status) : stat(path_.c_str(), &status)) != 0)
      fail_with_file("read", path_);
    const FileState now(status);
    if (now == *planned_) return;
    const std::string sizes =
        now.bytes == planned_->bytes
            ? ""
            : " (it had " + std::to_string(planned_->bytes) + " bytes, and has " + std::to_string(now.bytes) + " now)";
    throw std::runtime_error("cannot read " + name_ + ": it has been written to since the job first looked at it" +
                             sizes + ": let nobody write to the input of a job, and start the job again");
  }

  const std::string path_;
  const std::string name_;  // as the program's user names it
  const std::optional<FileState> planned_;
  uint64_t position_;
  int descriptor_ = -1;
  MPI_D_Decompression* compressed_ = nullptr;
};

// A file that has its name when finish() has been called; before, and after a failure, nothing is under it. Where the
// job keeps checkpoints, it is on the disk by then. One whose name ends with .gz or .zst is compressed. After a failure
// all that follows fails, too; what is written after finish() is refused. Of a symbolic link, the file that it leads to
// is replaced; what is there and is no regular file is refused.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path) : OutputFile(path, place_of(path)) {}
  // Before a job works for it: throws where it cannot be written.
  static void check(const std::string& path) { place_of(path); }
  ~OutputFile() { give_up(); }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  OutputFile& operator<<(std::string_view text) {
    refuse_if_over();
    if (text_.size() + text.size() > kWriteBytes) flush();
    text_.append(text);
    return *this;
  }
  OutputFile& operator<<(int64_t number) { return *this << std::to_string(number); }
  // With as many digits as it takes to read the same number again.
  template <std::floating_point Number>
  OutputFile& operator<<(Number number) {
    char digits[64];
    return *this << std::string_view(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  }

  void finish() {
    try {
      refuse_if_over();
      complete();
    } catch (...) {
      give_up();
      throw;
    }
    if (is_kept_) sync_folder();
  }

 protected:
  // Written at `place`, which is elsewhere than its name says where that is a link.
  OutputFile(std::string path, std::string place, bool is_part = false)
      : path_(std::move(path)), place_(std::move(place)), is_part_(is_part) {
    if (MPI_D_Begin_partial(partial_path().c_str()) != 0) fail_as_library_says();
    descriptor_ = open(partial_path().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor_ < 0) {
      const int error = errno;
      MPI_D_End_partial(partial_path().c_str());
      errno = error;
      fail_with_file("write", partial_path());
    }
    bool is_open = MPI_D_Compress_open(path_.c_str(), descriptor_, &compression_) == 0;
    if (is_open && is_kept_ && compression_ == nullptr) {
      keeping_ = MPI_D_Keep_open(path_.c_str(), descriptor_);
      is_open = keeping_ != nullptr;
    }
    if (is_open) return;
    give_up();
    fail_as_library_says();
  }

  static std::string place_of(const std::string& path) {
    const char* place = MPI_D_Output_place(path.c_str());
    if (place == nullptr) fail_as_library_says();
    return place;
  }

 private:
  static constexpr size_t kWriteBytes = 1 << 20;

  [[nodiscard]] std::string partial_path() const { return place_ + ".partial"; }

  void refuse_if_over() const {
    if (has_failed_) throw std::runtime_error("cannot write " + path_ + ": an earlier write has failed");
    if (descriptor_ < 0) throw std::runtime_error("cannot write " + path_ + ": it is finished already");
  }

  void complete() {
    flush();
    has_failed_ = true;  // until it has its name
    if (compression_ != nullptr && MPI_D_Compress_finish(compression_) != 0) fail_as_library_says();
    if (keeping_ != nullptr && MPI_D_Keep_finish(keeping_) != 0) fail_as_library_says();
    if (is_kept_ && keeping_ == nullptr && fdatasync(descriptor_) != 0) fail_with_file("write", path_);
    MPI_D_Keep_close(std::exchange(keeping_, nullptr));
    if (close(std::exchange(descriptor_, -1)) != 0) fail_with_file("write", path_);
    give_name();
    has_failed_ = false;
    MPI_D_Compress_close(std::exchange(compression_, nullptr));
  }

  void give_name() const {
    const std::string partial = partial_path();
    if (is_part_) {
      if (MPI_D_Publish(partial.c_str(), place_.c_str()) != 0) fail_as_library_says();
    } else if (rename(partial.c_str(), place_.c_str()) != 0) {
      fail_with_file("write", path_);
    }
    MPI_D_End_partial(partial.c_str());
  }

  // Leaves nothing of a file that has not got its name.
  void give_up() {
    MPI_D_Compress_close(std::exchange(compression_, nullptr));
    MPI_D_Keep_close(std::exchange(keeping_, nullptr));
    if (descriptor_ < 0 && !has_failed_) return;
    if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
    unlink(partial_path().c_str());
    MPI_D_End_partial(partial_path().c_str());
  }

  // The new name is on the disk.
  void sync_folder() const {
    const size_t slash = place_.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : place_.substr(0, slash + 1);
    const int opened = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool is_on_disk = opened >= 0 && fsync(opened) == 0;
    if (opened >= 0) close(opened);
    if (!is_on_disk) fail_with_file("write", folder);
  }

  void flush() {
    has_failed_ = true;  // until all is written
    if (compression_ != nullptr || keeping_ != nullptr) {
      const int failed = compression_ != nullptr ? MPI_D_Compress_write(compression_, text_.data(), text_.size())
                                                 : MPI_D_Keep_write(keeping_, text_.data(), text_.size());
      if (failed != 0) fail_as_library_says();
      text_.clear();
    }
    for (size_t done = 0; done < text_.size();) {
      const ssize_t written = write(descriptor_, text_.data() + done, text_.size() - done);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail_with_file("write", partial_path());
      done += static_cast<size_t>(written);
    }
    text_.clear();
    has_failed_ = false;
    // So that finish() waits for little.
    if (is_kept_ && keeping_ == nullptr) sync_file_range(descriptor_, 0, 0, SYNC_FILE_RANGE_WRITE);
  }

  const std::string path_;
  const std::string place_;
  const bool is_part_;
  const bool is_kept_ = std::getenv("MPI_D_CHECKPOINT") != nullptr;
  int descriptor_ = -1;
  MPI_D_Compression* compression_ = nullptr;
  MPI_D_Keeping* keeping_ = nullptr;
  bool has_failed_ = false;
  std::string text_;
};

// The output of a task, in a directory that is made if it is not there: part-00000 and so on, compressed where
// MPI_D_OUTPUT_CODEC says so, as part-00000.gz or part-00000.zst. In a job it has its name when all of the job has
// ended well. The directory may have no parts that would stay beside those of the job.
class PartFile : public OutputFile {
 public:
  PartFile(const std::string& directory, int task) : PartFile(path_of(directory, task)) {}
  // Before a job works for them: throws where parts cannot be written there.
  static void check(const std::string& directory) {
    if (MPI_D_Check_parts(directory.c_str()) != 0) fail_as_library_says();
  }

 private:
  explicit PartFile(const std::string& path) : OutputFile(path, place_of(path), true) {}

  static std::string path_of(const std::string& directory, int task) {
    if (mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST) fail_with_file("make the directory", directory);
    char name[32];
    std::snprintf(name, sizeof name, "part-%05d", task);
    const std::string whole_name = std::string(name) + MPI_D_Part_suffix();
    refuse_other_parts(directory, whole_name);
    const std::string path = directory + "/" + whole_name;
    if (place_of(path) != path) throw std::runtime_error("cannot write " + path + ": it is a symbolic link");
    return path;
  }

  static void refuse_other_parts(const std::string& directory, const std::string& name) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(directory, error))
      if (MPI_D_Is_other_part(entry.path().filename().c_str(), name.c_str()) != 0)
        throw std::runtime_error("cannot write " + directory + "/" + name + ": " + entry.path().string() +
                                 " is there, of another job, and would stay beside it\n"
                                 "  Remedy: remove it, or name another directory.");
    if (error) throw std::runtime_error("cannot write " + directory + "/" + name + ": " + error.message());
  }
};

}  // namespace spillway::mpid

#endif
