// A file that a restart of a job may need: on the disk when finish() has returned.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "compression/background_writes.h"
#include "shuffle/run_cursor.h"

namespace spillway::compression {

// Throws std::runtime_error with a message that names the file, and after a failure each time.
class KeptOutput {
 public:
  // The descriptor stays the caller's. The file is empty.
  KeptOutput(const std::string& path, int descriptor);

  void write(std::string_view bytes);
  void finish();

 private:
  static constexpr size_t kBufferBytes = 2 << 20;  // two processes that write halves of it got half of the disk's rate

  void pass_on();
  void refuse(int error) const;

  const std::string path_;
  const int descriptor_;
  std::array<shuffle::AlignedBuffer, 3> buffers_;  // one is filled
  size_t current_ = 0;
  size_t used_ = 0;
  BackgroundWrites writes_;  // last: it writes from the buffers until it ends
};

}  // namespace spillway::compression
