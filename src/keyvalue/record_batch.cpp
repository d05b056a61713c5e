#include "keyvalue/record_batch.h"

#include <cstring>
#include <string>
#include <string_view>

#include "keyvalue/failure.h"

namespace spillway::keyvalue {
namespace {

using shuffle::ItemClass;

size_t number_bytes(ItemClass item_class) { return item_class == ItemClass::int32 ? sizeof(int32_t) : sizeof(int64_t); }

// The items of a column one after the other, as MPI_D_Send() takes them.
class ColumnReader {
 public:
  ColumnReader(const char* name, ItemClass item_class, const MPI_D_Column& column)
      : name_(name), item_class_(item_class), column_(column), next_(static_cast<const char*>(column.data)) {}

  // The item stays until the next call.
  const void* next() {
    if (item_class_ != ItemClass::string && item_class_ != ItemClass::bytes) {
      const void* number = next_;
      next_ += number_bytes(item_class_);
      return number;
    }
    const void* item = item_class_ == ItemClass::string ? next_string() : next_bytes();
    ++index_;
    return item;
  }

 private:
  bool has_ends() const { return column_.ends != nullptr && column_.offsets != nullptr; }
  bool has_offsets() const { return column_.offsets != nullptr || column_.short_offsets != nullptr; }

  const void* next_string() {
    if (!has_offsets()) return bytes_to_nul().data();
    const std::string_view text = bytes_between_offsets();
    if (std::memchr(text.data(), '\0', text.size()) != nullptr) refuse("a string has a NUL");
    text_.assign(text);
    return text_.c_str();
  }

  const void* next_bytes() {
    const std::string_view bytes = has_offsets() ? bytes_between_offsets() : bytes_to_nul();
    bytes_ = {bytes.data(), bytes.size()};
    return &bytes_;
  }

  std::string_view bytes_to_nul() {
    const std::string_view bytes(next_);
    next_ += bytes.size() + 1;
    return bytes;
  }

  std::string_view bytes_between_offsets() const {
    const int64_t begin = offset(index_);
    const int64_t end = has_ends() ? column_.ends[index_] : offset(index_ + 1);
    if (begin < 0 || begin > end)
      refuse("its offsets descend: from " + std::to_string(begin) + " to " + std::to_string(end));
    return {static_cast<const char*>(column_.data) + begin, static_cast<size_t>(end - begin)};
  }

  int64_t offset(size_t index) const {
    return column_.offsets != nullptr ? column_.offsets[index] : column_.short_offsets[index];
  }

  [[noreturn]] void refuse(const std::string& cause) const {
    throw Failure(MPI_D_ERR_BATCH, "MPI_D_Send_batch(): record " + std::to_string(index_) + ", " + name_ + ": " + cause,
                  "give ascending offsets, one more than records, or ends; for text with NULs, the class bytes");
  }

  const char* name_;
  ItemClass item_class_;
  const MPI_D_Column& column_;
  const char* next_;  // of numbers, and where there are no offsets
  size_t index_ = 0;
  MPI_D_Bytes bytes_{};
  std::string text_;
};

}  // namespace

void send_batch(Job& job, SendFunction send, size_t count, const MPI_D_Column& keys, const MPI_D_Column& values) {
  ColumnReader key_reader("key", job.configuration().key_class, keys);
  ColumnReader value_reader("value", job.configuration().value_class, values);
  for (size_t i = 0; i < count; ++i) {
    const void* key = key_reader.next();
    (job.*send)(key, value_reader.next());
  }
}

void ReceivedColumn::clear() {
  data_.clear();
  offsets_.clear();
  if (has_offsets()) offsets_.push_back(0);
}

void ReceivedColumn::append(const void* item) {
  std::string_view bytes = shuffle::encoded(item_class_, item);
  if (item_class_ == ItemClass::string) bytes.remove_suffix(1);
  data_.insert(data_.end(), bytes.begin(), bytes.end());
  if (has_offsets()) offsets_.push_back(static_cast<int64_t>(data_.size()));
}

MPI_D_Column ReceivedColumn::column() const {
  return {data_.data(), has_offsets() ? offsets_.data() : nullptr, nullptr, nullptr};
}

size_t ReceivedBatch::receive(Job& job, size_t most) {
  keys_.clear();
  values_.clear();
  size_t count = 0;
  const void* key = nullptr;
  const void* value = nullptr;
  while (count < most && keys_.bytes() + values_.bytes() < kMostBytes &&
         (count == 0 ? job.receive(key, value) : job.receive_at_once(key, value))) {
    keys_.append(key);
    values_.append(value);
    ++count;
  }
  return count;
}

}  // namespace spillway::keyvalue
