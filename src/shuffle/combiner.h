// The program's function that makes one value of two with the same key. Called by several threads at a time.
#pragma once

#include <string_view>

#include "shuffle/item_class.h"

namespace spillway::shuffle {

class Combiner {
 public:
  // Returns the value that takes the place of both; `into`, where it is a number, may be changed and returned.
  using Function = const void* (*)(const void* key, void* into, const void* value, void* user);

  Combiner() = default;
  Combiner(ItemClass key_class, ItemClass value_class, Function function, void* user)
      : key_class_(key_class), value_class_(value_class), combine_(function), user_(user) {}

  explicit operator bool() const { return combine_ != nullptr; }

  // Where the combined value is until the same object is used for the next one.
  struct Slots {
    ItemSlot key;
    ItemSlot into;
    ItemSlot value;
  };
  std::string_view combine(std::string_view key, std::string_view into, std::string_view value, Slots& slots) const {
    return encoded(value_class_, combine_(slots.key.decode(key_class_, key), slots.into.decode(value_class_, into),
                                          slots.value.decode(value_class_, value), user_));
  }

 private:
  ItemClass key_class_ = ItemClass::bytes;
  ItemClass value_class_ = ItemClass::bytes;
  Function combine_ = nullptr;
  void* user_ = nullptr;
};

}  // namespace spillway::shuffle
