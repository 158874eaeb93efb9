// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// TCP sockets with deadlines. Everything that fails throws std::runtime_error with the address.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>

namespace pleat {

using Deadline = std::chrono::steady_clock::time_point;
[[nodiscard]] Deadline after(double seconds);
[[nodiscard]] int milliseconds_until(Deadline);  // for poll(): rounded up, not negative

struct Address {
  std::string host;
  int port = 0;
  bool operator==(const Address&) const = default;
};
[[nodiscard]] std::string to_text(const Address&);  // "node3:29500", "[::1]:29500"
// "host:port", "[::1]:29500"; throws std::runtime_error that says what is wrong with it.
[[nodiscard]] Address parse_address(const std::string&);

class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : fd_(descriptor) {}
  Socket(Socket&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Socket& operator=(Socket&& other) noexcept;
  ~Socket() { close(); }
  void close();
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }

  // Blocking until the deadline, whatever the socket's mode.
  void send_exact(std::span<const std::byte>, Deadline) const;
  void recv_exact(std::span<std::byte>, Deadline) const;
  [[nodiscard]] Address local() const;  // numeric
  [[nodiscard]] Address remote() const;

 private:
  int fd_ = -1;
};

// An empty host listens on every interface; port 0 takes a free one (see local()).
[[nodiscard]] Socket listen_at(const Address&);
// Returns a closed socket at the deadline.
[[nodiscard]] Socket accept_until(const Socket& listener, Deadline);
// Tries again until the deadline, for the other side may not be there yet.
[[nodiscard]] Socket connect_until(const Address&, Deadline);
[[nodiscard]] std::string host_name();

}  // namespace pleat
