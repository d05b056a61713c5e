// What ends the job, in words for the user.
#pragma once

#include <stdexcept>
#include <string>

namespace spillway::pgas {

class Failure : public std::runtime_error {
 public:
  explicit Failure(const std::string& cause, const std::string& remedy = "")
      : std::runtime_error(remedy.empty() ? cause : cause + "\n  Remedy: " + remedy) {}
};

}  // namespace spillway::pgas
