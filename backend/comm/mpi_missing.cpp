// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// In place of mpi_job.cpp where MPI was not found.
#include <stdexcept>

#include "backend/comm/mpi_job.hpp"

namespace pleat {

bool has_mpi() { return false; }

JobPart join_over_mpi(const MpiMeeting&, MeshTimes) {
  throw std::runtime_error("this build has no MPI: it was configured without libopenmpi-dev");
}

}  // namespace pleat
