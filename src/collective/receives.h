// What one collective operation waits for.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "collective/call.h"
#include "message/matching.h"
#include "mpi/transfer.h"
#include "mpi/typed_buffer.h"

namespace spillway::collective {

using mpi::TypedBuffer;

// What a rank sends: its contribution; what it makes of several; or what some rank of its node, in its name, makes of
// the node's.
enum class Content : uint8_t { own, combined, of_node };

// Receives of one operation. All are posted, then waited for together: the rank is woken once, not once for each.
class Receives {
 public:
  Receives(const Call& call, const char* operation);
  Receives(Receives&&) noexcept = default;

  void expect(int rank, Content content = Content::own, Step step = Step::first);
  void expect_all_but(int rank);

  // How many have yet to come, of what news were taken of.
  uint64_t missing() const;

  // Where all of it goes. To be called once the rank has contributed what lies there.
  void will_fill(const TypedBuffer& buffer);
  void will_fill(const std::function<TypedBuffer(int)>& part);  // part(rank) for each that is expected

  // They are filled now.
  void begin_to_fill() { overwrites_.clear(); }

  // Sleeps until all have come.
  void wait();

  // What is waited for, for the deadlock report.
  void describe(char* text, size_t size) const;

  // Moves the data of the i-th expected rank; each once. The result is MPI_SUCCESS or MPI_ERR_TRUNCATE.
  int deliver_to(size_t i, const TypedBuffer& buffer);

  // All of them, to where part(rank) says. The result is of the first that went wrong, or `error`.
  int deliver_all(const std::function<TypedBuffer(int)>& part, int error);

  // Of the ranks that are expected so far, only that they have come counts. What they have sent goes.
  void keep_signals();

  // The ranks from the i-th expected one on are not waited for, but that not too many of them are behind. What has come
  // of them goes, what comes will go.
  void drop_from(size_t i);

  // The message of the i-th expected rank, for who does not move it at once.
  const message::Envelope& message(size_t i) const { return *receives_[i].matched; }

  size_t count() const { return receives_.size(); }
  int rank_of(size_t i) const { return receives_[i].source; }

 private:
  struct Expected : message::PostedReceive {
    Content content = Content::own;
  };

  // Fewer than a persistent operation has numbers of its starts; and what nobody took would fill the store.
  static constexpr uint64_t kMostUnwanted = 500;
  uint64_t too_far_ahead() const;

  Call call_;
  const char* operation_;
  bool drops_ = false;
  std::vector<mpi::Overwrite> overwrites_;
  std::deque<Expected> receives_;  // addresses stay, also when the deque is moved
};

}  // namespace spillway::collective
