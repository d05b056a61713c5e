#include "launch/process_times.h"

#include <dirent.h>

#include <cctype>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

namespace spillway::launch {
namespace {

ProcessTimes times_in(const std::string& path) {
  ProcessTimes times;
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return times;
  std::istringstream fields(line.substr(name_end + 1));
  fields >> times.state;
  std::string skipped;
  for (int field = 4; field < 14; ++field) fields >> skipped;  // utime and stime are fields 14 and 15 (proc(5))
  uint64_t user_ticks = 0, system_ticks = 0;
  if (fields >> user_ticks >> system_ticks) times.cpu_ticks = user_ticks + system_ticks;
  return times;
}

}  // namespace

ProcessTimes times_of(int pid) { return times_in("/proc/" + std::to_string(pid) + "/stat"); }

char state_of_last_threads(int pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/task/";
  const std::unique_ptr<DIR, int (*)(DIR*)> threads(opendir(path.c_str()), closedir);
  char found = '?';
  while (const dirent* entry = threads ? readdir(threads.get()) : nullptr) {
    if (isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) continue;
    const char state = times_in(path + entry->d_name + "/stat").state;
    if (state == 'D') return state;
    const bool has_ended = state == 'Z' || state == 'X' || state == '?';
    if (!has_ended || found == '?') found = state;
  }
  return found;
}

}  // namespace spillway::launch
