// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Exchanges that several blocks or modes share. Context parallelism over heads (DeepSpeed-Ulysses,
// arXiv:2309.14509; TransformerEngine context_parallel.py): between projections every rank holds its
// tokens and all heads, in the core all tokens of the group and its share of the heads.
#include "core/plan/rank_map.hpp"
#include "core/program/layer_builder.hpp"

namespace pleat {

ContextShares::ContextShares(const Plan& plan) {
  switch (plan.cp_comm) {
    case CpComm::p2p:
    case CpComm::all_gather: ring = plan.attention.cp; break;
    case CpComm::all_to_all: heads = plan.attention.cp; break;
    case CpComm::a2a_p2p:
      heads = group_size(plan, Group::cp_heads);
      ring = group_size(plan, Group::cp_ring);
      heads_group = Group::cp_heads;
      ring_group = Group::cp_ring;
      break;
  }
}

namespace {

// A pass that puts chunks in the order of ranks or of the sequence: reads and writes once (TE
// flash_attn_a2a_communicate: one before and one after every exchange).
void reorder(LayerBuilder& b, Phase phase, const std::string& name, TensorId x) {
  Op& op = phase == Phase::forward
               ? b.push(OpKind::pointwise, name, Module::core_attn, {x}, {})
               : b.push_backward(OpKind::pointwise, name, Module::core_attn, phase, {x}, {});
  op.attr.passes = 2;
}

}  // namespace

TensorId exchange_heads(LayerBuilder& b, const std::string& name, TensorId x, std::vector<Dim> dims,
                        bool to_heads, std::optional<TensorId> with) {
  const Group group = ContextShares(b.shape().plan).heads_group;
  const TensorId y = b.activation(name, std::move(dims), b.shape().act);
  std::vector<TensorId> in{x};
  if (with) in.push_back(*with);
  reorder(b, Phase::forward, name + ".pack", x);
  b.push(to_heads ? OpKind::all_to_all : OpKind::all_to_all_back, name, Module::core_attn, in, {y})
      .group = group;
  reorder(b, Phase::forward, name + ".unpack", y);
  b.on_backward([=, &b] {
    std::vector<TensorId> out{b.new_gradient(x)};
    reorder(b, Phase::backward, name + ".bwd.pack", b.gradient(y));
    if (with) out.push_back(b.new_gradient(*with));
    b.push_backward(to_heads ? OpKind::all_to_all_back : OpKind::all_to_all, name + ".bwd",
                    Module::core_attn, Phase::backward, {b.gradient(y)}, out)
        .group = group;
    reorder(b, Phase::backward, name + ".bwd.unpack", out.front());
  });
  return y;
}

TensorId share_tokens(LayerBuilder& b, const std::string& name, Module module, TensorId x,
                      const std::vector<Dim>& dims, DType dtype, bool gather,
                      std::int64_t moved, bool beside_rows) {
  const auto shape = [=](Op& op) {
    op.group = Group::etp_ep;
    if (moved > 0) op.attr.n = {moved};
    if (beside_rows) op.attr.passes = 0;
  };
  const TensorId y = b.activation(name, dims, dtype);
  shape(b.push(gather ? OpKind::all_gather : OpKind::reduce_scatter, name, module, {x}, {y}));
  b.on_backward([=, &b] {
    const TensorId dy = b.gradient(y);
    const auto [dx, accumulate] = b.gradient_to_accumulate(x);
    Op& op = b.push_backward(gather ? OpKind::reduce_scatter : OpKind::all_gather, name + ".bwd",
                             module, Phase::backward, {dy}, {dx});
    op.attr.accumulate = accumulate;
    shape(op);
  });
  return y;
}

}  // namespace pleat
