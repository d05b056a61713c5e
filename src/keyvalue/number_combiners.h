// Combine functions of numbers, for programs that need none of their own: calling into another language for each pair
// of values costs more than all else.
#pragma once

#include <spillway/mpid.h>

#include "shuffle/item_class.h"

namespace spillway::keyvalue {

// Throws Failure where the values are no numbers, or there is no such operation.
MPI_D_Combine_function number_combiner(shuffle::ItemClass value_class, MPI_D_Op op);

}  // namespace spillway::keyvalue
