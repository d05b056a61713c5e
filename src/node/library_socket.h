// The preloaded library's end of the sockets of node/attach_protocol.h. Allocates nothing.
#pragma once

#include <span>

#include "node/attach_protocol.h"

namespace spillway::node {

// The connection's descriptor, or -1 with the cause in errno.
int connect_library(const char* name);

AttachMessage library_message(MessageKind kind);

// False when the other side is gone.
bool send_from_library(int socket, const AttachMessage& message);

// Waits for one message and the descriptors that come with it; those that do not come are left as they are. False when
// the other side is gone, or of another version.
bool receive_in_library(int socket, AttachMessage& message, std::span<int> descriptors = {});

}  // namespace spillway::node
