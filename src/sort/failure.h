// What ends a sort, in words for the user.
#pragma once

#include <stdexcept>
#include <string>

namespace spillway::sort {

class Failure : public std::runtime_error {
 public:
  Failure(const std::string& cause, const std::string& remedy) : std::runtime_error(cause + "\n  Remedy: " + remedy) {}
};

// Wrong options: the exit status is another one.
class UsageFailure : public Failure {
 public:
  using Failure::Failure;
};

}  // namespace spillway::sort
