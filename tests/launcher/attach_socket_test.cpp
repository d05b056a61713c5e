#include "launch/attach_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>

namespace spillway::launch {
namespace {

struct Pair {
  base::Descriptor client;
  base::Descriptor server;
};

Pair connected_pair() {
  const std::string name = random_socket_name();
  const base::Descriptor listener = listen_on(name);
  Pair pair;
  pair.client = connect_to(name);
  Peer peer = accept_peer(listener.number());
  EXPECT_EQ(peer.pid, getpid());
  pair.server = std::move(peer.socket);
  return pair;
}

TEST(AttachSocket, names_are_random) { EXPECT_NE(random_socket_name(), random_socket_name()); }

TEST(AttachSocket, connecting_fails_once_the_listener_is_gone) {
  const std::string name = random_socket_name();
  { const base::Descriptor listener = listen_on(name); }
  EXPECT_FALSE(connect_to(name));
}

TEST(AttachSocket, passes_messages_and_tells_the_end) {
  Pair pair = connected_pair();
  ASSERT_TRUE(pair.client && pair.server);
  AttachMessage message;
  EXPECT_EQ(receive_message(pair.server.number(), message), Received::nothing);
  EXPECT_TRUE(send_message(pair.client.number(), make_message(MessageKind::fatal, "out of luck")));
  ASSERT_EQ(receive_message(pair.server.number(), message), Received::message);
  EXPECT_EQ(message.kind, static_cast<uint32_t>(MessageKind::fatal));
  EXPECT_STREQ(message.text, "out of luck");
  pair.client.close();
  EXPECT_EQ(receive_message(pair.server.number(), message), Received::closed);
  EXPECT_FALSE(send_message(pair.server.number(), message));
}

TEST(AttachSocket, cuts_long_texts) {
  const AttachMessage message = make_message(MessageKind::refused, std::string(10000, 'x'));
  EXPECT_EQ(strlen(message.text), sizeof message.text - 1);
}

TEST(AttachSocket, tells_other_versions_and_strangers_apart) {
  Pair pair = connected_pair();
  AttachMessage message = make_message(MessageKind::hello);
  message.version = node::kAttachVersion + 1;
  send_message(pair.client.number(), message);
  AttachMessage received;
  EXPECT_EQ(receive_message(pair.server.number(), received), Received::foreign);
  message = make_message(MessageKind::hello);
  message.magic = 0;
  send_message(pair.client.number(), message);
  EXPECT_EQ(receive_message(pair.server.number(), received), Received::closed);
  message = make_message(MessageKind::hello);
  send(pair.client.number(), &message, sizeof message / 2, 0);
  EXPECT_EQ(receive_message(pair.server.number(), received), Received::closed);
}

}  // namespace
}  // namespace spillway::launch
