#include <algorithm>
#include <deque>
#include <utility>

#include "bell.h"
#include "read_stage.h"
#include "sorter_time.h"

namespace spillway::simulation {

namespace s4u = simgrid::s4u;

namespace {

// Hosts are numbered among the readers, and among those that sort.
class TwoSided {
 public:
  TwoSided(SortCluster& cluster, const Model& model, uint64_t block_bytes, uint64_t slots)
      : cluster_(cluster),
        model_(model),
        block_bytes_(block_bytes),
        buffer_bytes_(slots * block_bytes),
        readers_(model.read_hosts),
        receivers_(model.sort_hosts()),
        bin_bells_(model.cores - 1) {
    for (uint32_t reader = 0; reader < readers_.size(); ++reader)
      readers_[reader].unread_bytes =
          model.bytes * (reader + 1) / readers_.size() - model.bytes * reader / readers_.size();
    for (Receiver& receiver : receivers_) receiver.free_buffers = s4u::Semaphore::create(model.receive_buffers);
  }

  ReadStage run() {
    const double begin_s = s4u::Engine::get_clock();
    for (uint32_t reader = 0; reader < readers_.size(); ++reader)
      s4u::Actor::create("io", cluster_.host(reader), [this, reader] { read(reader); });
    s4u::Actor::create("rank-0", cluster_.host(0), [this] { assign(); });
    for (uint32_t receiver = 0; receiver < receivers_.size(); ++receiver) {
      s4u::Host* host = cluster_.host(host_of(receiver));
      s4u::Actor::create("receiver", host, [this, receiver] { receive(receiver); });
      for (uint32_t bin = 0; bin < bin_bells_.size(); ++bin)
        s4u::Actor::create("sorter", host, [this, receiver, bin] { sort(receiver, bin); });
    }
    s4u::Engine::get_instance()->run();
    found_.seconds = s4u::Engine::get_clock() - begin_s;
    const auto sorters = static_cast<double>(receivers_.size() * bin_bells_.size());
    found_.computing_s /= sorters;
    found_.waiting_s /= sorters;
    found_.ending_s = found_.seconds - found_.computing_s - found_.waiting_s;
    return found_;
  }

 private:
  struct Reader {
    uint64_t unread_bytes = 0;
    uint64_t unassigned_bytes = 0;  // that have been read
    uint64_t held_bytes = 0;        // that have been read, or are being read, and have not been sent
    Bell room;
  };
  struct Message {
    uint32_t reader;
    uint64_t bytes;
  };
  struct Receiver {
    std::deque<Message> messages;  // whose sizes have been sent
    s4u::SemaphorePtr free_buffers;
    Bell bell;
    std::vector<uint64_t> received_bytes;  // by its messages
  };

  uint32_t host_of(uint32_t receiver) const { return model_.read_hosts + receiver; }

  // The thread that reads into the queue, which has as much memory as the buffers of a receiver.
  void read(uint32_t number) {
    Reader& reader = readers_[number];
    while (reader.unread_bytes != 0) {
      const uint64_t bytes = std::min(block_bytes_, reader.unread_bytes);
      while (reader.held_bytes + bytes > model_.cores * buffer_bytes_) reader.room.wait(reader.room.rings());
      reader.unread_bytes -= bytes;
      reader.held_bytes += bytes;
      cluster_.read_file_system(number, bytes);
      reader.unassigned_bytes += bytes;
      has_read_.ring();
    }
  }

  // The rounds of gather and scatter. One in which nobody has anything changes nothing and is left out.
  void assign() {
    uint64_t left = model_.bytes;
    while (left != 0) {
      const auto has_some = [](const Reader& reader) { return reader.unassigned_bytes != 0; };
      while (std::none_of(readers_.begin(), readers_.end(), has_some)) has_read_.wait(has_read_.rings());
      std::vector<Message> assigned;
      for (uint32_t number = 0; number < readers_.size(); ++number) {
        const uint64_t bytes = std::min(readers_[number].unassigned_bytes, buffer_bytes_);
        if (bytes == 0) continue;
        readers_[number].unassigned_bytes -= bytes;
        assigned.push_back({number, bytes});
        left -= bytes;
      }
      const auto ranks = static_cast<uint32_t>(readers_.size());
      s4u::this_actor::sleep_for(model_.gather_s(ranks) + model_.scatter_s(ranks));
      for (const Message& message : assigned) {
        Receiver& receiver = receivers_[messages_++ % receivers_.size()];
        receiver.messages.push_back(message);
        receiver.bell.ring();
      }
    }
    all_are_assigned_ = true;
  }

