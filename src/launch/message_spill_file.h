// The file that the node's message store spills to: without a name, so that nothing is left whatever happens.
#pragma once

#include <string>

#include "launch/descriptor.h"

namespace spillway::launch {

// Throws std::system_error when the directory does not allow it.
Descriptor make_message_spill_file(const std::string& directory);

}  // namespace spillway::launch
