// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a rank's NCCL communicators share.
#pragma once

#include <functional>
#include <memory>
#include <set>

#include "backend/comm/nccl_library.hpp"

namespace pleat {

struct NcclSettings {
  // Sums in the order of the members, by exchanging the parts: the bits of all other transports, as
  // many bytes, more memory.
  bool ordered_sums = false;
};

class NcclCommunicator;

struct NcclJob {
  std::shared_ptr<const NcclFunctions> functions;
  NcclSettings settings;
  // Asked while a call waits; throws when the job has been given up.
  std::function<void()> check;
  // Those of the rank that are there, used on its thread alone.
  std::shared_ptr<std::set<NcclCommunicator*>> alive;
  // The next of the device's streams that nobody has, each direction of messages its own; those before
  // are the executor's (backend/execute_streams.cpp).
  std::shared_ptr<int> free_stream = std::make_shared<int>(8);
};

// Waits while `result` says that the communicator is busy, throws if it is not success: what the
// job knows of a lost rank before what NCCL says of itself.
void require_nccl(const NcclJob&, NcclComm, int result, const char* call);

}  // namespace pleat
