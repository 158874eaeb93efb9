// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How the processes of a job find each other: process 0 serves a store at an address that all know,
// every process says there who it is, and all get the same roster, or the same reason why there is
// none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/comm/socket.hpp"
#include "backend/comm/store.hpp"

namespace pleat {

struct Meeting {
  std::vector<Address> at;  // where process 0 listens; the others try them in turn
  int process = 0, processes = 1;
  int ranks = 1;            // of this process
  int world = 1;            // of the job
  std::string fingerprint;  // of what is to be run; processes that differ are refused
  double timeout_s = 60;
  JobSecret secret;  // none: all addresses must be this host's loopback
  Socket listener;  // process 0: given if it listens already, else it does at at[0]
};

struct RosterEntry {
  int first_rank = 0, ranks = 1;
  Address address;  // where its mesh listens
};
struct Roster {
  std::uint64_t epoch = 0;  // of this forming of the job: another one has another number
  std::vector<RosterEntry> processes;
};

struct Met {
  Roster roster;
  Socket mesh_listener;
  std::unique_ptr<StoreServer> server;  // process 0
};

// Throws std::runtime_error, on every process that can be reached with the same text: processes
// that did not come, came twice, run something else, do not know the job's secret, or whose ranks
// do not add up. ConfigError (bad_request) for an address beyond this host without a secret.
[[nodiscard]] Met meet(Meeting);

// "rank 3", "ranks 4-7"
[[nodiscard]] std::string ranks_text(const RosterEntry&);

}  // namespace pleat
