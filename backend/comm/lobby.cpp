// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/lobby.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace pleat {
namespace {

constexpr int kAcceptsInTurn = 64;
constexpr double kPauseSeconds = 0.1;  // when no file descriptor is left

// Who speaks another language is not waited for.
bool begins_as_hello(std::span<const std::byte> in, std::size_t received) {
  const Hello expected;
  return std::memcmp(in.data(), &expected.magic, std::min(received, sizeof expected.magic)) == 0;
}

// A new connection's buffer takes these few bytes, or something is wrong with it.
bool send_at_once(const Socket& to, std::span<const std::byte> bytes) {
  const ssize_t sent = send(to.fd(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent == static_cast<ssize_t>(bytes.size());
}

}  // namespace

Lobby::Lobby(Socket listener, const JobSecret& secret, Purpose purpose, int to, std::uint64_t epoch,
             LobbyLimits limits)
    : listener_(std::move(listener)),
      secret_(secret),
      purpose_(purpose),
      to_(to),
      epoch_(epoch),
      limits_(limits) {
  check_reach(listener_.local(), secret_);
}

void Lobby::add_to(std::vector<pollfd>& entries) const {
  if (!accepts_again_) entries.push_back({listener_.fd(), POLLIN, 0});
  for (const Caller& c : callers_) entries.push_back({c.socket.fd(), POLLIN, 0});
}

std::optional<Deadline> Lobby::next_deadline() const {
  std::optional<Deadline> next = accepts_again_;
  if (!callers_.empty()) next = std::min(next.value_or(Deadline::max()), callers_.front().until);
  return next;
}

std::vector<Lobby::Arrival> Lobby::admit() {
  accept_all();
  std::vector<Arrival> arrivals;
  const Deadline now = std::chrono::steady_clock::now();
  std::erase_if(callers_, [&](Caller& c) {
    State state = advance(c);
    if (state == State::waits && c.until <= now) state = State::refused;
    if (state == State::refused) refuse(c);
    if (state == State::shown) {
      arrivals.push_back(
          {c.hello.from, std::move(c.socket), called_session(secret_, c.hello, c.nonce)});
    }
    return state != State::waits;
  });
  return arrivals;
}

void Lobby::accept_all() {
  if (accepts_again_ && *accepts_again_ > std::chrono::steady_clock::now()) return;
  accepts_again_.reset();
  for (int turn = 0; turn < kAcceptsInTurn; ++turn) {
    Socket s;
    try {
      s = accept_until(listener_, after(0));
    } catch (const std::runtime_error&) {  // out of file descriptors, perhaps by those that wait
      for (const Caller& c : callers_) refuse(c);
      callers_.clear();
      accepts_again_ = after(kPauseSeconds);
      return;
    }
    if (!s.is_open()) return;
    if (callers_.size() >= limits_.callers) make_room();
    Caller& c = callers_.emplace_back();
    c.socket = std::move(s);
    c.until = after(limits_.seconds);
  }
}

// Of those that have said nothing the oldest goes first: a flood of connections costs a stranger less
// than a flood of greetings.
void Lobby::make_room() {
  auto goes = std::ranges::find(callers_, false, &Caller::challenged);
  if (goes == callers_.end()) goes = callers_.begin();
  refuse(*goes);
  callers_.erase(goes);
}

bool Lobby::is_wanted(const Hello& h) const {
  return h.purpose == purpose_ && h.to == to_ && h.from >= 0 && h.epoch == epoch_;
}

// Takes no byte more than the handshake's: what follows is for whoever gets the connection.
Lobby::State Lobby::advance(Caller& c) {
  for (;;) {
    const std::size_t wanted = c.challenged ? c.in.size() : sizeof(Hello);
    const ssize_t n =
        recv(c.socket.fd(), c.in.data() + c.received, wanted - c.received, MSG_DONTWAIT);
    if (n < 0) return errno == EAGAIN || errno == EINTR ? State::waits : State::refused;
    if (n == 0) return State::refused;
    c.received += static_cast<std::size_t>(n);
    if (!begins_as_hello(c.in, c.received)) return State::refused;
    if (c.received < wanted) continue;
    if (!c.challenged) {
      std::memcpy(&c.hello, c.in.data(), sizeof c.hello);
      if (!is_wanted(c.hello)) return State::refused;
      const Challenge challenge = make_challenge(secret_, c.hello);
      c.nonce = challenge.nonce;
      if (!send_at_once(c.socket, std::as_bytes(std::span(&challenge, 1)))) return State::refused;
      c.challenged = true;
      continue;
    }
    Proof proof;
    std::memcpy(proof.data(), c.in.data() + sizeof(Hello), sizeof proof);
    if (!is_callers_proof(secret_, c.hello, c.nonce, proof)) return State::refused;
    const Proof welcome = make_welcome(secret_, c.hello, c.nonce);
    const bool sent = send_at_once(c.socket, std::as_bytes(std::span(&welcome, 1)));
    return sent ? State::shown : State::refused;
  }
}

void Lobby::refuse(const Caller& c) {
  ++refused_;
  last_refused_ = c.socket.remote().host;
}

std::string Lobby::refused_text() const {
  if (refused_ == 0) return "";
  return fmt::format("; {} caller{} did not show that {} the job's secret, the last from {}",
                     refused_, refused_ == 1 ? "" : "s", refused_ == 1 ? "it knows" : "they know",
                     last_refused_);
}

}  // namespace pleat
