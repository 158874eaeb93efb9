// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Routing, the grouped products of the local experts, and the count of routed tokens, which the
// host learns here.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "backend/executor.hpp"
#include "backend/routing.hpp"
#include "backend/runtime/host_access.hpp"
#include "core/program/step_walk.hpp"

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

std::span<std::int32_t> integers(View v) {
  return {v.i32(), static_cast<std::size_t>(v.elements())};
}

}  // namespace

int Executor::layer_of_result(const Call& c) {
  return layer_of(*c.site, c.site->program->tensor(c.op.out[0])).value;
}

void Executor::router(const Call& c) {
  const View logits = c.in[0], bias = c.in.size() > 1 ? c.in[1] : View{};
  const RouterShape shape = router_shape(*program_.model.moe);
  if (config_.forced_routing) {
    const auto& [tp, cp, dp, pp] = context_.attention();
    const AttentionMapping& a = program_.plan.attention;
    const std::int64_t first = ((std::int64_t{dp} * a.cp + cp) * a.tp + tp) * logits.rows;
    return read_on_host(device_, logits, [&](View scores) {
      write_on_host(device_, c.out[0], [&](View probs) {
        write_on_host(device_, c.out[1], [&](View experts) {
          forced_topk(scores, first, probs, experts, shape, scores_);
        });
      });
    });
  }
  kernels_.router_topk(logits, bias, c.out[0], c.out[1], shape);
  if (!config_.measure_margin) return;
  read_on_host(device_, logits, [&](View scores) {
    read_on_host(device_, bias, [&](View added) {
      read_on_host(device_, c.out[1], [&](View experts) {
        min_margin_ =
            std::min(min_margin_, router_margin(scores, added, experts, shape, scores_));
      });
    });
  });
}

void Executor::router_backward(const Call& c) {
  kernels_.router_topk_bwd(c.in[0], c.in[1], c.in[2], c.in[3], c.out[0],
                           router_shape(*program_.model.moe));
}

// Under sequence parallelism a rank has consecutive rows of the microbatch.
void Executor::router_losses(const Call& c) {
  const OpAttributes& a = c.op.attr;
  const Plan& plan = program_.plan;
  const RouterShape shape = router_shape(*program_.model.moe);
  const RouterLossFactors factors = router_loss_factors(
      *program_.model.moe, a.batch, program_.workload.global_batch, a.seq);
  if (c.op.kind == OpKind::router_losses) {
    View values = c.out[0];
    values.data = values.f32() + kAux;
    values.cols = 3;
    return kernels_.router_losses(c.in[0], factors, a.scale, values);
  }
  const bool stats = c.op.kind == OpKind::router_stats;
  const View logits = c.in[stats ? 0 : 1];
  const bool split = plan.attention.tp > 1 && plan.sequence_parallel;
  const RouterRows rows{.first = split ? context_.attention().tp * logits.rows : 0,
                        .rows = a.seq / plan.attention.cp};
  if (stats) return kernels_.router_stats(logits, c.in[1], c.out[0], shape, rows);
  kernels_.router_losses_bwd(logits, c.in[2], c.out[0], shape, rows, factors);
}

// With a bias of each expert, forward, or what its gradient and that of the rows' probabilities need.
void Executor::grouped_gemm(const Call& c) {
  const OpAttributes& a = c.op.attr;
  const auto& in = c.in;
  if (a.transpose_a) {
    kernels_.grouped_wgrad(in[0], in[1], in[2], c.out[0], a.accumulate);
    if (c.out.size() < 2) return;
    const bool weighted = in.size() > (turned_gradient(c.op) ? 4U : 3U);
    return kernels_.grouped_bias_bwd(bias_gradient_operand(c), in[2], weighted ? in[3] : View{},
                                     c.out[1]);
  }
  kernels_.grouped_gemm(in[0], second_operand(c), a.transpose_b, in[2], c.out[0]);
  if (a.transpose_b && in.size() > 3) {
    kernels_.grouped_bias(in[3], in[2], in.size() > 4 ? in[4] : View{}, a.bias_scale, c.out[0]);
  }
  if (c.out.size() > 1) kernels_.grouped_bias_probs(in[0], in[3], in[2], a.bias_scale, c.out[1]);
}

// Padded experts have their capacity, whatever is dropped. How much is, is measured where no graph has
// to stop for it.
void Executor::drop_tokens(const Call& c) {
  kernels_.drop_tokens(c.in[0], c.in[1], c.op.attr.capacity, c.out[0], c.out[1]);
  if (!c.op.attr.padded) return;
  if (c.staged.data == nullptr) {
    read_on_host(device_, c.out[1], [&](View counts) { bind_kept(c, integers(counts)); });
  }
  upload(c);
}

void Executor::count_copies(const Call& c) {
  if (c.op.attr.padded) return upload(c);
  kernels_.expert_counts(c.in[0], c.out[0]);
}

