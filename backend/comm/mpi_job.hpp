// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Jobs whose messages travel by MPI. MPI carries bytes between pairs only: what is added, and in
// which order, is ours, so the bits are the same as with threads.
#pragma once

#include <string>

#include "backend/comm/job_part.hpp"

namespace pleat {

// Whether this build has MPI: the Debian package libopenmpi-dev at configure time.
[[nodiscard]] bool has_mpi();

struct MpiMeeting {
  int ranks = 1;            // of this process
  int world = 1;            // of the job
  std::string fingerprint;  // as in Meeting
  double timeout_s = 60;
  int process = -1, processes = -1;  // what the launcher said, to be checked; -1: nothing
};

// Initialises MPI, once in a process. std::runtime_error when MPI counts other processes than the
// launcher, without MPI, and as JobPart::over_tcp.
[[nodiscard]] JobPart join_over_mpi(const MpiMeeting&, MeshTimes = {});

}  // namespace pleat
