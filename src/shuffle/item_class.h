// What keys and values are to the program, and the bytes that they are in records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace spillway::shuffle {

enum class ItemClass { string, int32, int64, real64, bytes };

// Of the class `bytes`, as the program has it: MPI_D_Bytes.
struct Bytes {
  const void* data;
  size_t size;
};

// The bytes of a string are those of its NUL, too: so it can be given back where it lies.
inline std::string_view encoded(ItemClass item_class, const void* item) {
  switch (item_class) {
    case ItemClass::string:
      return {static_cast<const char*>(item), std::strlen(static_cast<const char*>(item)) + 1};
    case ItemClass::int32:
      return {static_cast<const char*>(item), sizeof(int32_t)};
    case ItemClass::bytes: {
      const auto& bytes = *static_cast<const Bytes*>(item);
      return {static_cast<const char*>(bytes.data), bytes.size};
    }
    default:
      return {static_cast<const char*>(item), sizeof(int64_t)};
  }
}

// Where an item is that has been made of bytes: what lies in records is not aligned.
class ItemSlot {
 public:
  // The item stays as long as the bytes, and until the next call.
  void* decode(ItemClass item_class, std::string_view bytes) {
    switch (item_class) {
      case ItemClass::string:
        return const_cast<char*>(bytes.data());
      case ItemClass::bytes:
        bytes_ = {bytes.data(), bytes.size()};
        return &bytes_;
      case ItemClass::int32:
        std::memcpy(&number_, bytes.data(), sizeof(int32_t));
        return &number_;
      default:
        std::memcpy(&number_, bytes.data(), sizeof number_);
        return &number_;
    }
  }

 private:
  union {
    int64_t number_ = 0;
    Bytes bytes_;
  };
};

}  // namespace spillway::shuffle
