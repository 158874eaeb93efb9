// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/router.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "backend/execute/execution.hpp"
#include "backend/routing.hpp"
#include "backend/runtime/host_access.hpp"
#include "backend/runtime/views.hpp"

namespace pleat::execute {
namespace {

RouterShape router_shape(const MoeSpec& m) {
  return {m.experts, m.top_k, m.groups, m.top_groups, m.score, m.normalize_top_k, m.scaling_factor};
}

// Under sequence parallelism a rank has consecutive rows of the microbatch.
RouterRows rows_of_rank(const Call& c, const Execution& run, View logits) {
  const Plan& plan = run.program.plan;
  const bool split = plan.attention.tp > 1 && plan.sequence_parallel;
  return {.first = split ? run.ranks.attention().tp * logits.rows : 0,
          .rows = c.op.attr.seq / plan.attention.cp};
}

RouterLossFactors loss_factors(const Call& c, const Execution& run) {
  return router_loss_factors(*run.program.model.moe, c.op.attr.batch,
                             run.program.workload.global_batch, c.op.attr.seq);
}

}  // namespace

void router_topk(const Call& c, Execution& run) {
  const View logits = c.in[0], bias = optional_operand(c.in, 1);
  const RouterShape shape = router_shape(*run.program.model.moe);
  std::vector<float> of_row;  // scores of one token
  if (run.config.forced_routing) {
    const auto& [tp, cp, dp, pp] = run.ranks.attention();
    const AttentionMapping& a = run.program.plan.attention;
    const std::int64_t first = ((std::int64_t{dp} * a.cp + cp) * a.tp + tp) * logits.rows;
    return read_on_host(run.device, logits, [&](View scores) {
      write_on_host(run.device, c.out[0], [&](View probs) {
        write_on_host(run.device, c.out[1], [&](View experts) {
          forced_topk(scores, first, probs, experts, shape, of_row);
        });
      });
    });
  }
  run.kernels.router_topk(logits, bias, c.out[0], c.out[1], shape);
  if (!run.config.measure_margin) return;
  read_on_host(run.device, logits, [&](View scores) {
    read_on_host(run.device, bias, [&](View added) {
      read_on_host(run.device, c.out[1], [&](View experts) {
        run.step.min_router_margin = std::min(run.step.min_router_margin,
                                              router_margin(scores, added, experts, shape, of_row));
      });
    });
  });
}

void router_topk_bwd(const Call& c, Execution& run) {
  run.kernels.router_topk_bwd(c.in[0], c.in[1], c.in[2], c.in[3], c.out[0],
                              router_shape(*run.program.model.moe));
}

void router_stats(const Call& c, Execution& run) {
  run.kernels.router_stats(c.in[0], c.in[1], c.out[0], router_shape(*run.program.model.moe),
                           rows_of_rank(c, run, c.in[0]));
}

void router_losses(const Call& c, Execution& run) {
  View values = c.out[0];
  values.data = values.f32() + kAux;
  values.cols = 3;
  run.kernels.router_losses(c.in[0], loss_factors(c, run), c.op.attr.scale, values);
}

void router_losses_bwd(const Call& c, Execution& run) {
  run.kernels.router_losses_bwd(c.in[1], c.in[2], c.out[0], router_shape(*run.program.model.moe),
                                rows_of_rank(c, run, c.in[1]), loss_factors(c, run));
}

void count_load(const Call& c, Execution& run) { run.kernels.count_load(c.in[0], c.out[0]); }

// The biases and behind them the loads of the same experts.
void update_bias(const Call& c, Execution& run) {
  if (run.step.skipped) return;
  const OpAttributes& a = c.op.attr;
  const View biases = elements_of(c.out[0], a.first, a.n.n);
  run.kernels.update_bias(elements_of(c.out[0], a.first + a.n.n, a.n.n), biases, a.experts,
                          a.scale);
}

}  // namespace pleat::execute
