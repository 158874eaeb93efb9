// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The ranks of one process in a job of several: groups whose members talk through a hub.
#pragma once

#include <memory>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "backend/comm/message_hub.hpp"

namespace pleat {

// One transport for each rank of the hub, in rank order; give each to its own thread.
[[nodiscard]] std::vector<std::unique_ptr<Transport>> make_message_transports(
    const std::shared_ptr<MessageHub>&, int world);

}  // namespace pleat
