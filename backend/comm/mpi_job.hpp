// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Jobs whose messages travel by MPI. MPI carries bytes between pairs only: what is added, and in
// which order, is ours, so the bits are the same as with threads.
#pragma once

#include <memory>
#include <string>

#include "backend/comm/job_part.hpp"
#include "backend/comm/mesh.hpp"
#include "backend/comm/message_hub.hpp"

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

// Messages of ranks over MPI, one MPI message each. MPI is left alone until a rank waits or sends:
// no thread spins beside those that compute.

// MPI must have been initialised with processes in the roster's order. The wire finalises it,
// unless the job was aborted: the others may not be there any more.
[[nodiscard]] std::unique_ptr<Wire> make_mpi_wire(MessageHub&, const Roster&, TcpMesh&);

}  // namespace pleat
