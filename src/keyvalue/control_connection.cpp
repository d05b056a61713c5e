#include "keyvalue/control_connection.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "keyvalue/failure.h"

namespace spillway::keyvalue {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw Failure(MPI_D_ERR_CONTROL, what,
                "look for mpidrun: it may have been killed; or unset MPI_D_CONTROL to run without it");
}

// How long a call waits until somebody looks whether to go on, and how long a connection is waited for.
constexpr int kPatienceSeconds = 10;
// A peer whose machine is dead or cut off while nothing is under way to it is noticed by the system; a virtual machine
// may stand still for a minute.
constexpr int kIdleSeconds = 10;
constexpr int kProbeSeconds = 10;
constexpr int kProbes = 8;
// With something under way, which the system repeats, or asks for room for, ever more seldom, at last every 120 s: one
// of that must have found the machine there. A peer that is stopped is waited for, as the job is stopped with it: its
// machine acknowledges what comes, and says when there is no more room. (TCP_USER_TIMEOUT ends a connection without
// room, too.)
constexpr unsigned kSilenceSeconds = 150;
constexpr unsigned kRepeats = 6;  // sent while this machine ran: it may have stood still, too
constexpr unsigned kProbesForRoom = 2;

bool is_lost(const base::Descriptor& socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(socket.number(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return false;
  const bool is_unanswered = info.tcpi_unacked > 0 && info.tcpi_retransmits >= kRepeats;
  return (is_unanswered || info.tcpi_probes >= kProbesForRoom) && info.tcpi_last_ack_recv >= kSilenceSeconds * 1000;
}

void set_option(const base::Descriptor& socket, int level, int name, int value) {
  setsockopt(socket.number(), level, name, &value, sizeof value);
}

std::string secret() {
  const char* secret = std::getenv(kControlSecretVariable);
  return secret == nullptr ? "-" : secret;
}

base::Descriptor connect_to(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) fail("MPI_D_CONTROL is '" + address + "', which is no address and port");
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.substr(0, colon).c_str(), address.c_str() + colon + 1, &hints, &found) != 0)
    fail("MPI_D_CONTROL is '" + address + "', which is no address and port");
  base::Descriptor socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{kPatienceSeconds, 0};
  if (socket)
    for (const int name : {SO_SNDTIMEO, SO_RCVTIMEO})
      setsockopt(socket.number(), SOL_SOCKET, name, &patience, sizeof patience);
  const bool is_connected = socket && connect(socket.number(), found->ai_addr, found->ai_addrlen) == 0;
  const int error = errno == EINPROGRESS ? ETIMEDOUT : errno;
  freeaddrinfo(found);
  if (!is_connected) fail("cannot reach mpidrun at " + address + ": " + std::strerror(error));
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  return socket;
}

}  // namespace

std::unique_ptr<ControlConnection> ControlConnection::open_if_named(const Placement& placement) {
  const char* address = std::getenv(kControlVariable);
  if (address == nullptr) return nullptr;
  std::unique_ptr<ControlConnection> connection(new ControlConnection(address, connect_to(address)));
  connection->send_line("hello " + std::to_string(kControlVersion) + " " + secret() + " " +
                        std::to_string(placement.process()) + " " + std::to_string(placement.mode()) + " " +
                        std::to_string(placement.o_tasks()) + " " + std::to_string(placement.a_tasks()));
  const std::string answer = connection->receive_line();
  if (answer != "welcome") throw Failure(MPI_D_ERR_CONF, "mpidrun has " + answer);
  return connection;
}

void ControlConnection::tell_over_without_job() {
  const char* address = std::getenv(kControlVariable);
  if (address == nullptr) return;
  ControlConnection connection(address, connect_to(address));
  connection.send_line("over " + secret(), IsStopped::refused);
  connection.receive_line(IsStopped::refused);
}

void ControlConnection::fail_without_machine(const std::string& cause) const {
  throw Failure(MPI_D_ERR_CONTROL, "nothing comes any more from the machine of mpidrun, " + address_ + ": " + cause,
                "look whether that machine runs and can be reached, and start the job again");
}

// A call has waited for long, or failed.
void ControlConnection::go_on_after(int error, IsStopped stopped) const {
  if (error == EINTR) return;
  if (error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH) fail_without_machine(std::strerror(error));
  if (error != EAGAIN) fail("mpidrun at " + address_ + " has gone: " + std::strerror(error));
  if (stopped == IsStopped::refused) fail("mpidrun at " + address_ + " does not answer");
  refuse_silence();
}

void ControlConnection::refuse_silence() const {
  if (is_lost(socket_)) fail_without_machine("no answer for " + std::to_string(kSilenceSeconds) + " s");
}

void ControlConnection::send_line(const std::string& line, IsStopped stopped) {
  refuse_silence();  // there may be room for what is sent for a long time
  const std::string bytes = line + "\n";
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t sent = ::send(socket_.number(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (sent < 0) {
      go_on_after(errno, stopped);
    } else {
      done += static_cast<size_t>(sent);
    }
  }
}

std::string ControlConnection::receive_line(IsStopped stopped) {
  std::string line;
  for (char letter = 0;;) {
    const ssize_t got = ::recv(socket_.number(), &letter, 1, 0);
    if (got < 0) {
      go_on_after(errno, stopped);
      continue;
    }
    if (got == 0) fail("mpidrun at " + address_ + " has gone, or does not know this process");
    if (letter == '\n') return line;
    line += letter;
  }
}

int ControlConnection::next_task() {
  send_line("task");
  return std::atoi(receive_line().c_str());
}

void ControlConnection::send_numbers(const std::string& word, const std::vector<int>& numbers) {
  constexpr size_t kMostOfLine = 256;
  for (size_t begin = 0; begin < numbers.size(); begin += kMostOfLine) {
    std::string line = word;
    for (size_t i = begin; i < std::min(begin + kMostOfLine, numbers.size()); ++i)
      line.append(" ").append(std::to_string(numbers[i]));
    send_line(line);
    receive_line();
  }
}

void ControlConnection::tell_host(int host) { send_numbers("host", {host}); }
void ControlConnection::tell_hosts_of_tasks(const std::vector<int>& hosts) { send_numbers("hosts", hosts); }
void ControlConnection::tell_done(const std::vector<int>& o_tasks, const std::vector<int>& a_tasks) {
  send_numbers("done", o_tasks);
  send_numbers("done-a", a_tasks);
}

void ControlConnection::tell_over() { send_line("over"); }

void ControlConnection::tell_over_at_end() { send_line("over", IsStopped::refused); }

void ControlConnection::report(const Figures& figures) { send_line("figures " + figures.line()); }

}  // namespace spillway::keyvalue
