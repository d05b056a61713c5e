// The functions of mpid_files.h.
#include <spillway/mpid_files.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/host_names.h"
#include "compression/codec.h"
#include "compression/compressor.h"
#include "compression/decompressor.h"
#include "compression/file_answer.h"
#include "compression/kept_output.h"

#define SPILLWAY_EXPORT __attribute__((visibility("default")))

using namespace spillway::compression;

struct MPI_D_Decompression : Decompressor {
  using Decompressor::Decompressor;
};

struct MPI_D_Compression : Compressor {
  using Compressor::Compressor;
};

struct MPI_D_Keeping : KeptOutput {
  using KeptOutput::KeptOutput;
};

namespace {

Codec part_codec = Codec::none;

}  // namespace

void spillway::compression::set_part_codec(Codec codec) { part_codec = codec; }

extern "C" {

SPILLWAY_EXPORT const char* MPI_D_File_error(void) { return last_file_error.c_str(); }

SPILLWAY_EXPORT int MPI_D_Is_compressed(const char* path) {
  return file_answer(-1, [&] { return codec_of_file(path) == Codec::none ? 0 : 1; });
}

SPILLWAY_EXPORT const char* MPI_D_Codec_of(const char* path, const void* beginning, size_t bytes) {
  return file_answer<const char*>(nullptr, [&] {
    const std::string_view given(static_cast<const char*>(beginning), std::min(bytes, kMarkBytes));
    return name_of(codec_of(path, given));
  });
}

SPILLWAY_EXPORT MPI_D_Decompression* MPI_D_Decompress_open(const char* path) {
  return file_answer<MPI_D_Decompression*>(nullptr, [&] { return new MPI_D_Decompression(path); });
}

SPILLWAY_EXPORT ptrdiff_t MPI_D_Decompress_read(MPI_D_Decompression* file, void* to, size_t bytes) {
  return file_answer<ptrdiff_t>(-1, [&] { return static_cast<ptrdiff_t>(file->read(static_cast<char*>(to), bytes)); });
}

SPILLWAY_EXPORT void MPI_D_Decompress_close(MPI_D_Decompression* file) { delete file; }

SPILLWAY_EXPORT int MPI_D_Compress_open(const char* path, int descriptor, MPI_D_Compression** file) {
  *file = nullptr;
  return file_answer(-1, [&] {
    const Codec codec = codec_of_path(path);
    if (codec != Codec::none) *file = new MPI_D_Compression(codec, path, descriptor);
    return 0;
  });
}

SPILLWAY_EXPORT int MPI_D_Compress_write(MPI_D_Compression* file, const void* from, size_t bytes) {
  return file_answer(-1, [&] { return file->write({static_cast<const char*>(from), bytes}), 0; });
}

SPILLWAY_EXPORT int MPI_D_Compress_finish(MPI_D_Compression* file) {
  return file_answer(-1, [&] { return file->finish(), 0; });
}

SPILLWAY_EXPORT void MPI_D_Compress_close(MPI_D_Compression* file) { delete file; }

SPILLWAY_EXPORT MPI_D_Keeping* MPI_D_Keep_open(const char* path, int descriptor) {
  return file_answer<MPI_D_Keeping*>(nullptr, [&] { return new MPI_D_Keeping(path, descriptor); });
}

SPILLWAY_EXPORT int MPI_D_Keep_write(MPI_D_Keeping* file, const void* from, size_t bytes) {
  return file_answer(-1, [&] { return file->write({static_cast<const char*>(from), bytes}), 0; });
}

SPILLWAY_EXPORT int MPI_D_Keep_finish(MPI_D_Keeping* file) {
  return file_answer(-1, [&] { return file->finish(), 0; });
}

SPILLWAY_EXPORT void MPI_D_Keep_close(MPI_D_Keeping* file) { delete file; }

SPILLWAY_EXPORT const char* MPI_D_Part_suffix(void) { return suffix_of(part_codec); }

SPILLWAY_EXPORT int MPI_D_Is_this_host(const char* name) {
  return spillway::base::is_same_host(name, spillway::base::host_name().data()) ? 1 : 0;
}

}  // extern "C"
