// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/socket.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>

namespace pleat {
namespace {

using Found = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

[[noreturn]] void fail(const std::string& what, int error) {
  throw std::runtime_error(what + ": " + std::strerror(error));
}

// Null with a reason where the name is not known (yet).
Found look_up(const Address& a, bool to_listen, std::string& problem) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV | (to_listen ? AI_PASSIVE : 0);
  addrinfo* found = nullptr;
  const char* host = a.host.empty() ? nullptr : a.host.c_str();
  const int error = getaddrinfo(host, std::to_string(a.port).c_str(), &wanted, &found);
  if (error != 0) problem = gai_strerror(error);
  return {error == 0 ? found : nullptr, &freeaddrinfo};
}

void prepare(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool wait_for(int fd, short events, Deadline deadline) {
  pollfd entry{fd, events, 0};
  for (;;) {
    const int ready = poll(&entry, 1, milliseconds_until(deadline));
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) fail("poll", errno);
  }
}

Address numeric(const sockaddr_storage& where, socklen_t size) {
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&where), size, host, sizeof host, port,
                  sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  return {host, std::stoi(port)};
}

// One try at one address; a closed socket and errno if it did not work.
Socket try_connect(const addrinfo& a, Deadline deadline) {
  Socket s(socket(a.ai_family, a.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a.ai_protocol));
  if (!s.is_open()) return {};
  if (connect(s.fd(), a.ai_addr, a.ai_addrlen) == 0) return s;
  if (errno != EINPROGRESS) return {};
  if (!wait_for(s.fd(), POLLOUT, std::min(deadline, after(5)))) {
    errno = ETIMEDOUT;
    return {};
  }
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(s.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error == 0) return s;
  errno = error;
  return {};
}

}  // namespace

Deadline after(double seconds) {
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(
             std::chrono::duration<double>(seconds));
}

int milliseconds_until(Deadline deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 86'400'000));
}

std::string to_text(const Address& a) {
  const bool brackets = a.host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", brackets ? "[" : "", a.host, brackets ? "]" : "", a.port);
}

Address parse_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    throw std::runtime_error(fmt::format("'{}' is not host:port", text));
  }
  Address a{text.substr(0, colon), 0};
  if (a.host.front() == '[' && a.host.back() == ']') a.host = a.host.substr(1, a.host.size() - 2);
  const std::string port = text.substr(colon + 1);
  const bool digits =
      !port.empty() && port.size() <= 5 &&
      std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (digits) a.port = std::stoi(port);
  if (a.host.empty() || a.port < 1 || a.port > 65535) {
    throw std::runtime_error(
        fmt::format("'{}' is not host:port with a port from 1 to 65535", text));
  }
  return a;
}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

void Socket::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void Socket::send_exact(std::span<const std::byte> data, Deadline deadline) const {
  while (!data.empty()) {
    const ssize_t n = ::send(fd_, data.data(), data.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      data = data.subspan(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      if (!wait_for(fd_, POLLOUT, deadline)) fail("sending to " + to_text(remote()), ETIMEDOUT);
    } else if (errno != EINTR) {
      fail("sending to " + to_text(remote()), errno);
    }
  }
}

void Socket::recv_exact(std::span<std::byte> data, Deadline deadline) const {
  while (!data.empty()) {
    const ssize_t n = ::recv(fd_, data.data(), data.size(), MSG_DONTWAIT);
    if (n > 0) {
      data = data.subspan(static_cast<std::size_t>(n));
    } else if (n == 0) {
      throw std::runtime_error("the connection to " + to_text(remote()) + " was closed");
    } else if (errno == EAGAIN) {
      if (!wait_for(fd_, POLLIN, deadline)) fail("waiting for " + to_text(remote()), ETIMEDOUT);
    } else if (errno != EINTR) {
      fail("receiving from " + to_text(remote()), errno);
    }
  }
}

Address Socket::local() const {
  sockaddr_storage where{};
  socklen_t size = sizeof where;
  getsockname(fd_, reinterpret_cast<sockaddr*>(&where), &size);
  return numeric(where, size);
}

Address Socket::remote() const {
  sockaddr_storage where{};
  socklen_t size = sizeof where;
  if (getpeername(fd_, reinterpret_cast<sockaddr*>(&where), &size) != 0) return {"?", 0};
  return numeric(where, size);
}

Socket listen_at(const Address& address) {
  std::string problem;
  const Found found = look_up(address, true, problem);
  const std::string what = "cannot listen at " + to_text(address);
  if (found == nullptr) throw std::runtime_error(what + ": " + problem);
  int error = 0;
  for (const addrinfo* a = found.get(); a != nullptr; a = a->ai_next) {
    Socket s(socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol));
    const int on = 1;
    if (s.is_open()) setsockopt(s.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (s.is_open() && bind(s.fd(), a->ai_addr, a->ai_addrlen) == 0 && listen(s.fd(), 1024) == 0) {
      return s;
    }
    error = errno;
  }
  fail(what, error);
}

Socket accept_until(const Socket& listener, Deadline deadline) {
  for (;;) {
    Socket s(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (s.is_open()) {
      prepare(s.fd());
      return s;
    }
    // ECONNABORTED and the like: a caller that has gone already.
    if (errno == EMFILE || errno == ENFILE || errno == EBADF) fail("accepting connections", errno);
    if (!wait_for(listener.fd(), POLLIN, deadline)) return {};
  }
}

Socket connect_until(const Address& address, Deadline deadline) {
  std::string problem = "no time to try";
  double pause = 0.01;
  do {
    const Found found = look_up(address, false, problem);
    for (const addrinfo* a = found.get(); a != nullptr; a = a->ai_next) {
      Socket s = try_connect(*a, deadline);
      if (s.is_open()) {
        prepare(s.fd());
        return s;
      }
      problem = std::strerror(errno);
    }
    const auto left = std::chrono::duration<double>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) break;
    std::this_thread::sleep_for(std::min(left, std::chrono::duration<double>(pause)));
    pause = std::min(1.0, pause * 1.5);
  } while (true);
  throw std::runtime_error("cannot reach " + to_text(address) + ": " + problem);
}

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace pleat
