#include "node/attachment.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "node/attach_protocol.h"
#include "node/library_socket.h"

namespace spillway::node {
namespace {

int connect_to_agent(const char* name) {
  const int descriptor = connect_library(name);
  if (descriptor < 0)
    base::fatal("cannot reach the node agent of this job (%s): was the launcher ended?", strerror(errno));
  return descriptor;
}

}  // namespace

std::optional<Attachment> Attachment::connect(int world_rank, int world_size) {
  const char* name = getenv(kSocketVariable);
  if (name == nullptr) return std::nullopt;
  Attachment attachment;
  attachment.socket_ = connect_to_agent(name);
  AttachMessage hello = library_message(MessageKind::hello);
  hello.world_rank = world_rank;
  hello.world_size = world_size;
  AttachMessage reply{};
  std::array<int, kMostDescriptors> descriptors;
  descriptors.fill(-1);
  if (!send_from_library(attachment.socket_, hello) || !receive_in_library(attachment.socket_, reply, descriptors))
    base::fatal("the node agent of this job does not answer, or is of another version of Spillway");
  if (reply.kind != static_cast<uint32_t>(MessageKind::welcome))
    base::fatal("the node agent refuses rank %d: %.400s", world_rank, reply.text);
  attachment.segment_ = descriptors[0];
  attachment.courier_bell_ = descriptors[1];
  attachment.directories_ = base::SpillDirectories::listed_in(strdup(reply.text));
  attachment.directory_list_ = strdup(reply.text);
  std::copy(descriptors.begin() + 2, descriptors.end(), attachment.message_spills_.begin());
  return attachment;
}

Attachment::Attachment(Attachment&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      segment_(std::exchange(other.segment_, -1)),
      courier_bell_(std::exchange(other.courier_bell_, -1)),
      message_spills_(other.take_message_spills()),
      directories_(other.directories_),
      directory_list_(other.directory_list_) {}

Attachment::~Attachment() {
  for (int descriptor : {socket_, segment_, courier_bell_})
    if (descriptor >= 0) close(descriptor);
  for (int descriptor : message_spills_)
    if (descriptor >= 0) close(descriptor);
}

LocalRank Attachment::take_place(int world_rank) {
  std::string problem;
  Segment segment = Segment::attach(std::exchange(segment_, -1), problem);
  if (!segment) base::fatal("%s", problem.c_str());
  const RankPlace place = segment.places()[static_cast<size_t>(world_rank)];
  if (place.node != segment.header().node_index) base::fatal("this process is a rank of another node");
  LocalRank self(std::move(segment), place.index);
  self.set_courier_bell(std::exchange(courier_bell_, -1));
  return self;
}

Attachment::SpillDescriptors Attachment::take_message_spills() {
  const SpillDescriptors taken = message_spills_;
  message_spills_.fill(-1);
  return taken;
}

void Attachment::report_finalized() { send_from_library(socket_, library_message(MessageKind::finalized)); }
void Attachment::report_left_finalize() { send_from_library(socket_, library_message(MessageKind::left_finalize)); }

bool Attachment::report_fatal(const char* text, int exit_status) {
  AttachMessage message = library_message(MessageKind::fatal);
  message.wait_status = (exit_status & 0xff) << 8;
  strncpy(message.text, text, sizeof message.text - 1);
  if (!send_from_library(socket_, message)) return false;
  // The agent ends all ranks, this one too; it prints the message once, with rank and host.
  char end;
  while (recv(socket_, &end, 1, 0) < 0 && errno == EINTR) {
  }
  return true;
}

}  // namespace spillway::node
