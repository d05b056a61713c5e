#include "simulation/simulation_program.h"

#include <xbt/log.h>

#include <cstdio>
#include <cstdlib>
#include <simgrid/s4u.hpp>

namespace spillway::simulation {
namespace {

const char* program_name = "simulation";

}  // namespace

void refuse(const std::string& why) {
  std::fprintf(stderr, "%s: %s\n", program_name, why.c_str());
  std::exit(2);
}

uint64_t number(const char* text, uint64_t most) {
  char* end = nullptr;
  const uint64_t value = std::strtoull(text, &end, 10);
  if (end == text || *end != '\0' || value == 0 || value > most) refuse(std::string("not a usable number: ") + text);
  return value;
}

void begin_program(const char* name) {
  program_name = name;
  xbt_log_control_set("root.thresh:warning");
  simgrid::s4u::Engine::set_config("network/model:CM02");
  simgrid::s4u::Engine::set_config("contexts/stack-size:64");
}

}  // namespace spillway::simulation
