// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/lobby.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

namespace pleat {
namespace {

constexpr int kAcceptsInTurn = 64;
constexpr double kPauseSeconds = 0.1;  // when no file descriptor is left

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
      wanted_{purpose, to, epoch},
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
    if (c.state == State::waits) c.state = advance(c);
    if (c.state == State::waits && c.until <= now) c.state = State::refused;
    if (c.state == State::refused) refuse(c);
    if (c.state == State::shown) {
      arrivals.push_back({c.handshake.from(), std::move(c.socket), c.handshake.session(secret_)});
    }
    return c.state != State::waits;
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
      std::erase_if(callers_, [this](const Caller& c) {
        if (c.state != State::waits) return false;
        refuse(c);
        return true;
      });
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

// Of those that have said nothing the oldest goes first: a flood of connections costs a stranger
// less than a flood of greetings. A greeting that has come and was not read yet counts: it is read
// first.
void Lobby::make_room() {
  const auto waits = [](const Caller& c) { return c.state == State::waits; };
  const auto may_go = [&](Caller& c) {
    if (c.handshake.has_greeted()) return false;
    c.state = advance(c);
    return c.state == State::refused || !c.handshake.has_greeted();
  };
  auto goes = std::ranges::find_if(callers_, may_go);
  if (goes == callers_.end()) goes = std::ranges::find_if(callers_, waits);
  if (goes == callers_.end()) return;  // all of them have shown their proof, and leave
  refuse(*goes);
  callers_.erase(goes);
}

Lobby::State Lobby::advance(Caller& c) {
  using Step = CalledHandshake::Step;
  for (;;) {
    const std::span<std::byte> room = c.handshake.room();
    const ssize_t n = recv(c.socket.fd(), room.data(), room.size(), MSG_DONTWAIT);
    if (n < 0) return errno == EAGAIN || errno == EINTR ? State::waits : State::refused;
    if (n == 0) return State::refused;
    const Step step = c.handshake.took(static_cast<std::size_t>(n), wanted_, secret_);
    if (step == Step::refused) return State::refused;
    if (step == Step::waits) continue;
    if (!send_at_once(c.socket, c.handshake.reply())) return State::refused;
    if (step == Step::shown) return State::shown;
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
