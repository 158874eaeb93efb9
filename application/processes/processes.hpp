// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How the ranks of a run are spread over processes, from flags and from what launchers say.
#pragma once

#include <string>

#include "backend/comm/job_part.hpp"
#include "backend/launch/process_facts.hpp"

namespace pleat {

struct ProcessOptions {
  std::string transport = "auto";  // auto, threads, mpi, tcp
  int ranks = 0;                   // of each process; 0: as the plan and the processes give it
  ProcessFlags flags;
  double meeting_seconds = 60, stall_seconds = 600, lost_seconds = 30;
};

enum class Spread {
  threads,  // all ranks here
  mpi,      // this is one of several processes
  tcp,
  spawn  // several processes over TCP, which this one has to start
};
struct ProcessChoice {
  Spread spread = Spread::threads;
  int ranks = 1;  // of each process
  int processes = 1;
  ProcessFacts facts;
};

// ConfigError (bad_request) where flags, launcher and plan do not go together.
[[nodiscard]] ProcessChoice choose_processes(const ProcessOptions&, const ProcessFacts&, int world,
                                             bool has_mpi);
// "4 threads of this process", "4 processes of 1 rank over MPI: process 0 of 4 (…)"
[[nodiscard]] std::string to_text(const ProcessChoice&);

// Meets the other processes. std::runtime_error as MpiMeeting and Meeting say.
[[nodiscard]] JobPart join(const ProcessChoice&, const ProcessOptions&, int world,
                           const std::string& fingerprint);

// Starts this program with the same arguments in `processes` processes of this host, hands signals
// on to them and returns when all have ended: 0, or the exit code of the first that failed (5 if a
// signal killed it).
[[nodiscard]] int spawn_processes(int processes);

}  // namespace pleat
