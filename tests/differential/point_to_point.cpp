// Point-to-point steps: every way to send, every way to receive, every way to wait.
#include <algorithm>
#include <memory>

#include "program.h"
#include "typed_block.h"

namespace {

enum SendMode { kSend, kIsend, kSsend, kIssend, kBsend, kIbsend, kRsend, kIrsend, kIsendForgotten, kSendModes };

// How a rank receives the messages of one step.
struct Reception {
  Reception(Random& random) : any_source(random.chance(25)), any_tag(random.chance(25)), is_late(random.chance(35)) {}

  bool any_source;
  bool any_tag;
  bool is_late;  // the receives begin after the rank's own sends, so these must not wait for each other
  int capacity = 0;
};

struct Message {
  int from_group, from, to_group, to, tag;
  int elements;  // in an item
  int items;
  int mode;
  bool is_received = false;
};

struct Exchange {
  Exchange(Program& its_program, Random& random, const Communicator& where)
      : program(its_program), communicator(where), own(its_program.own_random(random)) {
    const std::vector<MPI_Datatype> basics = {MPI_CHAR, MPI_INT, MPI_DOUBLE, MPI_INT64_T, MPI_BYTE};
    basic = random.among(basics);
    MPI_Type_size(basic, &basic_size);
    receptions.resize(communicator.groups.size());
    for (size_t group = 0; group < receptions.size(); ++group) {
      for (size_t i = 0; i < communicator.groups[group].size(); ++i) receptions[group].emplace_back(random);
    }
    // MPICH 4.0 confuses unexpected messages of a rank to itself on a communicator of one.
    if (!communicator.is_inter() && communicator.size(0) == 1) receptions[0][0].is_late = false;
    const int number = random.between(1, 14);
    for (int i = 0; i < number; ++i) draw_message(random, number);
  }

  void draw_message(Random& random, int number) {
    Message made{};
    made.from_group = communicator.is_inter() ? random.below(2) : 0;
    made.to_group = communicator.other(made.from_group);
    made.from = random.below(communicator.size(made.from_group));
    made.to = random.below(communicator.size(made.to_group));
    made.tag = random.below(3);
    const int length = program.message_bytes(random, number) / basic_size;
    const std::vector<int> elements = {1, 2, 3, 4, 6, std::max(length, 1)};
    made.elements = random.among(elements);
    made.items = length / made.elements;
    made.mode = random.below(kSendModes);
    Reception& reception = reception_of(made);
    // Nothing that needs the receive to have begun, and nothing that waits for it.
    if (reception.is_late && (made.mode == kRsend || made.mode == kIrsend)) made.mode -= kRsend - kBsend;
    if (reception.is_late && (made.mode == kSend || made.mode == kSsend)) ++made.mode;
    reception.capacity = std::max(reception.capacity, made.elements * made.items);
    has_ready_send = has_ready_send || made.mode == kRsend || made.mode == kIrsend;
    messages.push_back(made);
  }

  Reception& reception_of(const Message& message) {
    return receptions[static_cast<size_t>(message.to_group)][static_cast<size_t>(message.to)];
  }
  bool is_from_me(const Message& message) const {
    return message.from_group == communicator.my_group && message.from == communicator.my_rank;
  }
  bool is_for_me(const Message& message) const {
    return message.to_group == communicator.my_group && message.to == communicator.my_rank;
  }

  void attach_buffer();
  void detach_buffer();
  void post_receive(const Message& message);
  void send(const Message& message);
  void receive_late(Message& message);
  void receive_by(int way, const Message& message, int source, int tag);
  std::unique_ptr<Items> buffer_for(const Message& message);

