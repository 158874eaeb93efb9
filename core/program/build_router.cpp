// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The router of a mixture of experts, token capacity, and how many rows go where.
#include "core/program/losses.hpp"
#include "core/program/moe_routing.hpp"

namespace pleat {

void set_router(Op& op, const LocalShape& s) {
  const MoeSpec& moe = *s.model.moe;
  op.attr.experts = moe.experts;
  op.attr.local_experts = s.local_experts;
  op.attr.top_k = moe.top_k;
  op.attr.capacity = s.capacity;
  op.attr.padded = s.padded;
  op.attr.groups = moe.groups;
  op.attr.top_groups = moe.top_groups;
  op.attr.scale = moe.scaling_factor;
}

void set_slots(Op& op, const LocalShape& s) {
  set_router(op, s);
  op.attr.experts = s.slots;
}

namespace {

// Balance and size of the router's scores. Sequences that are split over ranks have their sums
// added up, so that every rank of tp and cp knows the same losses and logs its share of them.
void add_router_losses(LayerBuilder& b, TensorId logits, TensorId experts) {
  const LocalShape& s = b.shape();
  if (!has_router_losses(s.model)) return;
  const auto shape = [](Op& op, const LocalShape& local) {
    set_router(op, local);
    op.attr.batch = local.batch;
    op.attr.seq = local.seq;
    op.attr.scale = 1.0 / (local.tp * local.cp);
  };
  const TensorId stats = b.activation("router.stats", {{s.batch}, {2 * s.model.moe->experts + 1}},
                                      DType::fp32);
  shape(b.push(OpKind::router_stats, "router.stats", Module::router, {logits, experts}, {stats}),
        s);
  const auto add_up = [&](const std::string& name, Group group) {
    b.push(OpKind::all_reduce, name, Module::router, {stats}, {stats}).group = group;
  };
  if (s.sp) add_up("router.stats.tp", Group::tp);
  if (s.cp > 1) add_up("router.stats.cp", Group::cp);
  const TensorId loss = b.loss_accumulator();
  Op& value = b.push(OpKind::router_losses, "router.losses", Module::router, {stats}, {loss});
  value.attr.accumulate = true;
  shape(value, s);
  b.on_backward([=, &b] {
    const TensorId d = b.gradient(logits);
    shape(b.push_backward(OpKind::router_losses_bwd, "router.losses.bwd", Module::router,
                          Phase::backward, {d, logits, stats}, {d}),
          b.shape());
  });
}

// What the expert bias is updated by: decisions, before any is dropped.
void count_load(LayerBuilder& b, TensorId experts) {
  const MoeSpec& moe = *b.shape().model.moe;
  if (!moe.expert_bias || moe.bias_update == 0) return;
  const TensorId load = b.weight("expert_load", {{moe.experts}}, Bucket::dense, false, true);
  b.push(OpKind::count_load, "load", Module::router, {experts}, {load}).attr.accumulate = true;
}

// Rows for every expert: from this rank, and from all that share the experts. Experts padded to
// their capacity need no exchange.
void count_rows(LayerBuilder& b, Routed& r) {
  const LocalShape& s = b.shape();
  const MoeSpec& moe = *s.model.moe;
  const int ranks = s.ep * s.etp;
  const bool placed = s.plan.expert.placement == ExpertPlacement::by_load;
  if (s.capacity > 0) {
    const TensorId copies = r.experts;
    r.counts = b.activation(placed ? "drop.counts" : "counts", {{moe.experts}}, DType::i32);
    r.experts = b.activation("kept", {{s.T}, {moe.top_k}}, DType::i32);
    set_router(b.push(OpKind::drop_tokens, "drop", Module::router, {r.probs, copies},
                      {r.experts, r.counts}), s);
  }
  if (placed) {
    const TensorId experts = r.experts;
    r.experts = b.activation("slots", {{s.T}, {moe.top_k}}, DType::i32);
    set_slots(b.push(OpKind::place_experts, "slots", Module::router, {experts}, {r.experts}), s);
  }
  if (placed || s.capacity == 0) {
    r.counts = b.activation("counts", {{s.slots}}, DType::i32);
    set_slots(b.push(OpKind::expert_counts, "counts", Module::router, {r.experts}, {r.counts}), s);
  }
  r.all_counts = r.group_counts = r.counts;
  if (ranks == 1) return;
  r.all_counts = b.activation("all_counts", {{ranks}, {s.slots}}, DType::i32);
  if (s.padded) {
    set_slots(b.push(OpKind::expert_counts, "all_counts", Module::router, {r.experts},
                     {r.all_counts}), s);
    return;
  }
  Op& exchange =
      b.push(OpKind::gather_counts, "all_counts", Module::router, {r.counts}, {r.all_counts});
  exchange.group = s.etp > 1 ? Group::etp_ep : Group::ep;
  exchange.host_sync = true;
  set_slots(exchange, s);
}

}  // namespace

Routed route(LayerBuilder& b, TensorId normed) {
  const LocalShape& s = b.shape();
  const MoeSpec& moe = *s.model.moe;
  const TensorId w = b.weight("router", {{moe.experts}, {s.model.hidden}}, Bucket::dense, true);
  LayerBuilder::GemmOptions options;
  if (moe.router_bias)
    options.bias = b.weight("router.bias", {{moe.experts}}, Bucket::dense, true);
  const TensorId logits = b.gemm("router", Module::router, normed, w, DType::fp32, options);
  Routed r;
  r.probs = b.activation("probs", {{s.T}, {moe.top_k}}, DType::fp32);
  r.experts = b.activation("experts", {{s.T}, {moe.top_k}}, DType::i32);
  std::vector<TensorId> in{logits};
  if (moe.expert_bias) {
    in.push_back(b.weight("expert_bias", {{moe.experts}}, Bucket::dense, false, true));
  }
  set_router(b.push(OpKind::router_topk, "topk", Module::router, in, {r.probs, r.experts}), s);
  add_router_losses(b, logits, r.experts);  // their backward is replayed after this one's
  count_load(b, r.experts);
  b.on_backward([=, &b] {
    const TensorId dprobs = b.gradient(r.probs);
    const TensorId dlogits = b.new_gradient(logits);
    set_router(b.push_backward(OpKind::router_topk_bwd, "topk.bwd", Module::router, Phase::backward,
                               {dprobs, logits, r.probs, r.experts}, {dlogits}),
               b.shape());
  });
  count_rows(b, r);
  if (s.ep * s.etp == 1) return r;
  r.group_counts = b.activation("group_counts", {{s.local_experts}}, DType::i32);
  set_slots(b.push(OpKind::local_counts, "group_counts", Module::router, {r.all_counts},
                    {r.group_counts}), s);
  return r;
}

}  // namespace pleat
