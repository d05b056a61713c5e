// How a message gets from one rank's memory to another's: from the user's buffer into a cell or the store, and out
// again.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/overwrites.h"
#include "message/mailbox.h"
#include "mpi/request.h"

namespace spillway::mpi {

class Runtime;

// Where a message goes, and as what.
struct Address {
  uint32_t to = 0;  // rank of MPI_COMM_WORLD
  uint64_t context = 0;
  int source = 0;  // the sender's rank, as the receiver knows it
  int tag = 0;
};

// Sends a copy of what the stream gives; the memory is free again on return. A `token` other than 0 asks for an
// acknowledgement.
void send(Runtime& runtime, const Address& address, PackedStream& data, uint32_t token = 0);

// The same of `bytes` at `data`; for algorithms of our own.
void send_bytes(Runtime& runtime, const Address& address, const void* data, uint64_t bytes);

// The same message, the next `bytes` of `data`, for many receivers: one copy of the payload on each node. `address.to`
// is of no account.
void send_to_all(Runtime& runtime, const Address& address, const std::vector<uint32_t>& receivers,
                 message::ByteStream& data, uint64_t bytes);

// What is said of a synchronous message between its sender and its receiver.
void send_word(Runtime& runtime, uint32_t to, message::CellKind kind, uint32_t token);

// Tells the sender of the message that it has been matched, if it waits for that; once.
void acknowledge(Runtime& runtime, message::Envelope& envelope);

// The bytes of a message that has arrived. They stay: whoever is done with them releases the payload.
class ArrivedStream final : public message::ByteStream {
 public:
  ArrivedStream(Runtime& runtime, const message::Envelope& envelope);
  void read(void* out, uint64_t bytes) override;
  uint64_t bytes_left() const { return bytes_left_; }

 private:
  bool is_inlined_;
  message::MemoryStream inlined_;
  message::PayloadStream payload_;
  uint64_t bytes_left_;
};

// What is going to be written to the buffer, if that is worth noting: all of it, or no more than it.
using memory::Overwrite;
Overwrite overwrite_of(Runtime& runtime, const TypedBuffer& buffer, bool is_whole);

// The first `bytes` of the buffer are overwritten next.
void renew(Runtime& runtime, const TypedBuffer& buffer, uint64_t bytes);

// Copies the message into the buffer and ends it. More bytes than the buffer takes give MPI_ERR_TRUNCATE.
// REQUIRES: the rank holds a slot.
Outcome deliver(Runtime& runtime, message::Envelope& envelope, const TypedBuffer& buffer);

// The same into plain memory of exactly the message's size; for algorithms of our own.
void deliver_bytes(Runtime& runtime, message::Envelope& envelope, void* out);

}  // namespace spillway::mpi
