// What has gone wrong in a call of the program's, with the code that it gets.
#pragma once

#include <stdexcept>
#include <string>

namespace spillway::keyvalue {

class Failure : public std::runtime_error {
 public:
  Failure(int code, const std::string& cause, const std::string& remedy = "")
      : std::runtime_error(remedy.empty() ? cause : cause + "\n  Remedy: " + remedy), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

}  // namespace spillway::keyvalue
