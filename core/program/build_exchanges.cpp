// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Exchanges that several blocks or modes share. Context parallelism over heads (DeepSpeed-Ulysses,
// arXiv:2309.14509; TransformerEngine context_parallel.py): between projections every rank holds
// its tokens and all heads, in the core all tokens of the group and its share of the heads.
// Recurrences have no other kind (Megatron-LM core/ssm/mamba_context_parallel.py,
// gated_delta_net.py), selected keys only the one that gathers them (dsa.py).
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

// One direction of the exchange: a pass that packs, the exchange itself and a pass that unpacks,
// each into a tensor of its own (TE flash_attn_a2a_communicate).
class HeadExchange {
 public:
  HeadExchange(LayerBuilder& b, Phase phase, const HeadColumnsPlan& columns, Group group)
      : b_(b), phase_(phase), columns_(columns), group_(group) {}

  // `by_rank`: the shape of what travels.
  void run(const std::string& name, std::vector<TensorId> in, std::vector<TensorId> out,
           const std::vector<Dim>& by_rank, bool to_heads) {
    const TensorId packed = b_.activation(name + ".packed", by_rank, b_.shape().act);
    const TensorId received = b_.activation(name + ".received", by_rank, b_.shape().act);
    push(to_heads ? OpKind::split_heads : OpKind::order_ranks, name + ".pack", std::move(in),
         {packed});
    push(to_heads ? OpKind::all_to_all : OpKind::all_to_all_back, name, {packed}, {received});
    push(to_heads ? OpKind::order_tokens : OpKind::join_heads, name + ".unpack", {received},
         std::move(out));
  }

 private:
  void push(OpKind kind, const std::string& name, std::vector<TensorId> in,
            std::vector<TensorId> out) {
    Op& op = phase_ == Phase::forward
                 ? b_.push(kind, name, Module::core_attn, std::move(in), std::move(out))
                 : b_.push_backward(kind, name, Module::core_attn, phase_, std::move(in),
                                    std::move(out));
    op.group = group_;
    op.attr.heads = columns_.heads;
    op.attr.kv_groups = columns_.kv_groups;
    op.attr.head_dim = columns_.key;
    op.attr.rope_dim = columns_.rope;
    op.attr.v_dim = columns_.value;
  }

  LayerBuilder& b_;
  Phase phase_;
  HeadColumnsPlan columns_;
  Group group_;
};

}  // namespace

TensorId exchange_heads(LayerBuilder& b, const std::string& name, TensorId x, std::vector<Dim> dims,
                        bool to_heads, const HeadColumnsPlan& columns,
                        std::optional<TensorId> with) {
  const std::vector<Dim> by_rank = to_heads ? dims : b.dims(x);
  const TensorId y = b.activation(name, std::move(dims), b.shape().act);
  std::vector<TensorId> in{x};
  if (with) in.push_back(*with);
  const Group group = ContextShares(b.shape().plan).heads_group;
  HeadExchange(b, Phase::forward, columns, group).run(name, in, {y}, by_rank, to_heads);
  b.on_backward([=, &b] {
    const TensorId dy = b.gradient(y);
    std::vector<TensorId> out{b.new_gradient(x)};
    if (with) out.push_back(b.new_gradient(*with));
    HeadExchange(b, Phase::backward, columns, group)
        .run(name + ".bwd", {dy}, out, by_rank, !to_heads);
  });
  return y;
}

TensorId exchange_channels(LayerBuilder& b, const std::string& name, TensorId x,
                           std::int64_t channels, bool to_channels) {
  const LocalShape& s = b.shape();
  const Dim all_rows{s.S * s.cp}, own_rows{s.S};
  // Channels that several ranks need are repeated before they travel.
  const std::vector<Dim> by_rank{own_rows, {channels * s.cp}};
  const TensorId y = b.activation(
      name, to_channels ? std::vector<Dim>{all_rows, {channels}} : by_rank, s.act);
  HeadExchange(b, Phase::forward, {}, Group::cp).run(name, {x}, {y}, by_rank, to_channels);
  b.on_backward([=, &b] {
    const TensorId dy = b.gradient(y);
    HeadExchange(b, Phase::backward, {}, Group::cp)
        .run(name + ".bwd", {dy}, {b.new_gradient(x)}, by_rank, !to_channels);
  });
  return y;
}

TensorId gather_context(LayerBuilder& b, const std::string& name, Module module, TensorId x) {
  const LocalShape& s = b.shape();
  if (s.cp == 1) return x;
  std::vector<Dim> dims = b.dims(x);
  dims.front().n *= s.cp;
  const TensorId y = b.activation(name, dims, s.act);
  b.push(OpKind::all_gather, name, module, {x}, {y}).group = Group::cp;
  b.on_backward([=, &b] {
    const TensorId dy = b.gradient(y);
    const auto [dx, accumulate] = b.gradient_to_accumulate(x);
    Op& op = b.push_backward(OpKind::reduce_scatter, name + ".bwd", module, Phase::backward, {dy},
                             {dx});
    op.attr.accumulate = accumulate;
    op.group = Group::cp;
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
