// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a rank's NCCL communicators share.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "backend/comm/nccl_library.hpp"

namespace pleat {

struct NcclSettings {
  // Sums in the order of the members, by exchanging the parts: the bits of all other transports, as
  // many bytes, more memory.
  bool ordered_sums = false;
  // Memory that collectives run on again and again in symmetric windows (nccl_window.hpp), where all
  // ranks of a group can. All ranks of the job set it alike.
  bool windows = false;
  // Hears in a line what came of each group's window; none: nobody.
  std::function<void(const std::string&)> say = {};
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
  // What the rank has of NCCL's memory, the only one that windows are made of.
  std::shared_ptr<std::set<const std::byte*>> mapped = std::make_shared<std::set<const std::byte*>>();
};

// The call's result when NCCL is done with it. Throws when the job has been given up meanwhile.
[[nodiscard]] int nccl_result(const NcclJob&, NcclComm, int result);

// The same, and throws if it is not success: what the job knows of a lost rank before what NCCL says of
// itself.
void require_nccl(const NcclJob&, NcclComm, int result, const char* call);

}  // namespace pleat
