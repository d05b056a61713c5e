// Matching of messages and receives of one rank, by MPI's rules (MPI 4.1, 3.5): a message goes to the oldest receive
// that it fits; a receive takes the oldest message that fits it; messages of one sender in one communicator do not
// overtake each other.
//
// Knows neither MPI's types nor user memory: a receive is a PostedReceive that its owner keeps until it is matched or
// withdrawn. Not thread-safe: the runtime's lock guards it.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "message/message_store.h"

namespace spillway::message {

inline constexpr int32_t kAnySource = -1;
inline constexpr int32_t kAnyTag = -1;

// A message that has arrived. Owns its reference to the store's payload until it is delivered.
struct Envelope {
  int32_t source = 0;
  int32_t tag = 0;
  uint64_t context = 0;
  uint64_t bytes = 0;
  Payload payload;  // place `none`: the bytes are in `inlined`
  std::vector<std::byte> inlined;
  uint32_t sender = 0;
  uint32_t token = 0;  // 0: nobody waits for an acknowledgement
};

struct PostedReceive {
  uint64_t context = 0;
  int32_t source = kAnySource;
  int32_t tag = kAnyTag;
  bool is_signal = false;  // only that a message comes counts: its payload may be released at once
  std::unique_ptr<Envelope> matched;
};

class MatchingEngine {
 public:
  // A message has arrived. Returns the receive that it was matched with, or nullptr: then it is kept.
  PostedReceive* arrive(std::unique_ptr<Envelope> envelope);

  // Posts a receive. Matched at once when receive->matched is set on return; else `receive` must live until it is
  // matched or withdrawn.
  void post(PostedReceive* receive);

  // Returns false when it has been matched already.
  bool withdraw(PostedReceive* receive);

  // The message that the receive is going to be matched with is wanted by nobody: arrive() returns the receive of
  // unwanted ones for it, whose message the caller ends before the next one arrives. REQUIRES: `receive` is not
  // matched; it need not live any longer.
  void disown(PostedReceive* receive);
  bool is_unwanted(const PostedReceive* receive) const { return receive == &unwanted_; }
  // Of that context, that have not come.
  size_t unwanted_count(uint64_t context) const;

  // The oldest unexpected message that fits, or nullptr. It stays.
  const Envelope* probe(uint64_t context, int32_t source, int32_t tag) const;

  // The same, and takes it out (matched probe).
  std::unique_ptr<Envelope> extract(uint64_t context, int32_t source, int32_t tag);

  // The unexpected message that its sender calls by this token, or nullptr when it has been matched.
  std::unique_ptr<Envelope> take_back(uint32_t sender, uint32_t token);

  // The context will hardly be used any more: forgets it, when no receive and no message waits in it any longer.
  void forget(uint64_t context);

  size_t unexpected_count() const;
  size_t context_count() const { return queues_.size(); }

 private:
  struct Posted {
    int32_t source, tag;
    PostedReceive* receive;
  };
  struct Queues {
    std::list<Posted> posted;
    std::list<std::unique_ptr<Envelope>> unexpected;
    size_t unwanted_count = 0;
    bool is_to_be_forgotten = false;
  };

  static std::list<Posted>::iterator find_posted(Queues& queues, const PostedReceive* receive);

  std::unordered_map<uint64_t, Queues> queues_;  // by context
  PostedReceive unwanted_;
};

}  // namespace spillway::message
