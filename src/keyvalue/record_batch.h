// Batches of records as columns. Everything goes through Job::send() and Job::receive() record by record: what a batch
// saves is the call of each, which for programs in other languages is most of the time.
#pragma once

#include <spillway/mpid.h>

#include <cstdint>
#include <vector>

#include "keyvalue/job.h"

namespace spillway::keyvalue {

using SendFunction = void (Job::*)(const void* key, const void* value);

// Throws Failure at the first record that cannot be sent; those before it have been.
void send_batch(Job& job, SendFunction send, size_t count, const MPI_D_Column& keys, const MPI_D_Column& values);

// One of the columns of what has been received.
class ReceivedColumn {
 public:
  explicit ReceivedColumn(shuffle::ItemClass item_class) : item_class_(item_class) {}

  void clear();
  void append(const void* item);
  size_t bytes() const { return data_.size() + sizeof(int64_t) * offsets_.size(); }
  MPI_D_Column column() const;

 private:
  bool has_offsets() const {
    return item_class_ == shuffle::ItemClass::string || item_class_ == shuffle::ItemClass::bytes;
  }

  shuffle::ItemClass item_class_;
  std::vector<char> data_;
  std::vector<int64_t> offsets_;
};

class ReceivedBatch {
 public:
  explicit ReceivedBatch(const Configuration& configuration)
      : keys_(configuration.key_class), values_(configuration.value_class) {}

  // Returns how many records there are now, of a stream as many as have come. They stay until the next call.
  size_t receive(Job& job, size_t most);
  MPI_D_Column keys() const { return keys_.column(); }
  MPI_D_Column values() const { return values_.column(); }

 private:
  static constexpr size_t kMostBytes = 16 << 20;  // with more, no further record is taken

  ReceivedColumn keys_;
  ReceivedColumn values_;
};

}  // namespace spillway::keyvalue
