// What the command lines of simulations have in common, and SimGrid's settings.
#pragma once

#include <cstdint>
#include <string>

namespace spillway::simulation {

// Ends the program with status 2 and a message that begins with its name.
[[noreturn]] void refuse(const std::string& why);

// Refuses what is no whole number from 1 to `most`.
uint64_t number(const char* text, uint64_t most);

// The program's name in messages. Only warnings of SimGrid's are shown, and its network has bandwidths and latencies as
// they are given: its other models add what a connection's first message is slowed down by, to each transfer.
void begin_program(const char* name);

}  // namespace spillway::simulation
