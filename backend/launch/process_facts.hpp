// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which process of how many this is, as flags or the launcher's environment say. Launchers nest
// (Slurm starts mpirun or torchrun, which start the processes): the innermost one counts.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "backend/comm/socket.hpp"

namespace pleat {

// In the order in which they count.
enum class Launcher { flags, torchrun, open_mpi, pmix, pmi, slurm, none };
[[nodiscard]] std::string name_of(Launcher);

struct ProcessFacts {
  Launcher launcher = Launcher::none;
  int process = 0, processes = 1;
  int local = -1, local_processes = -1;  // on this host; -1: not said
  // Open MPI started exactly these processes, so that MPI counts them the same.
  bool under_open_mpi = false;
  std::optional<Address> rendezvous;  // where process 0 listens
  std::string from;                   // "RANK=2, WORLD_SIZE=4"
  std::string rendezvous_from;        // "MASTER_ADDR, MASTER_PORT"
};

struct ProcessFlags {
  std::string process;     // --process "2/4"; empty: not given
  std::string rendezvous;  // --rendezvous "host:port"; empty: not given
};

// Values of environment variables; nullopt: not set. An empty value counts as not set.
using Variables = std::function<std::optional<std::string>(const std::string& name)>;

// ConfigError (bad_request) naming the two variables or flags that contradict each other, or the
// one that is no number or that lacks its companion.
[[nodiscard]] ProcessFacts process_facts(const ProcessFlags&, const Variables&);

// "process 2 of 4 (torchrun: RANK=2, WORLD_SIZE=4), meeting at node1:29500 (MASTER_ADDR)"
[[nodiscard]] std::string to_text(const ProcessFacts&);

// First host of a Slurm node list: "gpu[003-005,7],login" is gpu003.
[[nodiscard]] std::string first_host(const std::string& node_list);

}  // namespace pleat
