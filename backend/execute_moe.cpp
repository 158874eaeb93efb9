// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Routing, the grouped products of the local experts, and the count of routed tokens, which the
// host learns here.
#include <fmt/format.h>

#include <algorithm>

#include "backend/executor.hpp"
#include "backend/routing.hpp"

namespace pleat {
namespace {

RouterShape router_shape(const MoeSpec& m) {
  return {m.experts, m.top_k, m.groups, m.top_groups, m.score, m.normalize_top_k, m.scaling_factor};
}

View as_column(View v, bool is_vector) {
  if (is_vector) {
    v.rows = v.elements();
    v.cols = 1;
  }
  return v;
}

}  // namespace

void Executor::router(const Call& c) {
  const View logits = c.in[0], bias = c.in.size() > 1 ? c.in[1] : View{};
  const RouterShape shape = router_shape(*program_.model.moe);
  if (config_.forced_routing) {
    return forced_topk(logits, c.out[0], c.out[1], shape, scores_);
  }
  kernels_.router_topk(logits, bias, c.out[0], c.out[1], shape);
  min_margin_ = std::min(min_margin_, router_margin(logits, bias, c.out[1], shape, scores_));
}

void Executor::router_backward(const Call& c) {
  kernels_.router_topk_bwd(c.in[0], c.in[1], c.in[2], c.in[3], c.out[0],
                           router_shape(*program_.model.moe));
}

void Executor::grouped_gemm(const Call& c) {
  const OpAttributes& a = c.op.attr;
  if (a.transpose_a) {
    return kernels_.grouped_wgrad(c.in[0], c.in[1], c.in[2], c.out[0], a.accumulate);
  }
  kernels_.grouped_gemm(c.in[0], c.in[1], a.transpose_b, c.in[2], c.out[0]);
}

void Executor::permute_backward(const Call& c) {
  kernels_.permute_bwd(c.in[0], c.in[1], c.in[2], c.out[0], c.out[1], c.op.attr.accumulate);
}

void Executor::reorder_chunks(const Call& c, bool sort) {
  const bool vector = c.site->program->tensor(c.op.in[0]).shape.size() == 1;
  const View from = as_column(c.in[0], vector), to = as_column(c.out[0], vector);
  const std::int64_t local = c.op.attr.local_experts, first = context_.expert().ep * local;
  if (sort) {
    kernels_.sort_chunks(from, c.in[1], first, local, to);
  } else {
    kernels_.unsort_chunks(from, c.in[1], first, local, to);
  }
}

// R of this microbatch and layer: what all members of the expert group send to the local experts.
void Executor::bind_routed(const Call& c, View all_counts) {
  const std::int64_t experts = program_.model.moe->experts;
  const std::int64_t local = experts / program_.plan.expert.ep;
  const std::int64_t first = context_.expert().ep * local;
  std::int64_t routed = 0;
  for (std::int64_t source = 0; source < all_counts.elements() / experts; ++source) {
    const std::int32_t* counts = all_counts.i32() + source * experts;
    for (std::int64_t e = first; e < first + local; ++e) routed += counts[e];
  }
  routed_[{c.site->microbatch.value, c.site->instance->layer.value}] = routed;
}

}  // namespace pleat
