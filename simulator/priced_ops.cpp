// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "simulator/priced_ops.hpp"

#include <algorithm>

#include "core/program/passes/pair.hpp"
#include "simulator/cost/op_work.hpp"

namespace pleat {
namespace {

// In a pair exchanges of tokens run beside compute wherever they run alone.
bool leaves_compute_stream(const Op& op) {
  return op.stream != Stream::compute || is_token_exchange(op);
}

PricedPass price_pass(const std::vector<Op>& ops, const std::vector<Tensor>& tensors,
                      const Binding& binding, const ClusterView& view, const Profile& profile) {
  PricedPass pass;
  pass.costs.reserve(ops.size());
  for (const Op& op : ops) {
    pass.costs.push_back(price_op(op, tensors, binding, view, profile));
  }
  if (!on_cpu(view) && std::ranges::any_of(ops, leaves_compute_stream)) {
    pass.after = dependencies(ops);
  }
  return pass;
}

}  // namespace

PricedLayer price_ops(const LayerProgram& layer, const Binding& binding, const ClusterView& view,
                      const Profile& profile) {
  return {price_pass(layer.forward, layer.tensors, binding, view, profile),
          price_pass(layer.backward, layer.tensors, binding, view, profile)};
}

}  // namespace pleat
