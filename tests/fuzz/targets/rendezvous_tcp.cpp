// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The store at which a job's processes meet. The first byte says who calls: a stranger who sends
// anything, one who begins with a whole greeting, or a process that knows the secret and asks
// anything. The store hangs up on all of them in time, and still answers a client.
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "backend/comm/store.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace pleat::fuzz {

const Form kForm = Form::bytes;

namespace {

const JobSecret& secret() {
  static const JobSecret known("the secret of the job that is tried");
  return known;
}

struct Server {
  Server() : Server(listen_at({"127.0.0.1", 0})) {}
  explicit Server(Socket listener) : at(listener.local()), store(std::move(listener), secret()) {}
  Address at;
  StoreServer store;
};

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

void send_some(const Socket& s, std::span<const std::byte> data) {
  try {
    s.send_exact(data, after(1));
  } catch (const std::runtime_error&) {  // it has hung up already
  }
}

// As a client's: op, lengths of key and value, tags, both.
void ask(const Socket& s, Session& session, std::string_view& input) {
  const std::size_t key =
      std::min<std::size_t>(static_cast<unsigned char>(input[1]), input.size() - 3);
  const std::size_t value =
      std::min<std::size_t>(static_cast<unsigned char>(input[2]) * 16U, input.size() - 3 - key);
  const std::uint32_t header[3] = {static_cast<unsigned char>(input[0]),
                                   static_cast<std::uint32_t>(key),
                                   static_cast<std::uint32_t>(value)};
  const std::string_view payload = input.substr(3, key + value);
  const Tags tags = session.sends.make(std::as_bytes(std::span(header)), bytes(payload));
  send_some(s, std::as_bytes(std::span(header)));
  send_some(s, std::as_bytes(std::span(&tags, 1)));
  send_some(s, bytes(payload));
  input.remove_prefix(3 + key + value);
}

bool hangs_up(const Socket& s) {
  shutdown(s.fd(), SHUT_WR);
  std::byte answer;
  try {
    for (;;) s.recv_exact({&answer, 1}, after(3));
  } catch (const std::runtime_error& e) {
    return std::string_view(e.what()).find("timed out") == std::string_view::npos;
  }
}

}  // namespace

void run(std::string_view input) {
  static std::unique_ptr<Server> server;
  static int runs = 0;
  if (runs++ % 256 == 0) server = std::make_unique<Server>();
  if (input.empty()) return;
  const int who = input.front() & 3, from = input.front() >> 2 & 1;
  input.remove_prefix(1);
  Hello hello;
  hello.from = from;
  const Socket s = connect_until(server->at, after(5));
  if (who == 0) {
    send_some(s, bytes(input));
  } else if (who == 1) {
    send_some(s, std::as_bytes(std::span(&hello, 1)));
    send_some(s, bytes(input));
  } else {
    Session session = greet(s, secret(), hello, after(5));
    while (input.size() >= 3) ask(s, session, input);
    send_some(s, bytes(input));
  }
  require(hangs_up(s), "a connection that stays");
  if (runs % 16 == 0) {
    StoreClient client(server->at, secret(), 0, "", after(5));
    (void)client.set("alive", "yes", after(5));
  }
}

}  // namespace pleat::fuzz
