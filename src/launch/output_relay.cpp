#include "launch/output_relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>

#include <system_error>
#include <utility>
#include <vector>

namespace spillway::launch {
namespace {

constexpr size_t kChunkBytes = 65536;  // capacity of a pipe
constexpr int kLongestHoldMs = 100;    // of text that may become a notice; a notice comes in one piece

bool wait_until_writable(int descriptor) {
  pollfd wait{descriptor, POLLOUT, 0};
  return poll(&wait, 1, -1) > 0 || errno == EINTR;
}

}  // namespace

OutputRelay::OutputRelay(int destination) : destination_(destination) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  reading_end_ = base::Descriptor(ends[0]);
  writing_end_ = base::Descriptor(ends[1]);
  wake_ = base::Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) throw std::system_error(errno, std::generic_category(), "eventfd");
}

void OutputRelay::start() {
  writing_end_.close();
  thread_ = std::thread([this] { run(); });
}

void OutputRelay::say(const std::string& text) {
  {
    const std::lock_guard lock(mutex_);
    said_ += text;
  }
  wake();
}

std::string OutputRelay::take_said() {
  const std::lock_guard lock(mutex_);
  return std::exchange(said_, "");
}

void OutputRelay::stop_reading() {
  is_stopping_ = true;
  wake();
}

void OutputRelay::wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_.number(), &one, sizeof one);
}

void OutputRelay::finish() {
  writing_end_.close();
  if (!thread_.joinable()) return;
  thread_.join();
  std::string left = take_said();  // after the launcher had closed its end
  if (reading_end_) carry(left);
}

void OutputRelay::run() {
  std::vector<char> chunk(kChunkBytes);
  std::string text;
  for (;;) {
    pollfd waits[] = {{reading_end_.number(), POLLIN, 0}, {wake_.number(), POLLIN, 0}};
    const int ready = poll(waits, 2, is_stopping_ ? 0 : filter_.holds_text() ? kLongestHoldMs : -1);
    if (ready < 0 && errno == EINTR) continue;
    if (waits[1].revents != 0) {
      uint64_t times;
      [[maybe_unused]] const ssize_t taken = read(wake_.number(), &times, sizeof times);
      text += take_said();
    }
    if (ready == 0) {
      if (is_stopping_) break;
      filter_.flush(text);
    } else if (waits[0].revents != 0) {
      const ssize_t received = read(reading_end_.number(), chunk.data(), chunk.size());
      if (received < 0 && errno == EINTR) continue;
      if (received <= 0) break;
      filter_.feed({chunk.data(), static_cast<size_t>(received)}, text);
    }
    if (!carry(text)) return reading_end_.close();
  }
  filter_.flush(text);
  text += take_said();
  carry(text);
}

// False when nobody reads any more. The job then ends as if the signal that a pipe's writer gets had come.
bool OutputRelay::carry(std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t written = write(destination_, text.data() + done, text.size() - done);
    if (written >= 0) {
      done += static_cast<size_t>(written);
    } else if (errno == EPIPE) {
      kill(getpid(), SIGPIPE);
      return false;
    } else if (errno == EAGAIN ? !wait_until_writable(destination_) : errno != EINTR) {
      return false;
    }
  }
  text.clear();
  return true;
}

}  // namespace spillway::launch
