// Owner of one file descriptor.
#pragma once

#include "base/descriptor.h"

namespace spillway::launch {

using base::Descriptor;

}  // namespace spillway::launch
