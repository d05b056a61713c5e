#include "sort/device_use.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/clock.h"

namespace spillway::sort {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBusyField = 9;  // Documentation/admin-guide/iostats.rst of the kernel counts from 1
constexpr double kNsOfMs = 1e6;

// Of the whole disk, where it is a partition. Empty where it is no block device.
std::string statistics_of(dev_t device) {
  std::string folder = "/sys/dev/block/" + std::to_string(major(device)) + ":" + std::to_string(minor(device));
  std::error_code error;
  if (fs::exists(folder + "/partition", error)) folder += "/..";
  const fs::path found = fs::canonical(folder, error);
  return error ? "" : (found / "stat").string();
}

std::optional<uint32_t> busy_ms(const std::string& statistics) {
  std::ifstream file(statistics);
  uint64_t value = 0;
  for (size_t field = 0; file >> value; ++field)
    if (field == kBusyField) return static_cast<uint32_t>(value);
  return {};
}

}  // namespace

DeviceUse::DeviceUse(const std::vector<std::string>& paths) : last_ns_(base::now_ns()) {
  for (const std::string& path : paths) {
    struct stat status = {};
    if (stat(path.c_str(), &status) != 0) continue;
    std::string statistics = statistics_of(status.st_dev);
    const bool is_known = std::any_of(devices_.begin(), devices_.end(),
                                      [&](const Device& device) { return device.statistics == statistics; });
    const std::optional<uint32_t> busy = is_known ? std::nullopt : busy_ms(statistics);
    if (busy) devices_.push_back({std::move(statistics), *busy});
  }
}

std::optional<double> DeviceUse::since_last() {
  const uint64_t now_ns = base::now_ns();
  const double ms = static_cast<double>(std::max<uint64_t>(now_ns - last_ns_, 1)) / kNsOfMs;
  last_ns_ = now_ns;
  std::optional<double> most;
  for (Device& device : devices_) {
    const uint32_t now = busy_ms(device.statistics).value_or(device.busy_ms);
    const double busy = static_cast<uint32_t>(now - device.busy_ms) / ms;  // the kernel begins anew after 2^32
    device.busy_ms = now;
    most = std::max(most.value_or(0), std::min(busy, 1.0));
  }
  return most;
}

}  // namespace spillway::sort
