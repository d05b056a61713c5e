#include "keyvalue/number_combiners.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>

#include "keyvalue/failure.h"

namespace spillway::keyvalue {
namespace {

template <typename Number>
Number sum(Number first, Number second) {
  if constexpr (std::is_integral_v<Number>) {
    using Unsigned = std::make_unsigned_t<Number>;
    return static_cast<Number>(static_cast<Unsigned>(first) + static_cast<Unsigned>(second));
  } else {
    return first + second;
  }
}

template <typename Number>
Number least(Number first, Number second) {
  if constexpr (std::is_integral_v<Number>) return std::min(first, second);
  return std::fmin(first, second);
}

template <typename Number>
Number greatest(Number first, Number second) {
  if constexpr (std::is_integral_v<Number>) return std::max(first, second);
  return std::fmax(first, second);
}

template <typename Number, Number combine(Number, Number)>
const void* combine_numbers(const void*, void* into, const void* value, void*) {
  auto& number = *static_cast<Number*>(into);
  number = combine(number, *static_cast<const Number*>(value));
  return into;
}

template <typename Number>
MPI_D_Combine_function combiner_of(MPI_D_Op op) {
  switch (op) {
    case MPI_D_OP_SUM:
      return combine_numbers<Number, sum<Number>>;
    case MPI_D_OP_MIN:
      return combine_numbers<Number, least<Number>>;
    case MPI_D_OP_MAX:
      return combine_numbers<Number, greatest<Number>>;
  }
  throw Failure(MPI_D_ERR_CONF, "MPI_D_Set_combine_op(): " + std::to_string(op) + " is no operation",
                "the operations are in spillway/mpid.h");
}

}  // namespace

MPI_D_Combine_function number_combiner(shuffle::ItemClass value_class, MPI_D_Op op) {
  switch (value_class) {
    case shuffle::ItemClass::int32:
      return combiner_of<int32_t>(op);
    case shuffle::ItemClass::int64:
      return combiner_of<int64_t>(op);
    case shuffle::ItemClass::real64:
      return combiner_of<double>(op);
    default:
      throw Failure(MPI_D_ERR_CONF, "MPI_D_Set_combine_op() is for values that are numbers",
                    "say which class the values are of with MPI_D_VALUE_CLASS, or use MPI_D_Set_combine()");
  }
}

}  // namespace spillway::keyvalue
