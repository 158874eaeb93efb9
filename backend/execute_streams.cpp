// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which of the device's streams an operation goes to: the program's, as far as what it does needs
// no memory of the kernels' own, which is of the first stream.
#include <algorithm>

#include "backend/executor.hpp"
#include "core/program/passes/pair.hpp"

namespace pleat {
namespace {

// Shards of weights and gradients queue behind nothing but each other.
enum SideStream : int { kCompute, kExchanges, kHostCopies, kShards };

// Exchanges that pack, sort or convert rows beside sending them.
bool has_kernels_with_scratch(const Op& op, const OpSite& site) {
  const auto is_narrow = [&](TensorId id) { return is_quantized(site.program->tensor(id).dtype); };
  return op.attr.wire < 1 || op.in.size() > 2 || std::ranges::any_of(op.in, is_narrow) ||
         std::ranges::any_of(op.out, is_narrow);
}

}  // namespace

int Executor::stream_of(const Op& op, const OpSite* site) const {
  if (!order_ || site == nullptr || spans_ != nullptr || op.on_host) return kCompute;
  if (op.kind == OpKind::offload || op.kind == OpKind::reload) return kHostCopies;
  if (!is_collective(op.kind) || op.kind == OpKind::send || op.kind == OpKind::recv) {
    return kCompute;
  }
  const bool paired = program_.plan.overlap.expert_parallel && is_token_exchange(op);
  if (op.stream == Stream::compute && !paired) return kCompute;
  if (has_kernels_with_scratch(op, *site) || program_.plan.overlap.tile_level) return kCompute;
  return op.module == Module::grad_sync ? kShards : kExchanges;
}

void Executor::begin_on_stream(const Op& op, const OpSite* site) {
  if (!order_) return;
  if (site == nullptr) return order_->join();
  const bool exchanges = op.group != Group::none && is_collective(op.kind);
  const bool neighbours = op.kind == OpKind::send || op.kind == OpKind::recv;
  const Communicator* shared = !exchanges   ? nullptr
                               : neighbours ? &context_.pipeline()
                                            : &context_.comm(op.group, op.attr.run);
  order_->begin(stream_of(op, site), in_, out_, shared);
}

}  // namespace pleat
