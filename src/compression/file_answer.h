// What the functions of mpid_files.h return, and what they have to say when they fail.
#pragma once

#include <exception>
#include <new>
#include <string>

namespace spillway::compression {

inline thread_local std::string last_file_error;

// The result of a function's body, or `failed` where it throws.
template <typename Result, typename Body>
Result file_answer(Result failed, Body body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    last_file_error = "not enough memory for a file";
  } catch (const std::exception& error) {
    last_file_error = error.what();
  }
  return failed;
}

}  // namespace spillway::compression
