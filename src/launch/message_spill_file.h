// The files that the node's message store spills to: without names, so that nothing is left whatever happens.
#pragma once

#include <string>
#include <vector>

#include "base/descriptor.h"

namespace spillway::launch {

// One in each of the directories, which `:` separates. Throws std::system_error when one does not allow it.
std::vector<base::Descriptor> make_message_spill_files(const std::string& directories);

}  // namespace spillway::launch
