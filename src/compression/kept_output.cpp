#include "compression/kept_output.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace spillway::compression {

KeptOutput::KeptOutput(const std::string& path, int descriptor) try
    : path_(path),
      descriptor_(descriptor),
      buffers_{shuffle::aligned_buffer(kBufferBytes), shuffle::aligned_buffer(kBufferBytes),
               shuffle::aligned_buffer(kBufferBytes)},
      writes_(descriptor) {
} catch (const std::system_error& error) {
  throw std::runtime_error("cannot write " + path + ": no thread can be made for it: " + error.code().message());
}

void KeptOutput::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t taken = std::min(bytes.size(), kBufferBytes - used_);
    std::memcpy(buffers_[current_].get() + used_, bytes.data(), taken);
    used_ += taken;
    bytes.remove_prefix(taken);
    if (used_ == kBufferBytes) pass_on();
  }
}

void KeptOutput::finish() {
  if (used_ != 0) pass_on();
  refuse(writes_.wait());
  if (fdatasync(descriptor_) != 0) refuse(errno);
}

void KeptOutput::pass_on() {
  refuse(writes_.begin(buffers_[current_].get(), used_));
  used_ = 0;
  current_ = (current_ + 1) % buffers_.size();
  refuse(writes_.wait(buffers_[current_].get()));
}

void KeptOutput::refuse(int error) const {
  if (error != 0) throw std::runtime_error("cannot write " + path_ + ": " + std::strerror(error));
}

}  // namespace spillway::compression
