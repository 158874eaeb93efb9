// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/stream_choice.hpp"

#include <algorithm>

#include "backend/execute/execution.hpp"
#include "core/program/passes/pair.hpp"

namespace pleat::execute {
namespace {

// Codes travel with their scales.
bool moves_codes(const Op& op, const OpSite& site) {
  const auto is_narrow = [&](TensorId id) { return is_quantized(site.program->tensor(id).dtype); };
  return std::ranges::any_of(op.in, is_narrow) || std::ranges::any_of(op.out, is_narrow);
}

}  // namespace

// Shards of weights and gradients queue behind nothing but each other.
SideStream stream_of(const Op& op, const OpSite* site, const Execution& run) {
  if (site == nullptr || op.on_host) return kCompute;
  if (op.kind == OpKind::offload || op.kind == OpKind::reload) return kHostCopies;
  if (!is_collective(op.kind) || op.kind == OpKind::send || op.kind == OpKind::recv) {
    return kCompute;
  }
  const bool paired = run.program.plan.overlap.expert_parallel && is_token_exchange(op);
  if (op.stream == Stream::compute && !paired) return kCompute;
  if (moves_codes(op, *site) || run.program.plan.overlap.tile_level) return kCompute;
  return op.module == Module::grad_sync ? kShards : kExchanges;
}

const Communicator* shared_by(const Op& op, const Execution& run) {
  if (op.group == Group::none || !is_collective(op.kind)) return nullptr;
  const bool neighbours = op.kind == OpKind::send || op.kind == OpKind::recv;
  return neighbours ? &run.ranks.pipeline() : &run.ranks.comm(op.group, op.attr.run);
}

}  // namespace pleat::execute
