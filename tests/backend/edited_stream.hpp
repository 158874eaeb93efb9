// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Somebody between a caller and the called one, who may change, hold back or repeat what is sent.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <cstddef>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "backend/comm/job_part.hpp"

namespace pleat::test {

using Bytes = std::vector<std::byte>;

// Listens beside a called one: what callers send goes through `edit`, with the place in the stream
// where it begins. The handshake's bytes come first.
class EditedStream {
 public:
  using Edit = std::function<std::vector<Bytes>(std::size_t begin, Bytes)>;
  EditedStream(const Address& to, Edit edit)
      : to_(to),
        edit_(std::move(edit)),
        listener_(listen_at({"127.0.0.1", 0})),
        at_(listener_.local()) {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  [[nodiscard]] const Address& at() const { return at_; }
  [[nodiscard]] const std::vector<Bytes>& pieces() const { return pieces_; }  // after stop()
  void stop() {
    thread_.request_stop();
    thread_.join();
  }
  ~EditedStream() {
    if (thread_.joinable()) stop();
  }

 private:
  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const Socket caller = accept_until(listener_, after(0.05));
      if (!caller.is_open()) continue;
      const Socket called = connect_until(to_, after(5));
      serve(stop, caller, called);
    }
  }
  void serve(const std::stop_token& stop, const Socket& caller, const Socket& called) {
    std::size_t begin = 0;
    while (!stop.stop_requested()) {
      pollfd entries[2] = {{caller.fd(), POLLIN, 0}, {called.fd(), POLLIN, 0}};
      if (poll(entries, 2, 20) <= 0) continue;
      for (const bool from_caller : {true, false}) {
        if (entries[from_caller ? 0 : 1].revents == 0) continue;
        Bytes bytes(1 << 16);
        const ssize_t n =
            recv((from_caller ? caller : called).fd(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (n <= 0) return;
        bytes.resize(static_cast<std::size_t>(n));
        std::vector<Bytes> out{bytes};
        if (from_caller) {
          pieces_.push_back(bytes);
          out = edit_(begin, std::move(bytes));
          begin += static_cast<std::size_t>(n);
        }
        try {
          for (const Bytes& b : out) (from_caller ? called : caller).send_exact(b, after(5));
        } catch (const std::runtime_error&) {
          return;
        }
      }
    }
  }
  Address to_;
  Edit edit_;
  Socket listener_;
  Address at_;
  std::vector<Bytes> pieces_;
  std::jthread thread_;
};

}  // namespace pleat::test
