#include "shuffle/combiner.h"

namespace spillway::shuffle {

std::string_view Combiner::combine(std::string_view key, std::string_view into, std::string_view value,
                                   Slots& slots) const {
  return encoded(value_class_, combine_(slots.key.decode(key_class_, key), slots.into.decode(value_class_, into),
                                        slots.value.decode(value_class_, value), user_));
}

}  // namespace spillway::shuffle
