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

// A peer whose machine is dead or cut off is noticed while nothing is under way to it; a virtual machine may stand
// still for a minute. One that is stopped is waited for, as the job is stopped with it; but not by a process that ends.
constexpr int kPatienceSeconds = 10;
constexpr int kIdleSeconds = 10;
constexpr int kProbeSeconds = 10;
constexpr int kProbes = 8;

void set_option(const base::Descriptor& socket, int level, int name, int value) {
  setsockopt(socket.number(), level, name, &value, sizeof value);
}

// 0: as long as it takes.
void set_patience(const base::Descriptor& socket, int name, int seconds) {
  const timeval patience{seconds, 0};
  setsockopt(socket.number(), SOL_SOCKET, name, &patience, sizeof patience);
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
  if (socket) set_patience(socket, SO_SNDTIMEO, kPatienceSeconds);
  const bool is_connected = socket && connect(socket.number(), found->ai_addr, found->ai_addrlen) == 0;
  const int error = errno == EINPROGRESS ? ETIMEDOUT : errno;
  freeaddrinfo(found);
  if (!is_connected) fail("cannot reach mpidrun at " + address + ": " + std::strerror(error));
  set_patience(socket, SO_SNDTIMEO, 0);
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
  std::unique_ptr<ControlConnection> connection(new ControlConnection(connect_to(address)));
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
  ControlConnection connection(connect_to(address));
  set_patience(connection.socket_, SO_RCVTIMEO, kPatienceSeconds);
  connection.send_line("over " + secret());
  connection.receive_line();
}

void ControlConnection::send_line(const std::string& line) {
  const std::string bytes = line + "\n";
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t sent = ::send(socket_.number(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) fail(std::string("mpidrun has gone: ") + std::strerror(errno));
    done += static_cast<size_t>(sent);
  }
}

std::string ControlConnection::receive_line() {
  std::string line;
  for (char letter = 0;;) {
    const ssize_t got = ::recv(socket_.number(), &letter, 1, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail("mpidrun has gone, or does not know this process");
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

void ControlConnection::tell_over_at_end() {
  set_patience(socket_, SO_SNDTIMEO, kPatienceSeconds);
  tell_over();
}

void ControlConnection::report(const Figures& figures) { send_line("figures " + figures.line()); }

}  // namespace spillway::keyvalue