// The rows that the next operations have; the host waits for them unless all experts are padded.
void Executor::learn_rows(const Call& c) {
  const OpAttributes& a = c.op.attr;
  if (c.op.kind == OpKind::drop_tokens) {
    if (!a.padded) {
      return read_on_host(device_, c.out[1], [&](View counts) { bind_kept(c, integers(counts)); });
    }
    Binding& rows = routed_[{c.site->microbatch.value, layer_of_result(c)}];
    rows.routed = a.experts * a.capacity;
    rows.gathered = rows.routed * program_.plan.expert.etp;
  } else if (c.op.kind == OpKind::expert_counts && !a.padded) {
    const Counts counts = counts_on_host(c, c.op.out[0], c.out[0]);
    if (std::ssize(counts) == a.experts) load_.add(layer_of_result(c), counts);
    bind_kept(c, counts);
  }
}

// Counts of the local experts alone: rows for the others stay out.
void Executor::permute(const Call& c) {
  const OpAttributes& a = c.op.attr;
  const bool all = c.in[3].elements() == a.experts;
  kernels_.permute(c.in[0], c.in[1], c.in[2], c.in[3],
                   all ? 0 : context_.expert().ep * a.local_experts, c.out[0], c.out[1], c.out[2]);
}

void Executor::permute_backward(const Call& c) {
  kernels_.permute_bwd(c.in[0], c.in[1], c.in[2], c.out[0], c.out[1], c.op.attr.accumulate);
}

void Executor::reorder_chunks(const Call& c, bool sort) {
  const bool vector = c.site->program->tensor(c.op.in[0]).shape.size() == 1;
  const View from = as_column(c.in[0], vector), to = as_column(c.out[0], vector);
  const std::int64_t local = c.op.attr.local_experts;
  const ChunkShape shape{context_.expert().ep * local, local, program_.plan.expert.etp};
  if (sort) {
    kernels_.sort_chunks(from, c.in[1], shape, to);
  } else {
    kernels_.unsort_chunks(from, c.in[1], shape, to);
  }
}

// Copies of this rank's tokens that are not dropped. Where there is nobody to exchange rows with
// they are those received, and those computed.
void Executor::bind_kept(const Call& c, Counts kept) {
  Binding& rows = routed_[{c.site->microbatch.value, layer_of_result(c)}];
  rows.kept = std::accumulate(kept.begin(), kept.end(), std::int64_t{0});
  if (program_.plan.expert.ep == 1) rows.routed = rows.kept;
  if (program_.plan.expert.ep * program_.plan.expert.etp == 1) rows.gathered = rows.kept;
}

// What all members of the expert group send to the local experts, by the peer that receives it.
std::int64_t Executor::rows_of_peer(Counts all, int peer) const {
  const ExpertMapping& grid = program_.plan.expert;
  const std::int64_t experts = program_.model.moe->experts, local = experts / grid.ep;
  std::int64_t rows = 0;
  for (std::int64_t source = 0; source < grid.ep; ++source) {
    const std::int32_t* counts = all.data() + (source * grid.etp + peer) * experts;
    const std::int32_t* first = counts + context_.expert().ep * local;
    rows = std::accumulate(first, first + local, rows);
  }
  return rows;
}

void Executor::bind_routed(const Call& c, Counts all) {
  Binding& rows = routed_[{c.site->microbatch.value, layer_of_result(c)}];
  rows.routed = rows_of_peer(all, context_.expert().etp);
  rows.gathered = 0;
  for (int p = 0; p < program_.plan.expert.etp; ++p) rows.gathered += rows_of_peer(all, p);
  make_room(c, rows);
}

void Executor::make_room(const Call& c, Binding& rows) const {
  if (stash_.room == 0) return;
  rows.room = stash_.room;
  rows.stashed = stash_.stashed;
  // What ETP's members gather has room for as much of each; who has too much says so, too.
  const int etp = program_.plan.expert.etp;
  if (rows.routed <= rows.room && rows.gathered <= rows.room * etp) return;
  throw_config_error(
      ExitCode::nothing_fits, "", "paged_stash.capacity",
      fmt::format("layer {}, microbatch {}: routing sends {} rows to rank {}, there is room for {}",
                  layer_of_result(c), c.site->microbatch.value,
                  std::max(rows.routed, (rows.gathered + etp - 1) / etp), context_.rank().value,
                  rows.room),
      "a larger capacity, or no stash");
}

Executor::Counts Executor::counts_on_host(const Call& c, TensorId id, View counts) {
  if (!device_.hidden(counts.data)) return integers(counts);
  const auto [entry, fresh] = counts_.try_emplace(resolve(stage_, *c.site, id));
  if (fresh) {
    entry->second.resize(static_cast<std::size_t>(counts.elements()));
    device_.copy(entry->second.data(), counts.data, byte_count(counts));
  }
  return entry->second;
}

}  // namespace pleat
