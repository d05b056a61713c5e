#include "compression/background_writes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "shuffle/quiet_thread.h"
#include "storage/spill_file.h"

namespace spillway::compression {
namespace {

// False where it stays as it was.
bool set_direct(int descriptor, bool is_direct) {
  const int flags = fcntl(descriptor, F_GETFL);
  const int wanted = is_direct ? flags | O_DIRECT : flags & ~O_DIRECT;
  return flags >= 0 && flags != wanted && fcntl(descriptor, F_SETFL, wanted) == 0;
}

}  // namespace

BackgroundWrites::BackgroundWrites(int descriptor, Look look) : descriptor_(descriptor), look_(std::move(look)) {
  set_direct(descriptor_, true);
  thread_ = shuffle::quiet_thread("mpid-write", [this] { write_all(); });  // last: nothing may throw while it runs
}

BackgroundWrites::~BackgroundWrites() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

int BackgroundWrites::begin(const char* data, size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (error_ != 0) return error_;
  writes_.push_back({data, bytes});
  changed_.notify_all();
  return 0;
}

int BackgroundWrites::wait(const char* data) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return std::none_of(writes_.begin(), writes_.end(),
                        [&](const Write& write) { return data == nullptr || write.data == data; });
  });
  return error_;
}

// Until the end, and what is left of the writes.
void BackgroundWrites::write_all() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_ending_ || !writes_.empty(); });
    if (writes_.empty()) return;
    const Write write = writes_.front();
    lock.unlock();
    if (look_) look_(write.data, write.bytes);
    const int error = error_ == 0 ? write_out(write) : error_;
    lock.lock();
    error_ = error;
    writes_.pop_front();
    changed_.notify_all();
  }
}

// All but the end of a file are whole blocks of the disk.
int BackgroundWrites::write_out(const Write& write) const {
  if (write.bytes % storage::kBlockBytes != 0) set_direct(descriptor_, false);
  for (size_t done = 0; done < write.bytes;) {
    const ssize_t written = ::write(descriptor_, write.data + done, write.bytes - done);
    if (written >= 0) {
      done += static_cast<size_t>(written);
    } else if (errno == EINVAL && set_direct(descriptor_, false)) {
      continue;  // a file system that refuses it only now
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace spillway::compression
