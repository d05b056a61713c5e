#include "compression/decompressor.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>

namespace spillway::compression {
namespace {

constexpr size_t kReadBytes = 256 << 10;
constexpr int kGzipOnly = 16;  // added to the bits of the window, for zlib
// So far into what follows a member or frame its mark has been looked at.
constexpr uint64_t kLongestMark = 5;

class GzipDecoder : public Decoder {
 public:
  GzipDecoder() {
    if (inflateInit2(&stream_, MAX_WBITS + kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~GzipDecoder() override { inflateEnd(&stream_); }
  GzipDecoder(const GzipDecoder&) = delete;
  GzipDecoder& operator=(const GzipDecoder&) = delete;

  const char* decode(Buffers& buffers) override {
    if (is_complete_) inflateReset(&stream_);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(buffers.input));
    stream_.avail_in = bounded(buffers.input_bytes);
    stream_.next_out = reinterpret_cast<Bytef*>(buffers.output);
    stream_.avail_out = bounded(buffers.output_bytes);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    const auto used = static_cast<size_t>(reinterpret_cast<const char*>(stream_.next_in) - buffers.input);
    const auto made = static_cast<size_t>(reinterpret_cast<char*>(stream_.next_out) - buffers.output);
    buffers = {buffers.input + used, buffers.input_bytes - used, buffers.output + made, buffers.output_bytes - made};
    is_complete_ = result == Z_STREAM_END;
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    const bool is_well = is_complete_ || result == Z_OK || result == Z_BUF_ERROR;  // the last: there was nothing to do
    if (is_well) return nullptr;
    return stream_.msg != nullptr ? stream_.msg : "no data that can be understood";
  }
  [[nodiscard]] bool is_complete() const override { return is_complete_; }

 private:
  static uInt bounded(size_t bytes) {
    return static_cast<uInt>(std::min<size_t>(bytes, std::numeric_limits<uInt>::max()));
  }

  z_stream stream_{};
  bool is_complete_ = false;
};

class ZstdDecoder : public Decoder {
 public:
  ZstdDecoder() : context_(ZSTD_createDCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
  }
  ~ZstdDecoder() override { ZSTD_freeDCtx(context_); }
  ZstdDecoder(const ZstdDecoder&) = delete;
  ZstdDecoder& operator=(const ZstdDecoder&) = delete;

  const char* decode(Buffers& buffers) override {
    ZSTD_inBuffer input{buffers.input, buffers.input_bytes, 0};
    ZSTD_outBuffer output{buffers.output, buffers.output_bytes, 0};
    const size_t result = ZSTD_decompressStream(context_, &output, &input);
    buffers = {buffers.input + input.pos, buffers.input_bytes - input.pos, buffers.output + output.pos,
               buffers.output_bytes - output.pos};
    is_complete_ = result == 0;
    code_ = ZSTD_getErrorCode(result);
    if (code_ == ZSTD_error_frameParameter_windowTooLarge)
      return "its window has more than 128 MiB\n  Remedy: compress it again without --long, or with --long=27 at most.";
    if (code_ == ZSTD_error_dictionary_wrong) return "it needs a dictionary\n  Remedy: compress it again without one.";
    return ZSTD_isError(result) ? ZSTD_getErrorName(result) : nullptr;
  }
  [[nodiscard]] bool is_complete() const override { return is_complete_; }
  [[nodiscard]] bool is_damage() const override {
    return code_ != ZSTD_error_frameParameter_windowTooLarge && code_ != ZSTD_error_dictionary_wrong;
  }

 private:
  ZSTD_DCtx* const context_;
  bool is_complete_ = false;
  ZSTD_ErrorCode code_ = ZSTD_error_no_error;
};

[[noreturn]] void fail_to_read(const std::string& path, const std::string& cause) {
  throw std::runtime_error("cannot read " + path + ": " + cause);
}

int open_to_read(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail_to_read(path, std::strerror(errno));
  return descriptor;
}

// Fewer bytes only where the file ends.
size_t read_fully(int descriptor, const std::string& path, char* to, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::read(descriptor, to + done, bytes - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_to_read(path, std::strerror(errno));
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

}  // namespace

Decompressor::Decompressor(std::string path)
    : path_(std::move(path)), descriptor_(open_to_read(path_)), buffer_(kReadBytes) {
  try {
    fill();
    codec_ = codec_of_beginning({buffer_.data(), std::min(filled_, kMarkBytes)});
    if (codec_ == Codec::none) fail_to_read(path_, "it begins neither as a file of gzip nor as one of zstd");
    if (codec_ == Codec::gzip) decoder_ = std::make_unique<GzipDecoder>();
    if (codec_ == Codec::zstd) decoder_ = std::make_unique<ZstdDecoder>();
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

Decompressor::~Decompressor() { close(descriptor_); }

bool Decompressor::fill() {
  taken_ = 0;
  filled_ = read_fully(descriptor_, path_, buffer_.data(), buffer_.size());
  read_bytes_ += filled_;
  return filled_ != 0;
}

size_t Decompressor::read(char* to, size_t bytes) {
  size_t done = 0;
  while (done < bytes) {
    const bool has_input = taken_ != filled_ || fill();
    if (!has_input && decoder_->is_complete()) break;
    const size_t made = decode(to + done, bytes - done);  // without input, what the decoder still holds
    if (!has_input && made == 0 && !decoder_->is_complete())
      fail("it is cut off: its compressed data have no end, and the file ends at byte " + std::to_string(read_bytes_));
    done += made;
  }
  return done;
}

size_t Decompressor::decode(char* to, size_t bytes) {
  if (decoder_->is_complete()) begin_ = position();
  Decoder::Buffers buffers{buffer_.data() + taken_, filled_ - taken_, to, bytes};
  const char* wrong = decoder_->decode(buffers);
  taken_ = filled_ - buffers.input_bytes;
  if (wrong == nullptr) return bytes - buffers.output_bytes;
  if (!decoder_->is_damage()) fail_to_read(path_, wrong);
  if (begin_ != 0 && position() - begin_ <= kLongestMark)
    fail("there is something else behind its compressed data, from byte " + std::to_string(begin_) + " on");
  fail("its compressed data are damaged before byte " + std::to_string(position()) + ": " + wrong);
}

void Decompressor::fail(const std::string& cause) const {
  fail_to_read(path_, cause + " (" + name_of(codec_) + ")\n  Remedy: get or make the file again.");
}

Codec codec_of_file(const std::string& path) {
  char beginning[kMarkBytes];
  const int descriptor = open_to_read(path);
  size_t got = 0;
  try {
    got = read_fully(descriptor, path, beginning, sizeof beginning);
  } catch (...) {
    close(descriptor);
    throw;
  }
  close(descriptor);
  return codec_of(path, {beginning, got});
}

Codec codec_of(const std::string& path, std::string_view beginning) {
  const size_t got = beginning.size();
  const Codec codec = codec_of_beginning(beginning);
  const Codec promised = codec_of_path(path);
  if (promised != Codec::none && codec == Codec::none)
    fail_to_read(path, std::string(got == 0 ? "it is empty" : "it does not begin as a file of ") +
                           (got == 0 ? ", and a file of " : "") + name_of(promised) +
                           (got == 0 ? " never is" : ", as its name says") +
                           "\n  Remedy: get or make the file again, or give it another name.");
  return codec;
}

}  // namespace spillway::compression
