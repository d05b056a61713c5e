// Writes to a file by a thread, past the file cache where the file system has that: whoever makes the bytes waits for
// neither the disk nor a copy, and little is left for fdatasync().
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace spillway::compression {

class BackgroundWrites {
 public:
  // Called by the thread with each of the writes, in their order, before it is written.
  using Look = std::function<void(const char* data, size_t bytes)>;

  // The descriptor stays the caller's, and is written to from where it stands.
  explicit BackgroundWrites(int descriptor, Look look = {});
  // Waits for what was begun.
  ~BackgroundWrites();
  BackgroundWrites(const BackgroundWrites&) = delete;
  BackgroundWrites& operator=(const BackgroundWrites&) = delete;

  // The bytes must stay until wait(). But for the last ones of the file they are whole blocks of the disk, of which
  // none is written to anew. The result, as that of wait(), is 0 or the errno of the first write that has failed, after
  // which none is written.
  int begin(const char* data, size_t bytes);
  // Until everything is written, or what is at `data`.
  int wait(const char* data = nullptr);

 private:
  struct Write {
    const char* data;
    size_t bytes;
  };
  void write_all();
  int write_out(const Write& write) const;

  const int descriptor_;
  const Look look_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Write> writes_;  // the first one is under way
  int error_ = 0;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace spillway::compression
