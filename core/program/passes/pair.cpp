// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Phases of the pair:  comm    combine_bwd | dispatch_fwd, dispatch_bwd       | combine_fwd
//                      compute attn_fwd    | mlp_bwd, mlp_wgrad, mlp_fwd      | attn_bwd
#include "core/program/passes/pair.hpp"

#include <algorithm>
#include <utility>

#include "core/program/op_graph.hpp"

namespace pleat {

bool is_token_exchange(const Op& op) {
  const OpKind family = family_of(op.kind);
  return op.group == Group::ep &&
         (family == OpKind::all_to_all || family == OpKind::all_to_all_back);
}

Segments pair_segments(const std::vector<Op>& ops) {
  const int n = static_cast<int>(ops.size());
  int first = 0;
  while (first < n && !is_token_exchange(ops[static_cast<std::size_t>(first)])) ++first;
  int first_end = first;
  while (first_end < n && is_token_exchange(ops[static_cast<std::size_t>(first_end)])) ++first_end;
  int last_end = n;
  while (last_end > first_end && !is_token_exchange(ops[static_cast<std::size_t>(last_end - 1)])) {
    --last_end;
  }
  return {first_end, last_end};
}

void delay_weight_gradients(LayerProgram& layer) {
  const auto begin = static_cast<std::size_t>(pair_segments(layer.backward).second_end);
  const std::size_t count = layer.backward.size();
  std::vector<char> later(count);
  for (std::size_t i = begin; i < count; ++i) later[i] = layer.backward[i].phase == Phase::wgrad;
  const Dependencies before = dependencies(layer.backward);
  for (std::size_t i = count; i-- > 0;) {
    if (later[i]) continue;
    for (int b : before[i]) later[static_cast<std::size_t>(b)] = false;
  }
  std::vector<Op> ops;
  for (const bool last : {false, true}) {
    for (std::size_t i = 0; i < count; ++i) {
      if ((later[i] != 0) == last) ops.push_back(layer.backward[i]);
    }
  }
  layer.backward = std::move(ops);
}

std::vector<PairStep> pair_layers(const LayerProgram& forward_layer,
                                  const LayerProgram& backward_layer, bool delay_wgrad) {
  std::vector<PairStep> steps;
  auto emit = [&](Pass pass, int begin, int end) {
    const std::vector<Op>& ops = pass == Pass::forward ? forward_layer.forward
                                                       : backward_layer.backward;
    for (int i = begin; i < end; ++i) {
      const bool comm = is_token_exchange(ops[static_cast<std::size_t>(i)]);
      steps.push_back({pass, i, comm ? Stream::comm : ops[static_cast<std::size_t>(i)].stream});
    }
  };
  const Segments f = pair_segments(forward_layer.forward);
  const Segments b = pair_segments(backward_layer.backward);
  emit(Pass::backward, 0, b.first_end);                     // combine_bwd
  emit(Pass::forward, 0, f.first_end);                      // attention, router, dispatch
  emit(Pass::backward, b.first_end, b.second_end);   // experts bwd, dispatch_bwd
  emit(Pass::forward, f.first_end, f.second_end);    // experts fwd, combine_fwd
  emit(Pass::backward, b.second_end,
       static_cast<int>(backward_layer.backward.size()));  // attention bwd
  emit(Pass::forward, f.second_end,
       static_cast<int>(forward_layer.forward.size()));  // unpermute, residual
  if (delay_wgrad) {
    std::stable_partition(steps.begin(), steps.end(), [&](const PairStep& s) {
      if (s.pass != Pass::backward || s.op < b.second_end) return true;
      return backward_layer.backward[static_cast<std::size_t>(s.op)].phase != Phase::wgrad;
    });
  }
  return steps;
}

}  // namespace pleat
