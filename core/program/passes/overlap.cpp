// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Sequence parallelism: the second gather of a GEMM's input runs beside its dgrad, the reduction of
// the input gradient beside its wgrad (Megatron layers.py; TransformerEngine does the same). With
// user buffers the others run in pieces beside their GEMM too. A key-value ring runs beside the
// attention it feeds, expert exchanges of fused kernels beside the grouped GEMM that reads or makes
// their rows.
#include <algorithm>
#include <iterator>

#include "core/program/layer_builder.hpp"
#include "core/program/passes/layer_passes.hpp"
#include "core/program/passes/pair.hpp"

namespace pleat {
namespace {

void overlap_tensor_parallel(LayerProgram& layer, bool in_pieces) {
  for (Pass pass : {Pass::forward, Pass::backward}) {
    for (Op& op : pass == Pass::forward ? layer.forward : layer.backward) {
      if (op.group != Group::tp || op.phase == Phase::recompute) continue;
      const bool gather = op.kind == OpKind::all_gather;
      if (!gather && op.kind != OpKind::reduce_scatter) continue;
      // Gradients of outputs are gathered before, everything forward lies between two GEMMs.
      const bool beside_its_gemm =
          pass == Pass::backward && (!gather || op.name.find(".again") != std::string::npos);
      if (beside_its_gemm || in_pieces) op.stream = Stream::comm;
      op.in_pieces = in_pieces && !beside_its_gemm;
    }
  }
}

// The ring's steps. Forward it keeps every piece it receives and the partial output of every step;
// backward two pieces of the keys and values and two of their gradients are under way, all of them
// with fp8 attention (TransformerEngine context_parallel.py, AttnFuncWithCPAndKVP2P).
void overlap_ring(LayerProgram& layer, const Plan& plan, int ring, Group group) {
  const auto keep_two = [&](TensorId id, Op& op) {
    Tensor& whole = layer.tensors[id.index()];
    op.attr.n = {whole.elements(Binding{})};
    if (!plan.fp8_attention) {
      whole.shape.front().n = whole.shape.front().n / ring * std::min(ring, 2);
    }
  };
  for (Pass pass : {Pass::forward, Pass::backward}) {
    for (Op& op : pass == Pass::forward ? layer.forward : layer.backward) {
      const bool core = op.kind == OpKind::attention || op.kind == OpKind::mla_attention;
      if (core && pass == Pass::forward && op.phase != Phase::recompute) {
        Tensor steps = layer.tensor(op.out.front());
        steps.name += ".steps";
        steps.shape.front().n *= ring;
        layer.tensors.push_back(std::move(steps));
        op.out.push_back(TensorId{static_cast<int>(layer.tensors.size()) - 1});
      }
      if (op.group != group) continue;
      op.stream = Stream::comm;
      op.in_pieces = true;
      if (pass == Pass::backward && op.phase != Phase::recompute) {
        keep_two(op.kind == OpKind::gather_keys ? op.out.front() : op.in.front(), op);
      }
    }
  }
}

// Rows that travel inside the grouped product next to them.
void overlap_tiles(LayerProgram& layer) {
  for (std::vector<Op>* ops : {&layer.forward, &layer.backward}) {
    for (Op& op : *ops) {
      const bool rows = op.module == Module::dispatch || op.module == Module::combine;
      if (!rows || (op.group != Group::ep && op.group != Group::etp_ep) || op.attr.passes == 0) {
        continue;
      }
      op.stream = Stream::comm;
      op.in_pieces = true;
    }
  }
}

// Half of the shared expert's ops behind the first run of exchanges, half behind the last.
void overlap_shared_expert(std::vector<Op>& ops) {
  if (std::ranges::none_of(ops, is_token_exchange)) return;
  std::vector<Op> shared, others;
  for (Op& op : ops) {
    (op.module == Module::shared_experts ? shared : others).push_back(std::move(op));
  }
  const auto first = std::ranges::find_if(others, is_token_exchange);
  const auto last = std::find_if(others.rbegin(), others.rend(), is_token_exchange).base();
  ops.clear();
  const auto half = shared.begin() + static_cast<std::ptrdiff_t>(shared.size() / 2);
  for (auto it = others.begin(); it != others.end(); ++it) {
    if (is_token_exchange(*it)) it->stream = Stream::comm;
    ops.push_back(std::move(*it));
    if (it == first) std::move(shared.begin(), half, std::back_inserter(ops));
    if (std::next(it) == last) std::move(half, shared.end(), std::back_inserter(ops));
  }
}

}  // namespace

void apply_overlap(LayerProgram& layer, const Plan& plan) {
  if (plan.attention.tp > 1 && plan.sequence_parallel) {
    overlap_tensor_parallel(layer, plan.overlap.tensor_parallel);
  }
  const ContextShares shares(plan);
  const bool ring = plan.cp_comm == CpComm::p2p || plan.cp_comm == CpComm::a2a_p2p;
  if (ring && shares.ring > 1) overlap_ring(layer, plan, shares.ring, shares.ring_group);
  const bool moe = layer.kind == LayerKind::moe || layer.kind == LayerKind::mtp;
  if (moe && plan.overlap.tile_level) overlap_tiles(layer);
  if (moe && plan.overlap.shared_expert) {
    overlap_shared_expert(layer.forward);
    overlap_shared_expert(layer.backward);
  }
}

}  // namespace pleat
