#include "compression/compressor.h"

#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>

namespace spillway::compression {
namespace {

constexpr size_t kWriteBytes = 256 << 10;
constexpr int kGzipFormat = 16;  // added to the bits of the window, for zlib
constexpr int kGzipMemory = 8;   // zlib's own default

class GzipEncoder : public Encoder {
 public:
  GzipEncoder() {
    if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzipFormat, kGzipMemory,
                     Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
  }
  ~GzipEncoder() override { deflateEnd(&stream_); }
  GzipEncoder(const GzipEncoder&) = delete;
  GzipEncoder& operator=(const GzipEncoder&) = delete;

  size_t encode(std::string_view& input, char* output, size_t bytes) override {
    const auto given = static_cast<uInt>(std::min<size_t>(input.size(), std::numeric_limits<uInt>::max()));
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
    stream_.avail_in = given;
    run(Z_NO_FLUSH, output, bytes);
    input.remove_prefix(given - stream_.avail_in);
    return bytes - stream_.avail_out;
  }
  size_t finish(char* output, size_t bytes, bool& is_over) override {
    stream_.avail_in = 0;
    is_over = run(Z_FINISH, output, bytes) == Z_STREAM_END;
    return bytes - stream_.avail_out;
  }

 private:
  int run(int flush, char* output, size_t bytes) {
    stream_.next_out = reinterpret_cast<Bytef*>(output);
    stream_.avail_out = static_cast<uInt>(bytes);
    const int result = deflate(&stream_, flush);
    const bool is_well = result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR;  // the last: nothing to do
    if (!is_well) throw std::runtime_error("gzip: deflate() has failed with " + std::to_string(result));
    return result;
  }

  z_stream stream_{};
};

class ZstdEncoder : public Encoder {
 public:
  ZstdEncoder() : context_(ZSTD_createCCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
    ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1);  // damage is to be seen
  }
  ~ZstdEncoder() override { ZSTD_freeCCtx(context_); }
  ZstdEncoder(const ZstdEncoder&) = delete;
  ZstdEncoder& operator=(const ZstdEncoder&) = delete;

  size_t encode(std::string_view& input, char* output, size_t bytes) override {
    ZSTD_inBuffer in{input.data(), input.size(), 0};
    ZSTD_outBuffer out{output, bytes, 0};
    run(out, in, ZSTD_e_continue);
    input.remove_prefix(in.pos);
    return out.pos;
  }
  size_t finish(char* output, size_t bytes, bool& is_over) override {
    ZSTD_inBuffer in{nullptr, 0, 0};
    ZSTD_outBuffer out{output, bytes, 0};
    is_over = run(out, in, ZSTD_e_end) == 0;
    return out.pos;
  }

 private:
  size_t run(ZSTD_outBuffer& out, ZSTD_inBuffer& in, ZSTD_EndDirective directive) {
    const size_t result = ZSTD_compressStream2(context_, &out, &in, directive);
    if (ZSTD_isError(result)) throw std::runtime_error(std::string("zstd: ") + ZSTD_getErrorName(result));
    return result;
  }

  ZSTD_CCtx* const context_;
};

}  // namespace

Compressor::Compressor(Codec codec, std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor), buffer_(kWriteBytes) {
  if (codec == Codec::gzip) encoder_ = std::make_unique<GzipEncoder>();
  if (codec == Codec::zstd) encoder_ = std::make_unique<ZstdEncoder>();
}

void Compressor::write(std::string_view bytes) {
  begin();
  while (!bytes.empty()) put(encoder_->encode(bytes, buffer_.data(), buffer_.size()));
  state_ = State::open;
}

void Compressor::finish() {
  begin();
  for (bool is_over = false; !is_over;) put(encoder_->finish(buffer_.data(), buffer_.size(), is_over));
  state_ = State::finished;
}

// It is broken until the work is done.
void Compressor::begin() {
  if (state_ == State::finished) throw std::runtime_error("cannot write " + path_ + ": it is finished already");
  if (state_ == State::broken) throw std::runtime_error("cannot write " + path_ + ": an earlier write has failed");
  state_ = State::broken;
}

void Compressor::put(size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t written = ::write(descriptor_, buffer_.data() + done, bytes - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw std::runtime_error("cannot write " + path_ + ": " + std::strerror(errno));
    done += static_cast<size_t>(written);
  }
}

}  // namespace spillway::compression
