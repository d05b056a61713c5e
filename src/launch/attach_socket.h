// The socket of node/attach_protocol.h: listening, connecting, and passing single messages.
//
// The name is in the abstract namespace: it vanishes with the listener. Anyone on the machine may try to connect, so
// the listener asks the kernel who it is (SO_PEERCRED), and the name is 128 random bits.
#pragma once

#include <span>
#include <string>

#include <sys/types.h>

#include "base/descriptor.h"
#include "node/attach_protocol.h"

namespace spillway::launch {

using node::AttachMessage;
using node::MessageKind;

std::string random_socket_name();

// Both return an empty Descriptor and leave the cause in errno.
base::Descriptor listen_on(const std::string& name);
base::Descriptor connect_to(const std::string& name);

// Takes one waiting connection. Those of other users are closed at once; then, and when none can be taken, the result
// is empty, with errno.
struct Peer {
  base::Descriptor socket;
  pid_t pid = 0;
};
Peer accept_peer(int listener);

AttachMessage make_message(MessageKind kind, const std::string& text = "");

// False when the other side is gone.
bool send_message(int socket, const AttachMessage& message, std::span<const int> descriptors = {});

// `foreign` is a message of another version of the protocol; anything else that is not ours counts as `closed`.
enum class Received { message, nothing, closed, foreign };
// Never waits.
Received receive_message(int socket, AttachMessage& message);

}  // namespace spillway::launch
