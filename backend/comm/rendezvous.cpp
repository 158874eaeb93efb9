// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/rendezvous.hpp"

#include <fmt/format.h>

#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>

namespace pleat {
namespace {

std::string process_key(int process) { return fmt::format("process/{}", process); }

// What one process says of itself; words without blanks.
struct Said {
  int ranks = 0, port = 0;
  std::string host, fingerprint, machine;
};

std::string to_line(const Said& s) {
  return fmt::format("{} {} {} {} {}", s.ranks, s.port, s.host, s.machine,
                     s.fingerprint.empty() ? "-" : s.fingerprint);
}

Said read_line(const std::string& line) {
  Said s;
  if (!(std::istringstream(line) >> s.ranks >> s.port >> s.host >> s.machine >> s.fingerprint)) {
    throw std::runtime_error("a process said something broken at the rendezvous");
  }
  return s;
}

std::string to_text(const Roster& r) {
  std::string text = fmt::format("{}", r.epoch);
  for (const RosterEntry& e : r.processes) {
    text += fmt::format(" {} {} {} {}", e.first_rank, e.ranks, e.address.host, e.address.port);
  }
  return text;
}

Roster read_roster(const std::string& text) {
  Roster r;
  std::istringstream in(text);
  in >> r.epoch;
  for (RosterEntry e; in >> e.first_rank >> e.ranks >> e.address.host >> e.address.port;) {
    r.processes.push_back(e);
  }
  return r;
}

std::uint64_t new_epoch() {
  std::random_device random;
  return (std::uint64_t{random()} << 32) | random();
}

// The first of the addresses that answers.
StoreClient reach(const Meeting& m, Deadline deadline) {
  const std::string name = fmt::format("process {} on {}", m.process, host_name());
  for (std::size_t i = 0; i + 1 < m.at.size(); ++i) {
    try {
      return StoreClient(m.at[i], m.secret, m.process, name, std::min(deadline, after(2)));
    } catch (const std::runtime_error&) {  // the last one says why
    }
  }
  return StoreClient(m.at.back(), m.secret, m.process, name, deadline);
}

// Process 0: waits for everyone and makes the roster. Throws what all are to be told.
Roster take_roll(StoreClient& store, const StoreServer& server, const Meeting& m,
                 Deadline deadline) {
  Roster roster;
  roster.epoch = new_epoch();
  std::vector<int> missing;
  int first_rank = 0;
  std::optional<Said> here;
  for (int p = 0; p < m.processes; ++p) {
    // Those after a missing one have had the same time to come.
    const Deadline until = missing.empty() ? deadline : after(0.05);
    std::string line;
    try {
      line = store.get(process_key(p), until);
    } catch (const StoreTimeout&) {
      missing.push_back(p);
      continue;
    }
    const Said said = read_line(line);
    if (!here) here = said;
    if (said.fingerprint != here->fingerprint) {
      throw std::runtime_error(fmt::format(
          "process {} on {} was started with another plan, model, data or settings than process 0 "
          "on {}",
          p, said.machine, here->machine));
    }
    roster.processes.push_back({first_rank, said.ranks, {said.host, said.port}});
    first_rank += said.ranks;
  }
  if (!missing.empty()) {
    throw std::runtime_error(fmt::format(
        "process{} {} of {} did not come to {} within {} s{}", missing.size() > 1 ? "es" : "",
        fmt::join(missing, ", "), m.processes, to_text(m.at.front()), m.timeout_s,
        server.refused_text()));
  }
  if (first_rank != m.world) {
    throw std::runtime_error(
        fmt::format("the processes bring {} ranks, the plan has {}", first_rank, m.world));
  }
  return roster;
}

}  // namespace

std::string ranks_text(const RosterEntry& e) {
  return e.ranks == 1 ? fmt::format("rank {}", e.first_rank)
                      : fmt::format("ranks {}-{}", e.first_rank, e.first_rank + e.ranks - 1);
}

Met meet(Meeting m) {
  const Deadline deadline = after(m.timeout_s);
  Met met;
  if (m.process == 0) {
    if (!m.listener.is_open()) m.listener = listen_at(m.at.front());
    met.server = std::make_unique<StoreServer>(std::move(m.listener), m.secret);
  }
  StoreClient store = reach(m, deadline);
  met.mesh_listener = listen_at({store.local().host, 0});
  const Address mine = met.mesh_listener.local();
  const Said said{m.ranks, mine.port, mine.host, m.fingerprint, host_name()};
  if (!store.set(process_key(m.process), to_line(said), deadline)) {
    const std::string problem =
        fmt::format("process {} is there twice, the second time on {}", m.process, host_name());
    store.fail(problem, deadline);
    throw std::runtime_error(problem);
  }
  if (m.process == 0) {
    try {
      met.roster = take_roll(store, *met.server, m, deadline);
    } catch (const std::runtime_error& e) {
      // The others ask a little longer than this process waits, so that they hear of it.
      store.fail(e.what(), after(5));
      throw;
    }
    store.seal(after(5));  // first: whoever has the roster may leave
    static_cast<void>(store.set("roster", to_text(met.roster), after(5)));
  } else {
    met.roster = read_roster(store.get("roster", deadline + std::chrono::seconds(10)));
  }
  return met;
}

}  // namespace pleat
