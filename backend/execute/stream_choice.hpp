// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which of the device's streams an operation goes to: the one that the program says. But gathers of
// codes stay on the first stream, in whose order their scales are kept.
#pragma once

#include "backend/comm/communicator.hpp"
#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

enum SideStream : int { kCompute, kExchanges, kHostCopies, kShards };

[[nodiscard]] SideStream stream_of(const Op&, const OpSite*, const Execution&);
// What two streams must not use at once, beside its operands: the group's communicator; null:
// nothing.
[[nodiscard]] const Communicator* shared_by(const Op&, const Execution&);

}  // namespace pleat::execute
