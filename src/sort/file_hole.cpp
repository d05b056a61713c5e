#include "sort/file_hole.h"

#include <sys/stat.h>
#include <unistd.h>

namespace spillway::sort {
namespace {

constexpr int64_t kBlockBytes = 512;               // of those that are counted
constexpr int64_t kBytesOfBookkeeping = 64 << 10;  // that a file system may need

}  // namespace

bool make_longer_by_hole(int descriptor, uint64_t bytes) {
  struct stat before = {};
  struct stat after = {};
  if (fstat(descriptor, &before) != 0 || ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) return false;
  if (fstat(descriptor, &after) == 0 && (after.st_blocks - before.st_blocks) * kBlockBytes <= kBytesOfBookkeeping)
    return true;
  static_cast<void>(ftruncate(descriptor, before.st_size));
  return false;
}

}  // namespace spillway::sort
