// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Messages of ranks over MPI, one MPI message each. MPI is left alone until a rank waits or sends:
// no thread spins beside those that compute.
#pragma once

#include <memory>

#include "backend/comm/mesh.hpp"
#include "backend/comm/message_hub.hpp"

namespace pleat {

// MPI must have been initialised with processes in the roster's order. The wire finalises it,
// unless the job was aborted: the others may not be there any more.
[[nodiscard]] std::unique_ptr<Wire> make_mpi_wire(MessageHub&, const Roster&, TcpMesh&);

}  // namespace pleat
