// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Where callers wait until they have shown that they know the job's secret. It never waits for one
// of them: a caller that is slow, silent or wrong holds up nobody, takes little memory, and is sent
// away after a few seconds.
#pragma once

#include <poll.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "backend/comm/called_handshake.hpp"

namespace pleat {

struct LobbyLimits {
  std::size_t callers = 256;  // at once; more send away the oldest, silent ones first
  double seconds = 5;         // for a caller to show its proof
};

class Lobby {
 public:
  struct Arrival {
    int from = 0;  // process
    Socket socket;
    Session session;
  };

  // Callers must want `purpose` from process `to` in `epoch`. Throws what check_reach throws if the
  // listener can be reached from other hosts and there is no secret.
  Lobby(Socket listener, const JobSecret&, Purpose, int to, std::uint64_t epoch, LobbyLimits = {});

  // What poll() is to watch for this.
  void add_to(std::vector<pollfd>&) const;
  // When admit() has something to do though nothing comes; nullopt: never.
  [[nodiscard]] std::optional<Deadline> next_deadline() const;
  // Reads what has come, without waiting; those that have shown their proof.
  [[nodiscard]] std::vector<Arrival> admit();

  // "; 3 callers did not show that they know the job's secret, the last from 10.0.0.9"; empty: none
  [[nodiscard]] std::string refused_text() const;

 private:
  enum class State { waits, shown, refused };
  struct Caller {
    Socket socket;
    Deadline until;
    CalledHandshake handshake;
    State state = State::waits;
  };
  void accept_all();
  void make_room();
  [[nodiscard]] State advance(Caller&);
  void refuse(const Caller&);

  Socket listener_;
  JobSecret secret_;
  Wanted wanted_;
  LobbyLimits limits_;
  std::deque<Caller> callers_;             // the oldest first
  std::optional<Deadline> accepts_again_;  // set: out of file descriptors until then
  int refused_ = 0;
  std::string last_refused_;
};

}  // namespace pleat
