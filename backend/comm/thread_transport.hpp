// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The ranks of a job as threads of one process: collectives read each other's buffers directly, and
// waiting sleeps, for the ranks may outnumber the cores.
#pragma once

#include <memory>
#include <vector>

#include "backend/comm/communicator.hpp"

namespace pleat {

// One transport a rank, in rank order; give each to its own thread. They may be destroyed in any
// order, also before the communicators made from them.
[[nodiscard]] std::vector<std::unique_ptr<Transport>> make_thread_transports(int world);

}  // namespace pleat
