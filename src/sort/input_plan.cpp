#include "sort/input_plan.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>

#include "sort/failure.h"
#include "storage/spill_file.h"

namespace spillway::sort {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const std::string& cause) {
  throw Failure("cannot sort " + path + ": " + cause, "name files, or directories of files, that can be read");
}

std::vector<std::string> files_at(const std::string& path, const std::string& output) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) fail(path, error.message());
  if (fs::is_regular_file(status)) return {path};
  if (!fs::is_directory(status)) fail(path, "it is neither a file nor a directory");
  std::vector<std::string> files;
  fs::directory_iterator entries(path, error);
  if (error) fail(path, error.message());
  for (const fs::directory_entry& entry : entries) {
    if (entry.path().filename().string().starts_with(".")) continue;
    const bool is_file = entry.is_regular_file(error);
    if (error) fail(entry.path().string(), error.message());
    std::error_code no_output;
    if (is_file && !fs::equivalent(entry.path(), output, no_output)) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  // The output of a sort in parts.
  const std::string manifest = (fs::path(path) / "manifest.json").string();
  if (std::binary_search(files.begin(), files.end(), (fs::path(path) / "part-00000").string()))
    std::erase(files, manifest);
  return files;
}

}  // namespace

std::vector<InputFile> list_input(const std::vector<std::string>& paths, uint64_t unit_bytes,
                                  const std::string& output) {
  std::vector<InputFile> files;
  for (const std::string& path : paths)
    for (const std::string& file : files_at(path, output)) {
      std::error_code error;
      const uint64_t bytes = fs::file_size(file, error);
      if (error) fail(file, error.message());
      if (bytes % unit_bytes != 0)
        throw Failure("the last of the records of " + std::to_string(unit_bytes) + " bytes in " + file +
                          ", which has " + std::to_string(bytes) + " bytes, is not whole",
                      "look whether the file is complete, and at --record-bytes");
      files.push_back({file, bytes});
    }
  return files;
}

InputPlan::InputPlan(std::vector<InputFile> files, uint64_t block_bytes, uint64_t tail_bytes)
    : block_bytes_(block_bytes), tail_bytes_(tail_bytes) {
  for (InputFile& file : files) {
    if (file.bytes == 0) continue;
    firsts_.push_back({block_count_, total_bytes_});
    total_bytes_ += file.bytes;
    block_count_ += (file.bytes + block_bytes - 1) / block_bytes;
    files_.push_back(std::move(file));
  }
}

InputPlan::Block InputPlan::block(uint64_t number) const {
  const auto after = std::upper_bound(firsts_.begin(), firsts_.end(), number,
                                      [](uint64_t block, const First& first) { return block < first.block; });
  const auto file = static_cast<size_t>(after - firsts_.begin() - 1);
  const uint64_t offset = (number - firsts_[file].block) * block_bytes_;
  const uint64_t bytes = std::min(block_bytes_, files_[file].bytes - offset);
  const uint64_t read_offset = offset / storage::kBlockBytes * storage::kBlockBytes;
  const uint64_t end = std::min(offset + bytes + tail_bytes_, files_[file].bytes);
  return {file, offset, bytes, firsts_[file].byte + offset, read_offset, end - read_offset};
}

InputPlan::Place InputPlan::place(uint64_t position) const {
  const auto after = std::upper_bound(firsts_.begin(), firsts_.end(), position,
                                      [](uint64_t at, const First& first) { return at < first.byte; });
  const auto file = static_cast<size_t>(after - firsts_.begin() - 1);
  return {file, position - firsts_[file].byte};
}

}  // namespace spillway::sort
