// Names of hosts as people write them: without regard to case, with or without their domain. Header only.
#pragma once

#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <string_view>

namespace spillway::base {

using HostName = std::array<char, HOST_NAME_MAX + 1>;  // ends with NUL

// What `hostname` says.
inline HostName host_name() {
  HostName name{};
  gethostname(name.data(), name.size() - 1);
  return name;
}

inline bool is_same_host(std::string_view name, std::string_view other) {
  const size_t end = std::min(name.find('.'), name.size());
  const size_t other_end = std::min(other.find('.'), other.size());
  if (end == name.size() || other_end == other.size()) {  // one has no domain, so that of the other does not matter
    name = name.substr(0, end);
    other = other.substr(0, other_end);
  }
  return name.size() == other.size() && strncasecmp(name.data(), other.data(), name.size()) == 0;
}

}  // namespace spillway::base
