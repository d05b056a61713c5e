// One direction in which records go: gathered in send partition lists, sorted, sent, and taken by a sink.
//
// The program's thread is the only one that calls MPI. It adds records to a send partition list; a full one goes to the
// sorter's thread, and the sorted ones from there through this thread to MPI, or to the sink of this process. Whenever
// a list is full, and whenever it waits, this thread also takes what has come. So emitting, sorting, sending and
// merging overlap, and the memory of all lists is bounded: there are kLanes, and one more where they are kept.
//
// It waits for other threads of the process only where these wait for nobody (the sorter, the store), and for other
// processes only in Exchange::wait(), which receives: no circle can form.
//
// It passes any number of times: begin(), send(), finish(), begin() and so on. Between two passes with the same tag all
// processes must have waited for each other.
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "keyvalue/exchange.h"
#include "keyvalue/route.h"
#include "shuffle/combiner.h"
#include "shuffle/key_order.h"
#include "shuffle/list_sorter.h"

namespace spillway::keyvalue {

class RecordShuffle {
 public:
  // Of all passes, in this process.
  struct Figures {
    uint64_t shuffled_records = 0;  // what is left of them after combining
    uint64_t sent_bytes = 0;        // to other processes
  };

  // `order` and `combiner`, which may be empty, must stay.
  RecordShuffle(MPI_Comm communicator, int tag, const Route& route, size_t list_bytes, const shuffle::KeyOrder& order,
                const shuffle::Combiner& combiner);

  using UseList = std::function<void(shuffle::SortedList& list)>;
  // Shows `keep` each list that is sent from here on, which it may use, and set what pads it, until it returns from
  // `release`.
  void show_lists_to(UseList keep, UseList release);

  const Route& route() const { return route_; }
  bool is_begun() const { return exchange_ != nullptr; }

  // What comes goes to `sink`, nullptr where this process receives nothing.
  void begin(shuffle::BlockSink* sink, Exchange::Acknowledges acknowledges = Exchange::Acknowledges::no);
  // REQUIRES, as the next ones: is_begun(), and this process sends.
  void send(uint32_t partition, uint64_t key_hash, const shuffle::Record& record) {
    if (!filling_->list.add(partition, key_hash, record)) [[unlikely]]
      send_in_next_list(partition, key_hash, record);
  }
  bool has_gathered() const { return filling_ != nullptr && !filling_->list.is_empty(); }
  // Passes on what has been gathered, if a list is free to gather more, without the sorter: for short lists.
  void flush();
  // The same, whatever it has to wait for.
  void send_gathered();
  // The same, and waits until all of it is on its way: nothing is left that takes another call.
  void flush_all();
  void end_window();
  // Sends a block, with its header, of records that were sorted before.
  void send_block(const shuffle::BlockHeader& header, const char* block);

  // Sends what is sorted and takes what has come, without waiting.
  void progress();
  // Waits for something to come or to have gone. REQUIRES: a sender has not ended, or something is not sent.
  void wait() { exchange_->wait(); }
  bool is_over() const { return !exchange_->is_sending() && !exchange_->is_receiving(); }
  void acknowledge(int sender) { exchange_->acknowledge(sender); }

  // Says that nothing more comes from here.
  void end_sending();
  // The same where that has not been said, and waits until everything has gone and come; `on_wait` is called meanwhile.
  void finish(const std::function<void()>& on_wait);

  Figures figures() const;

 private:
  static constexpr size_t kLanes = 3;  // one is filled, one sorted, one sent; and one may be kept

  void add_lanes(size_t count);
  void send_in_next_list(uint32_t partition, uint64_t key_hash, const shuffle::Record& record);
  void pass_on_list();
  void send_list(shuffle::SendLane& lane);
  // Before another list is sorted into it.
  void release(shuffle::SendLane& lane) {
    if (release_) release_(lane.sorted);
  }
  void send_sorted(bool waits);
  shuffle::SendLane* free_lane();
  void collect_lanes();

  const MPI_Comm communicator_;
  const int tag_;
  const Route route_;
  const size_t list_bytes_;
  const shuffle::KeyOrder& order_;
  const shuffle::Combiner& combiner_;

  std::vector<std::unique_ptr<shuffle::SendLane>> lanes_;
  shuffle::SendLane* filling_ = nullptr;
  std::vector<shuffle::SendLane*> free_lanes_;
  std::unique_ptr<shuffle::ListSorter> sorter_;
  std::unique_ptr<Exchange> exchange_;
  UseList keep_;
  UseList release_;
  bool has_ended_sending_ = false;
  Figures past_;  // of what has been passed on, and of the passes that are over
};

}  // namespace spillway::keyvalue