  Program& program;
  const Communicator& communicator;
  Random own;
  MPI_Datatype basic;
  int basic_size = 0;
  bool has_ready_send = false;
  std::vector<std::vector<Reception>> receptions;
  std::vector<Message> messages;
  std::vector<std::unique_ptr<Items>> receives;
  std::vector<std::unique_ptr<Items>> sends;
  std::vector<MPI_Request> requests;  // those of `receives` first
  std::vector<char> attached;
  uint64_t sum_of_late_digests = 0;
};

void Exchange::attach_buffer() {
  size_t bytes = 0;
  for (const Message& message : messages) {
    if (!is_from_me(message) || (message.mode != kBsend && message.mode != kIbsend)) continue;
    int packed = 0;
    MPI_Pack_size(message.elements * message.items, basic, communicator.handle, &packed);
    bytes += static_cast<size_t>(packed) + MPI_BSEND_OVERHEAD + 64;
  }
  if (bytes == 0) return;
  attached.resize(bytes);
  MPI_Buffer_attach(attached.data(), static_cast<int>(bytes));
}

void Exchange::detach_buffer() {
  if (attached.empty()) return;
  void* buffer = nullptr;
  int bytes = 0;
  MPI_Buffer_detach(&buffer, &bytes);
  program.add(buffer == attached.data() && bytes == static_cast<int>(attached.size()) ? 1 : 0);
}

// Where any message may come, all buffers are alike; otherwise each is arranged as it likes.
std::unique_ptr<Items> Exchange::buffer_for(const Message& message) {
  const Reception& reception = reception_of(message);
  if (reception.any_source || reception.any_tag) {
    return std::make_unique<Items>(RandomType(basic), reception.capacity, 1);
  }
  const int more = own.chance(20) ? own.between(1, 5) : 0;
  return std::make_unique<Items>(RandomType(own, basic, message.elements), message.items + more, own.next());
}

void Exchange::post_receive(const Message& message) {
  program.announce("receive from " + std::to_string(message.from) + " with tag " + std::to_string(message.tag));
  const Reception& reception = reception_of(message);
  receives.push_back(buffer_for(message));
  Items& receive = *receives.back();
  requests.push_back(MPI_REQUEST_NULL);
  MPI_Irecv(receive.block.data(), receive.count, receive.type.handle(),
            reception.any_source ? MPI_ANY_SOURCE : message.from, reception.any_tag ? MPI_ANY_TAG : message.tag,
            communicator.handle, &requests.back());
  if (own.chance(30)) program.delay();
}

void Exchange::send(const Message& message) {
  program.announce("send by mode " + std::to_string(message.mode) + " with tag " + std::to_string(message.tag));
  sends.push_back(std::make_unique<Items>(RandomType(own, basic, message.elements), message.items, own.next()));
  Items& made = *sends.back();
  MPI_Request request = MPI_REQUEST_NULL;
  const auto blocking = [&](auto function) {
    function(made.block.data(), made.count, made.type.handle(), message.to, message.tag, communicator.handle);
  };
  const auto nonblocking = [&](auto function) {
    function(made.block.data(), made.count, made.type.handle(), message.to, message.tag, communicator.handle, &request);
  };
  switch (message.mode) {
    case kSend:
      blocking(MPI_Send);
      break;
    case kSsend:
      blocking(MPI_Ssend);
      break;
    case kBsend:
      blocking(MPI_Bsend);
      break;
    case kRsend:
      blocking(MPI_Rsend);
      break;
    case kIssend:
      nonblocking(MPI_Issend);
      break;
    case kIbsend:
      nonblocking(MPI_Ibsend);
      break;
    case kIrsend:
      nonblocking(MPI_Irsend);
      break;
    default:
      nonblocking(MPI_Isend);
  }
  if (message.mode == kIsendForgotten) MPI_Request_free(&request);
  if (request != MPI_REQUEST_NULL) requests.push_back(request);
  if (own.chance(30)) made.type.release();
  if (own.chance(40)) program.delay();
}

void Exchange::receive_by(int way, const Message& message, int source, int tag) {
  MPI_Status status;
  MPI_Message matched;
  const std::unique_ptr<Items> receive = buffer_for(message);
  uint64_t digest = 0;
  const auto receive_it = [&](int from, int with_tag) {
    MPI_Recv(receive->block.data(), receive->count, receive->type.handle(), from, with_tag, communicator.handle,
             &status);
  };
  const auto receive_matched = [&] {
    if (own.chance(50)) {
      MPI_Mrecv(receive->block.data(), receive->count, receive->type.handle(), &matched, &status);
    } else {
      MPI_Request request;
      MPI_Imrecv(receive->block.data(), receive->count, receive->type.handle(), &matched, &request);
      MPI_Wait(&request, &status);
    }
  };
  int is_there = 0;
  program.announce("receive " + std::to_string(way) + " from " + std::to_string(source) + " with tag " +
                   std::to_string(tag));
  switch (way) {
    case 0:
      MPI_Probe(source, tag, communicator.handle, &status);
      digest = digest_of(status, basic);
      receive_it(status.MPI_SOURCE, status.MPI_TAG);
      break;
    case 1:
      while (!is_there) {
        MPI_Iprobe(source, tag, communicator.handle, &is_there, &status);
        if (!is_there) program.delay();
      }
      digest = digest_of(status, basic);
      receive_it(status.MPI_SOURCE, status.MPI_TAG);
      break;
    case 2:
      MPI_Mprobe(source, tag, communicator.handle, &matched, &status);
      digest = digest_of(status, basic);
      receive_matched();
      break;
    case 3:
      while (!is_there) {
        MPI_Improbe(source, tag, communicator.handle, &is_there, &matched, &status);
        if (!is_there) program.delay();
      }
      digest = digest_of(status, basic);
      receive_matched();
      break;
    default:
      receive_it(source, tag);
      digest = digest_of(status, basic);
  }
  sum_of_late_digests += mixed(digest ^ digest_of(status, receive->type.handle()) ^ receive->block.digest());
}

// Of the messages with this one's source and tag, the first that has not come yet is the next to come.
void Exchange::receive_late(Message& message) {
  const Reception& reception = reception_of(message);
  if (reception.any_source || reception.any_tag) {
    return receive_by(own.below(5), message, reception.any_source ? MPI_ANY_SOURCE : message.from,
                      reception.any_tag ? MPI_ANY_TAG : message.tag);
  }
  for (Message& next : messages) {
    const bool is_alike = next.from_group == message.from_group && next.from == message.from && next.tag == message.tag;
    if (!is_for_me(next) || next.is_received || !is_alike) continue;
    next.is_received = true;
    return receive_by(own.below(5), next, next.from, next.tag);
  }
}

std::string described(const Exchange& step) {
  std::string text = "exchange";
  for (const Message& message : step.messages) {
    text += message.from_group == 0 ? " " : " '";
    text += std::to_string(message.from) + ">" + std::to_string(message.to) + " mode " + std::to_string(message.mode) +
            " tag " + std::to_string(message.tag) + " " +
            std::to_string(message.elements * message.items * step.basic_size) + "B;";
  }
  return text;
}

}  // namespace

