// The function that makes one value of two with the same key. Called by several threads at a time.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "shuffle/item_class.h"
#include "shuffle/program_error.h"

namespace spillway::shuffle {

class Combiner {
 public:
  // Returns the value that takes the place of both; `into`, where it is a number, may be changed and returned.
  using Function = const void* (*)(const void* key, void* into, const void* value, void* user);

  // Whose the function is. The library's are of numbers, which they change in place; they fail never, nor do they look
  // at keys.
  enum class Owner { program, library };

  Combiner() = default;
  Combiner(ItemClass key_class, ItemClass value_class, Function function, void* user, Owner owner = Owner::program)
      : key_class_(key_class), value_class_(value_class), combine_(function), user_(user), owner_(owner) {}

  explicit operator bool() const { return combine_ != nullptr; }
  bool is_librarys() const { return owner_ == Owner::library; }

  // Where the combined value is until the same object is used for the next one.
  struct Slots {
    ItemSlot key;
    ItemSlot into;
    ItemSlot value;
  };
  std::string_view combine(std::string_view key, std::string_view into, std::string_view value, Slots& slots) const {
    const void* combined = call_of_program(
        "combine",
        [&] {
          return combine_(slots.key.decode(key_class_, key), slots.into.decode(value_class_, into),
                          slots.value.decode(value_class_, value), user_);
        },
        [&] { return "values of " + shown(key_class_, key); });
    return encoded(value_class_, combined);
  }

  // Of two numbers where they lie, aligned or not, four or eight bytes each. REQUIRES: is_librarys().
  void combine_numbers(char* into, const char* value, size_t bytes) const {
    if (bytes == sizeof(int64_t)) {
      combine_words<int64_t>(into, value);
    } else {
      combine_words<int32_t>(into, value);
    }
  }

 private:
  template <typename Word>
  void combine_words(char* into, const char* value) const {
    Word words[2];
    std::memcpy(&words[0], into, sizeof(Word));
    std::memcpy(&words[1], value, sizeof(Word));
    combine_(nullptr, &words[0], &words[1], nullptr);
    std::memcpy(into, &words[0], sizeof(Word));
  }

  ItemClass key_class_ = ItemClass::bytes;
  ItemClass value_class_ = ItemClass::bytes;
  Function combine_ = nullptr;
  void* user_ = nullptr;
  Owner owner_ = Owner::program;
};

}  // namespace spillway::shuffle