  void receive(uint32_t number) {
    Receiver& receiver = receivers_[number];
    for (uint64_t turn = number;; turn += receivers_.size()) {
      while (token_ != turn && token_bytes_ != model_.bytes) receiver.bell.wait(receiver.bell.rings());
      if (token_bytes_ == model_.bytes) return;
      s4u::this_actor::sleep_for(model_.latency_s);
      while (receiver.messages.empty()) receiver.bell.wait(receiver.bell.rings());
      s4u::this_actor::sleep_for(model_.latency_s);
      const Message message = receiver.messages.front();
      receiver.messages.pop_front();
      pass_token(message.bytes);
      receiver.free_buffers->acquire();
      cluster_.send(message.reader, host_of(number), message.bytes);
      readers_[message.reader].held_bytes -= message.bytes;
      readers_[message.reader].room.ring();
      receiver.received_bytes.push_back(message.bytes);
      found_.bytes[host_of(number)] += message.bytes;
      count_received(turn / receivers_.size());
    }
  }

  void pass_token(uint64_t bytes) {
    token_bytes_ += bytes;
    ++token_;
    if (token_bytes_ == model_.bytes) {
      for (Receiver& receiver : receivers_) receiver.bell.ring();
    } else {
      receivers_[token_ % receivers_.size()].bell.ring();
    }
  }

  // Activates a bin when all hosts have a buffer for it, or all there will be.
  void count_received(uint64_t lap) {
    if (received_.size() <= lap) received_.resize(lap + 1);
    ++received_[lap];
    if (++received_messages_ == messages_ && all_are_assigned_) {
      is_over_ = true;
      for (Bell& bell : bin_bells_) bell.ring();
    } else if (received_[lap] == receivers_.size()) {
      bin_bells_[lap % bin_bells_.size()].ring();
    }
  }

  bool is_active(uint64_t lap) const {
    return is_over_ || (lap < received_.size() && received_[lap] == receivers_.size());
  }

  void sort(uint32_t number, uint32_t bin) {
    Receiver& receiver = receivers_[number];
    SorterTime time(cluster_, model_, host_of(number), false);
    for (uint64_t lap = bin;; lap += bin_bells_.size()) {
      while (!is_active(lap)) bin_bells_[bin].wait(bin_bells_[bin].rings());
      if (lap >= receiver.received_bytes.size()) break;
      s4u::this_actor::sleep_for(model_.allreduce_s(model_.sort_hosts()));
      time.deal_out(receiver.received_bytes[lap]);
      receiver.free_buffers->release();
    }
    time.finish();
    found_.computing_s += time.computing_s();
    found_.waiting_s += time.waiting_s();
  }

  SortCluster& cluster_;
  const Model& model_;
  const uint64_t block_bytes_;
  const uint64_t buffer_bytes_;  // as much memory for all as one-sided delivery has
  std::vector<Reader> readers_;
  Bell has_read_;
  uint64_t messages_ = 0;  // that have been assigned
  bool all_are_assigned_ = false;
  std::vector<Receiver> receivers_;
  uint64_t token_ = 0;  // whose turn it is, counted on
  uint64_t token_bytes_ = 0;
  std::vector<uint64_t> received_;  // by laps of all receivers
  uint64_t received_messages_ = 0;
  bool is_over_ = false;
  std::vector<Bell> bin_bells_;
  ReadStage found_{.block_bytes = block_bytes_, .bytes = std::vector<uint64_t>(model_.hosts())};
};

}  // namespace

ReadStage read_two_sided(SortCluster& cluster, const Model& model, uint64_t block_bytes, uint64_t slots) {
  return TwoSided(cluster, model, block_bytes, slots).run();
}

}  // namespace spillway::simulation
