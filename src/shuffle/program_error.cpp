#include "shuffle/program_error.h"

#include <cstdio>

#include "base/error.h"

namespace spillway::shuffle {
namespace {

constexpr size_t kMostShown = 40;

void (*before_end_of_process)() = nullptr;

thread_local const char* work_of_thread = nullptr;
thread_local uint32_t task_of_thread = 0;

std::string escaped(std::string_view bytes) {
  std::string text = "'";
  for (const char letter : bytes) {
    const auto byte = static_cast<unsigned char>(letter);
    char code[5] = {letter};
    if (byte < ' ' || byte >= 0x7f || letter == '\\' || letter == '\'')
      std::snprintf(code, sizeof code, "\\x%02x", byte);
    if (text.size() + std::strlen(code) > kMostShown) return text + "...'";
    text += code;
  }
  return text + "'";
}

}  // namespace

void end_process(const ProgramError& error) {
  if (before_end_of_process != nullptr) before_end_of_process();
  base::fatal("%s", error.what());
}

std::string current_work() {
  if (work_of_thread == nullptr) return "";
  return std::string(work_of_thread) + " task " + std::to_string(task_of_thread) + ": ";
}

Work::Work(const char* what, uint32_t task) {
  work_of_thread = what;
  task_of_thread = task;
}

Work::~Work() { work_of_thread = nullptr; }

void set_before_end_of_process(void (*function)()) { before_end_of_process = function; }

std::string shown(ItemClass item_class, std::string_view key) {
  ItemSlot slot;
  const void* item = slot.decode(item_class, key);
  switch (item_class) {
    case ItemClass::int32:
      return std::to_string(*static_cast<const int32_t*>(item));
    case ItemClass::int64:
      return std::to_string(*static_cast<const int64_t*>(item));
    case ItemClass::real64: {
      char text[32];
      std::snprintf(text, sizeof text, "%.17g", *static_cast<const double*>(item));
      return text;
    }
    case ItemClass::string:
      key.remove_suffix(1);
      return escaped(key);
    default:
      return escaped(key);
  }
}

void rethrow_of_program(const char* function, const std::string& keys) {
  std::string what = "what is no std::exception";
  try {
    throw;
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
  }
  throw ProgramError("the program's " + std::string(function) + " function, called with " + keys +
                     ", has thrown: " + what + "\n  Remedy: let it answer for all keys and values, and throw nothing.");
}

}  // namespace spillway::shuffle
