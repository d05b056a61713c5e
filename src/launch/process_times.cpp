#include "launch/process_times.h"

#include <fstream>
#include <sstream>
#include <string>

namespace spillway::launch {

ProcessTimes times_of(int pid) {
  ProcessTimes times;
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
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

}  // namespace spillway::launch