void exchange(Program& program, Random& random) {
  const Communicator& communicator = program.some_communicator(random, true);
  Exchange step(program, random, communicator);
  program.announce(described(step) + (communicator.is_mine() ? "" : " (not here)"));
  if (!communicator.is_mine()) return;
  step.attach_buffer();
  for (const Message& message : step.messages) {
    if (step.is_for_me(message) && !step.reception_of(message).is_late) step.post_receive(message);
  }
  if (step.has_ready_send) MPI_Barrier(communicator.handle);
  for (const Message& message : step.messages) {
    if (step.is_from_me(message)) step.send(message);
  }
  std::vector<size_t> order(step.messages.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  step.own.shuffle(order);
  for (size_t i : order) {
    Message& message = step.messages[i];
    if (step.is_for_me(message) && step.reception_of(message).is_late) step.receive_late(message);
  }
  const std::vector<MPI_Status> statuses = complete(program, step.own, step.requests);
  uint64_t sum = step.sum_of_late_digests;
  for (size_t i = 0; i < step.receives.size(); ++i) {
    sum += mixed(digest_of(statuses[i], step.receives[i]->type.handle()) ^ step.receives[i]->block.digest());
  }
  program.add(sum);
  step.detach_buffer();
  // The buffers of forgotten sends are no longer needed when every rank has got its messages.
  MPI_Barrier(communicator.handle);
}

// The same requests, started several times.
void persistent_exchange(Program& program, Random& random) {
  const Communicator& communicator = program.some_communicator(random, true);
  const int rounds = random.between(1, 4);
  const int bytes = program.message_bytes(random, 6);
  const int shift = random.below(5);
  program.announce("persistent requests, " + std::to_string(bytes) + " bytes, " + std::to_string(rounds) + " rounds");
  if (!communicator.is_mine()) return;
  Random own = program.own_random(random);
  const int here = communicator.size(communicator.my_group);
  const int there = communicator.size(communicator.other(communicator.my_group));
  std::vector<std::unique_ptr<Items>> operations;
  std::vector<MPI_Request> receives;
  std::vector<MPI_Request> sends;
  // Each rank sends to one of the other group; who that is, every rank can tell.
  for (int from = 0; from < there; ++from) {
    if ((from + shift) % here != communicator.my_rank) continue;
    operations.push_back(std::make_unique<Items>(RandomType(own, MPI_BYTE, std::max(bytes, 1)), bytes > 0, own.next()));
    Items& made = *operations.back();
    receives.emplace_back();
    MPI_Recv_init(made.block.data(), made.count, made.type.handle(), from, 9, communicator.handle, &receives.back());
  }
  Items out(RandomType(own, MPI_BYTE, std::max(bytes, 1)), bytes > 0, 0);
  sends.emplace_back();
  const int to = (communicator.my_rank + shift) % there;
  const auto initialise = own.chance(50) ? MPI_Send_init : own.chance(50) ? MPI_Ssend_init : MPI_Rsend_init;
  initialise(out.block.data(), out.count, out.type.handle(), to, 9, communicator.handle, &sends.back());
  for (int round = 0; round < rounds; ++round) {
    out.block.fill(own.next());
    if (!receives.empty()) MPI_Startall(static_cast<int>(receives.size()), receives.data());
    MPI_Barrier(communicator.handle);  // for the ready sends
    program.delay();
    MPI_Start(&sends[0]);
    std::vector<MPI_Request> all = receives;
    all.push_back(sends[0]);
    const std::vector<MPI_Status> statuses = complete(program, own, all, true);
    for (size_t i = 0; i < receives.size(); ++i) {
      program.add(digest_of(statuses[i], MPI_BYTE) ^ operations[i]->block.digest());
    }
  }
  for (MPI_Request& request : receives) MPI_Request_free(&request);
  MPI_Request_free(&sends[0]);
}

// Everybody sends to a neighbour and receives from another one at the same time.
void ring(Program& program, Random& random) {
  const Communicator& communicator = program.some_communicator(random, false);
  const int bytes = program.message_bytes(random, 3);
  const int shift = random.below(3);
  const bool is_open = random.chance(30);  // the first and the last have a neighbour less
  const bool is_in_place = random.chance(50);
  program.announce((is_in_place ? "MPI_Sendrecv_replace " : "MPI_Sendrecv ") + std::to_string(bytes) + " bytes");
  if (!communicator.is_mine()) return;
  Random own = program.own_random(random);
  const int size = communicator.size(0);
  int to = communicator.my_rank + shift;
  int from = communicator.my_rank - shift;
  to = to < size ? to : is_open ? MPI_PROC_NULL : to % size;
  from = from >= 0 ? from : is_open ? MPI_PROC_NULL : (from + 2 * size) % size;
  const int count = bytes / 8 > 0 ? 1 : 0;
  Items out(RandomType(own, MPI_INT64_T, std::max(bytes / 8, 1)), count, own.next());
  Items in(RandomType(own, MPI_INT64_T, std::max(bytes / 8, 1)), count, own.next());
  MPI_Status status;
  program.delay();
  if (is_in_place) {
    MPI_Sendrecv_replace(out.block.data(), count, out.type.handle(), to, 1, from, 1, communicator.handle, &status);
    program.add(out.block.digest());
  } else {
    MPI_Sendrecv(out.block.data(), count, out.type.handle(), to, 1, in.block.data(), count, in.type.handle(), from, 1,
                 communicator.handle, &status);
    program.add(in.block.digest());
  }
  program.add(digest_of(status, MPI_INT64_T));
}

// Each rank waits for the one before it.
void chain(Program& program, Random& random) {
  const Communicator& communicator = program.some_communicator(random, false);
  const int rounds = random.between(1, 4);
  const int bytes = program.message_bytes(random, 2);
  program.announce("chain, " + std::to_string(bytes) + " bytes, " + std::to_string(rounds) + " rounds");
  if (!communicator.is_mine()) return;
  Random own = program.own_random(random);
  RandomType type(MPI_CHAR);
  Block block(type, bytes, own.next());
  const bool is_synchronous = own.chance(30);
  for (int round = 0; round < rounds; ++round) {
    if (communicator.my_rank > 0) {
      MPI_Recv(block.data(), bytes, MPI_CHAR, communicator.my_rank - 1, round, communicator.handle, MPI_STATUS_IGNORE);
      program.add(block.digest());
    }
    program.delay();
    if (communicator.my_rank + 1 < communicator.size(0)) {
      (is_synchronous ? MPI_Ssend : MPI_Send)(block.data(), bytes, MPI_CHAR, communicator.my_rank + 1, round,
                                              communicator.handle);
    }
  }
}

// Many small messages to one rank, which takes them as they come. None of the next step may be among them.
void flood_one(Program& program, Random& random) {
  const Communicator& communicator = program.some_communicator(random, false);
  const int each = random.between(1, 120);
  const int count = random.between(1, 60);
  const int root = random.below(communicator.size(0));
  program.announce("flood of rank " + std::to_string(root) + " by " + std::to_string(each) +
                   " messages from each rank");
  if (!communicator.is_mine()) return;
  Random own = program.own_random(random);
  std::vector<int> data(static_cast<size_t>(count));
  if (communicator.my_rank != root) {
    for (int i = 0; i < each; ++i) {
      for (int& value : data) value = own.below(1000000);
      MPI_Send(data.data(), count, MPI_INT, root, i, communicator.handle);
    }
    MPI_Barrier(communicator.handle);
    return;
  }
  uint64_t sum = 0;
  for (int i = 0; i < each * (communicator.size(0) - 1); ++i) {
    MPI_Status status;
    MPI_Recv(data.data(), count, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, communicator.handle, &status);
    sum += mixed(digest_of(status, MPI_INT) ^
                 digest_of(reinterpret_cast<const char*>(data.data()), data.size() * sizeof(int)));
  }
  program.add(sum);
  MPI_Barrier(communicator.handle);
}

// Some receives get a message, the others never will.
void cancelled_receives(Program& program, Random& random) {
  const Communicator& communicator = program.some_communicator(random, false);
  const int number = random.between(1, 5);
  program.announce("cancelled receives");
  if (!communicator.is_mine()) return;
  Random own = program.own_random(random);
  const int size = communicator.size(0);
  std::vector<int> data(static_cast<size_t>(number) + 1, -1);
  std::vector<MPI_Request> requests(static_cast<size_t>(number) + 1);
  for (int i = 0; i <= number; ++i) {
    // Tag 1 is sent, tag 2 is not.
    MPI_Irecv(&data[static_cast<size_t>(i)], 1, MPI_INT, i == 0 ? (communicator.my_rank + 1) % size : MPI_ANY_SOURCE,
              i == 0 ? 1 : 2, communicator.handle, &requests[static_cast<size_t>(i)]);
  }
  program.delay();
  for (int i = 1; i <= number; ++i) MPI_Cancel(&requests[static_cast<size_t>(i)]);
  const int value = own.below(1000);
  MPI_Send(&value, 1, MPI_INT, (communicator.my_rank + size - 1) % size, 1, communicator.handle);
  const std::vector<MPI_Status> statuses = complete(program, own, requests);
  for (size_t i = 0; i < statuses.size(); ++i) {
    int is_cancelled = 0;
    MPI_Test_cancelled(&statuses[i], &is_cancelled);
    program.add(static_cast<uint64_t>(data[i] * 2 + is_cancelled));
  }
  // Those that get nothing must not get what another rank sends in the next step.
  MPI_Barrier(communicator.handle);
}
