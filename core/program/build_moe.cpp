// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Mixture of experts, dropless all-to-all dispatch: router, permute, dispatch, grouped GEMMs with
// the router probability inside SwiGLU (so that fc2's output need not be saved), combine,
// unpermute, and a shared expert beside. T*k rows leave this rank, R rows (decided by routing)
// arrive. DeepEP and HybridEP take the T tokens as they are and sum on the way back: no permutation
// where they come from, one where they arrive. The all-gather dispatcher gathers all ranks' tokens
// and picks those of its experts, and sums with a reduce-scatter. Fused kernels (tile-level
// overlap) sort rows on the way.
#include <algorithm>

#include "core/plan/dispatcher_traits.hpp"
#include "core/program/moe_routing.hpp"

namespace pleat {
namespace {

// A row exchange over ep whose backward is the opposite exchange of the gradient. `beside_rows`: it
// travels in the kernel that moves the rows.
TensorId exchange(LayerBuilder& b, const std::string& name, Module module, TensorId x,
                  const std::vector<Dim>& dims, DType dtype, TensorId all_counts, bool forth,
                  bool beside_rows = false) {
  const bool sorts = b.shape().plan.overlap.tile_level;
  const OpKind to_experts = sorts ? OpKind::exchange_sorted : OpKind::exchange_rows;
  const OpKind to_tokens = sorts ? OpKind::exchange_sorted_back : OpKind::exchange_rows_back;
  const OpKind there = forth ? to_experts : to_tokens, back = forth ? to_tokens : to_experts;
  auto shape = [beside_rows](Op& op, const LocalShape& s) {
    op.group = Group::ep;
    if (beside_rows) op.attr.passes = 0;
    set_slots(op, s);
  };
  const TensorId y = b.activation(name, dims, dtype);
  shape(b.push(there, name, module, {x, all_counts}, {y}), b.shape());
  b.on_backward([=, &b] {
    const TensorId dy = b.gradient(y);
    const auto [dx, accumulate] = b.gradient_to_accumulate(x);
    Op& op = b.push_backward(back, name + ".bwd", module, Phase::backward, {dy, all_counts}, {dx});
    op.attr.accumulate = accumulate;
    shape(op, b.shape());
  });
  return y;
}

// Reorders received rows between (source, expert) and (expert, source) order.
TensorId reorder(LayerBuilder& b, const std::string& name, Module module, TensorId x,
                 std::vector<Dim> dims, DType dtype, TensorId all_counts, bool sort) {
  const TensorId y = b.activation(name, dims, dtype);
  set_slots(b.push(sort ? OpKind::sort_chunks : OpKind::unsort_chunks, name, module,
                    {x, all_counts}, {y}), b.shape());
  b.on_backward([=, &b] {
    const TensorId dy = b.gradient(y);
    const TensorId dx = b.new_gradient(x);
    set_slots(b.push_backward(sort ? OpKind::unsort_chunks : OpKind::sort_chunks, name + ".bwd",
                               module, Phase::backward, {dy, all_counts}, {dx}), b.shape());
  });
  return y;
}

// ETP: the rows of the etp peers are gathered before the experts and summed back after. Where
// routing decides how many there are, all_counts tells each peer's.
TensorId etp_exchange(LayerBuilder& b, const std::string& name, Module module, TensorId x,
                      const std::vector<Dim>& dims, DType dtype, TensorId all_counts, bool gather) {
  const bool ragged = dims.front().symbol != Symbol::one;
  const OpKind gathers = ragged ? OpKind::gather_peer_rows : OpKind::all_gather;
  const OpKind reduces = ragged ? OpKind::reduce_peer_rows : OpKind::reduce_scatter;
  const OpKind there = gather ? gathers : reduces, back = gather ? reduces : gathers;
  const auto operands = [=](TensorId from) {
    return ragged ? std::vector<TensorId>{from, all_counts} : std::vector<TensorId>{from};
  };
  const auto shape = [](Op& op, const LocalShape& s) {
    op.group = Group::etp;
    set_slots(op, s);
  };
  const TensorId y = b.activation(name, dims, dtype);
  shape(b.push(there, name, module, operands(x), {y}), b.shape());
  b.on_backward([=, &b] {
    const TensorId dy = b.gradient(y);
    const TensorId dx = b.new_gradient(x);
    shape(b.push_backward(back, name + ".bwd", module, Phase::backward, operands(dy), {dx}),
          b.shape());
  });
  return y;
}

// Width of the rows that travel to the experts.
std::int64_t routed_width(const ModelSpec& m) {
  return m.moe->latent > 0 ? m.moe->latent : m.hidden;
}

// One kernel. Biases of experts are passes of their own over the rows of each product, counted
// here: both outputs are read and written; backward du is read for fc1's, dy for fc2's and once
// more for what that gives the probabilities. In elements a row, of u, a and y.
Passes activation_passes(const LocalShape& s, std::int64_t f) {
  if (!s.model.moe->mlp_bias) return {};
  const auto a = static_cast<double>(f), u = s.model.gated_mlp ? 2 * a : a;
  const auto y = static_cast<double>(routed_width(s.model));
  return {1 + 2 * (u + y) / (u + a), 1 + (u + 2 * y) / (2 * u + a)};
}

// The activation times the router probability. Only SwiGLU, with clamps or without, has a kernel
// for it.
TensorId expert_activation(LayerBuilder& b, TensorId u, TensorId probs, Dim n, std::int64_t f) {
  const LocalShape& s = b.shape();
  const Passes passes = activation_passes(s, f);
  const bool clamped = s.model.activation == Activation::clamped_swiglu;
  if ((s.model.activation != Activation::silu && !clamped) || !s.model.gated_mlp) {
    return b.pointwise("experts.act", Module::moe_act, {u, probs}, {n, {f}}, passes,
                       activation_function(s.model));
  }
  const Elementwise function = clamped ? activation_function(s.model) : Elementwise::none;
  const TensorId a = b.activation("experts.act", {n, {f}}, s.act);
  Op& act =
      b.push(OpKind::swiglu_prob, "experts.act", Module::moe_act, {u, probs}, {a});
  act.attr.passes = passes.forward;
  act.attr.function = function;
  b.on_backward([=, &b] {
    std::vector<TensorId> in{b.gradient(a), u, probs};
    if (b.has_gradient(probs)) in.push_back(b.gradient(probs));  // added in the kernel
    const TensorId du = b.new_gradient(u);
    const TensorId dp = b.new_gradient(probs);
    Op& back = b.push_backward(OpKind::swiglu_prob_bwd, "experts.act.bwd", Module::moe_act,
                               Phase::backward, in, {du, dp});
    back.attr.passes = passes.backward;
    back.attr.function = function;
  });
  return a;
}

// Latent MoE: the routed rows are narrower than h; the projections are on every rank.
TensorId to_latent(LayerBuilder& b, TensorId normed) {
  const LocalShape& s = b.shape();
  const MoeSpec& moe = *s.model.moe;
  if (moe.latent == 0) return normed;
  const TensorId w = b.weight("latent.down", {{moe.latent}, {s.model.hidden}}, Bucket::dense, true);
  const TensorId x = b.gemm("latent.down", Module::dispatch, normed, w, s.act);
  return moe.latent_norm ? b.rms_norm("latent.norm", x, moe.latent) : x;
}

TensorId from_latent(LayerBuilder& b, TensorId merged) {
  const LocalShape& s = b.shape();
  const MoeSpec& moe = *s.model.moe;
  if (moe.latent == 0) return merged;
  const TensorId w = b.weight("latent.up", {{s.model.hidden}, {moe.latent}}, Bucket::dense, true);
  return b.gemm("latent.up", Module::combine, merged, w, s.act);
}

// The local experts' MLP on rows sorted by expert. The bias of fc2 counts with the row's
// probability, as what is before it does; the members of etp add a part of it each.
TensorId experts(LayerBuilder& b, TensorId rows, TensorId probs, TensorId counts, Dim n) {
  const LocalShape& s = b.shape();
  const MoeSpec& moe = *s.model.moe;
  const std::int64_t local = s.local_experts;
  const std::int64_t f = moe.ffn / s.etp, f1 = s.model.gated_mlp ? 2 * f : f;
  const std::int64_t width = routed_width(s.model);
  const auto bias = [&](const std::string& name, std::int64_t columns, bool replicated) {
    GroupedBias g;
    if (moe.mlp_bias) g.bias = b.weight(name, {{local}, {columns}}, Bucket::expert, replicated);
    return g;
  };
  const std::vector<Band> first_rows(s.model.gated_mlp ? 2 : 1, {moe.ffn});  // gate, up
  const TensorId w1 = b.weight("experts.fc1", {{local}, {f1}, {width}}, Bucket::expert);
  b.cut_rows(w1, first_rows);
  const GroupedBias first_bias = bias("experts.fc1.bias", f1, false);
  if (first_bias.bias) b.cut_rows(*first_bias.bias, first_rows);
  const TensorId u =
      b.grouped_gemm("experts.fc1", Module::experts, rows, w1, counts, first_bias);
  const TensorId a = expert_activation(b, u, probs, n, f);
  const TensorId w2 = b.weight("experts.fc2", {{local}, {width}, {f}}, Bucket::expert);
  b.cut_columns(w2, moe.ffn);
  GroupedBias second_bias = bias("experts.fc2.bias", width, true);
  second_bias.probs = probs;
  second_bias.scale = 1.0 / s.etp;
  return b.grouped_gemm("experts.fc2", Module::experts, a, w2, counts, second_bias);
}

TensorId shared_expert(LayerBuilder& b, TensorId normed) {
  const LocalShape& s = b.shape();
  const ModelSpec& m = s.model;
  const std::int64_t f = m.moe->shared_ffn / s.tp;
  const TensorId all = b.gather_tokens("shared.ag", Module::shared_experts, normed);
  const TensorId w1 =
      b.weight("shared.fc1", {{m.gated_mlp ? 2 * f : f}, {m.hidden}}, Bucket::dense);
  b.cut_rows(w1, std::vector<Band>(m.gated_mlp ? 2 : 1, {m.moe->shared_ffn}));
  const TensorId u = b.gemm("shared.fc1", Module::shared_experts, all, w1, s.act);
  const TensorId a = record_activation(b, "shared.act", Module::shared_experts, u, {s.S}, f);
  const TensorId w2 = b.weight("shared.fc2", {{m.hidden}, {f}}, Bucket::dense);
  b.cut_columns(w2, m.moe->shared_ffn);
  const TensorId y = b.gemm("shared.fc2", Module::shared_experts, a, w2, s.act);
  const TensorId out = b.reduce_tokens("shared.rs", Module::shared_experts, y);
  if (!m.moe->shared_gate) return out;
  const TensorId wg = b.weight("shared.gate", {{1}, {m.hidden}}, Bucket::dense, true);
  const TensorId gate = b.gemm("shared.gate", Module::shared_experts, normed, wg, s.act);
  const TensorId z = b.activation("shared.gated", {{s.T}, {m.hidden}}, s.act);
  b.push(OpKind::sigmoid_gate, "shared.gated", Module::shared_experts, {out, gate}, {z});
  b.on_backward([=, &b] {
    const TensorId dz = b.gradient(z);
    const TensorId dout = b.new_gradient(out);
    const TensorId dgate = b.new_gradient(gate);
    b.push_backward(OpKind::sigmoid_gate_bwd, "shared.gated.bwd", Module::shared_experts,
                    Phase::backward, {dz, out, gate}, {dout, dgate});
  });
  return z;
}

// Rows of this rank's tokens, one a copy, and their probabilities.
struct Rows {
  TensorId rows, probs, row_map;
};
Rows permute(LayerBuilder& b, TensorId sent_from, const Routed& r, std::int64_t tokens, Dim sent,
             Dim h) {
  const LocalShape& s = b.shape();
  const TensorId rows = b.activation("permuted", {sent, h}, s.act);
  const TensorId probs = b.activation("permuted.probs", {sent}, DType::fp32);
  const TensorId row_map =
      b.activation("row_map", {{tokens * s.model.moe->top_k}}, DType::i32);
  set_slots(b.push(OpKind::permute, "permute", Module::dispatch,
                    {sent_from, r.probs, r.experts, r.counts}, {rows, probs, row_map}), s);
  b.on_backward([=, &b] {
    const TensorId drows = b.gradient(rows);
    const TensorId dprows = b.gradient(probs);
    const auto [dx, accumulate] = b.gradient_to_accumulate(sent_from);
    const TensorId dprobs = b.new_gradient(r.probs);
    Op& op = b.push_backward(OpKind::permute_bwd, "permute.bwd", Module::dispatch, Phase::backward,
                             {drows, dprows, row_map}, {dx, dprobs});
    op.attr.accumulate = accumulate;
    set_slots(op, b.shape());
  });
  return {rows, probs, row_map};
}

// Sums the copies of each of `tokens` tokens.
TensorId unpermute(LayerBuilder& b, TensorId y, TensorId row_map, Dim tokens, Dim h) {
  const LocalShape& s = b.shape();
  const TensorId merged = b.activation("unpermute", {tokens, h}, s.act);
  set_slots(b.push(OpKind::unpermute, "unpermute", Module::combine, {y, row_map}, {merged}), s);
  b.on_backward([=, &b] {
    const TensorId dy = b.gradient(merged);
    const TensorId dx = b.new_gradient(y);
    set_slots(b.push_backward(OpKind::unpermute_bwd, "unpermute.bwd", Module::combine,
                               Phase::backward, {dy, row_map}, {dx}), b.shape());
  });
  return merged;
}

// Tokens gathered, those of the local experts picked, computed, summed and scattered. Megatron
// gathers the dense map (a byte an expert) and probabilities (4) of every token (mcore
// transformer/moe/token_dispatcher.py, MoEAllGatherTokenDispatcher).
TensorId gathered_experts(LayerBuilder& b, TensorId sent_from, const Routed& r, Dim computed,
                          Dim h) {
  const LocalShape& s = b.shape();
  const MoeSpec& moe = *s.model.moe;
  const std::int64_t all = s.T * s.ep * s.etp;
  const std::int64_t moved = all * h.n;
  if (s.plan.overlap.tile_level) {
    const TensorId rows = share_tokens(b, "dispatch", Module::dispatch, sent_from, {computed, h},
                                       s.act, true, moved);
    const TensorId probs = share_tokens(b, "dispatch.probs", Module::dispatch, r.probs, {computed},
                                        DType::fp32, true, 0, true);
    const TensorId y = experts(b, rows, probs, r.group_counts, computed);
    return share_tokens(b, "combine", Module::combine, y, {{s.T}, h}, s.act, false, moved);
  }
  const TensorId tokens =
      share_tokens(b, "dispatch", Module::dispatch, sent_from, {{all}, h}, s.act, true);
  Routed everyone = r;
  everyone.probs = share_tokens(b, "dispatch.probs", Module::dispatch, r.probs,
                                {{all}, {moe.top_k}}, DType::fp32, true, all * moe.experts);
  everyone.counts = r.group_counts;
  everyone.experts = b.activation("dispatch.experts", {{all}, {moe.top_k}}, DType::i32);
  Op& map = b.push(OpKind::all_gather, "dispatch.experts", Module::dispatch, {r.experts},
                   {everyone.experts});
  map.group = Group::etp_ep;
  map.attr.n = {std::max<std::int64_t>(1, all * moe.experts / 4)};
  const Rows rows = permute(b, tokens, everyone, all, computed, h);
  const TensorId y = experts(b, rows.rows, rows.probs, r.group_counts, computed);
  const TensorId merged = unpermute(b, y, rows.row_map, {all}, h);
  return share_tokens(b, "combine", Module::combine, merged, {{s.T}, h}, s.act, false);
}

}  // namespace

TensorId build_moe(LayerBuilder& b, TensorId x) {
  const LocalShape& s = b.shape();
  const MoeSpec& moe = *s.model.moe;
  const bool gathers_tokens = s.ep > 1 && traits_of(s.plan.dispatcher).gathers_tokens;
  const bool takes_tokens = s.ep > 1 && is_fused(s.plan.dispatcher);
  const Dim copies{s.T * moe.top_k, s.capacity > 0 ? Symbol::kept : Symbol::one};
  const Dim sent = s.padded ? Dim{s.slots * s.capacity} : copies;
  const Dim received = s.ep == 1 || s.padded ? sent : Dim{1, Symbol::routed};
  const bool known = received.symbol == Symbol::one;
  const Dim computed = s.etp == 1 && !gathers_tokens ? received
                       : known ? Dim{s.etp * received.n} : Dim{s.etp, Symbol::gathered};
  const Dim h{routed_width(s.model)};

  const Half half = open_half(b, "moe", x);
  const TensorId normed = b.rms_norm("mlp_norm", half.in, s.model.hidden);
  const Routed r = route(b, normed);
  const TensorId sent_from = to_latent(b, normed);

  if (gathers_tokens) {
    std::vector<TensorId> terms{
        from_latent(b, gathered_experts(b, sent_from, r, computed, h))};
    if (moe.shared_ffn > 0) terms.push_back(shared_expert(b, normed));
    return close_half(b, "moe", half, terms);
  }
  const bool sorts = s.ep * s.etp > 1 && !s.plan.overlap.tile_level;
  Rows out{sent_from, r.probs, {}};
  if (!takes_tokens) out = permute(b, sent_from, r, s.T, sent, h);
  TensorId rows = out.rows, probs = out.probs;
  if (s.ep > 1) {
    rows =
        exchange(b, "dispatch", Module::dispatch, rows, {received, h}, s.act, r.all_counts, true);
    probs = exchange(b, "dispatch.probs", Module::dispatch, probs, {received}, DType::fp32,
                     r.all_counts, true, takes_tokens || !sorts);
  }
  if (s.etp > 1) {
    rows = etp_exchange(b, "etp.ag", Module::dispatch, rows, {computed, h}, s.act, r.all_counts,
                        true);
    probs = etp_exchange(b, "etp.ag.probs", Module::dispatch, probs, {computed}, DType::fp32,
                         r.all_counts, true);
  }
  if (sorts) {
    rows = reorder(b, "sorted", Module::dispatch, rows, {computed, h}, s.act, r.all_counts, true);
    probs = reorder(b, "sorted.probs", Module::dispatch, probs, {computed}, DType::fp32,
                    r.all_counts, true);
  }
  TensorId y = experts(b, rows, probs, r.group_counts, computed);
  if (sorts) {
    y = reorder(b, "unsorted", Module::combine, y, {computed, h}, s.act, r.all_counts, false);
  }
  if (s.etp > 1) {
    y = etp_exchange(b, "etp.rs", Module::combine, y, {received, h}, s.act, r.all_counts, false);
  }
  if (s.ep > 1) {
    const Dim home = takes_tokens ? Dim{s.T} : sent;
    y = exchange(b, "combine", Module::combine, y, {home, h}, s.act, r.all_counts, false);
  }
  if (!takes_tokens) y = unpermute(b, y, out.row_map, {s.T}, h);
  std::vector<TensorId> terms{from_latent(b, y)};
  if (moe.shared_ffn > 0) terms.push_back(shared_expert(b, normed));
  return close_half(b, "moe", half, terms);
}

}  // namespace pleat
