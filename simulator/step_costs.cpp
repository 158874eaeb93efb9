// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Prologue and epilogue of a step: prices, overlap of the gradient sync, barriers between stages.
#include "simulator/step_costs.hpp"

#include <algorithm>

namespace pleat {
namespace {

bool works_on_shard(const Op& op) {
  const OpKind family = family_of(op.kind);
  return family == OpKind::grad_norm || family == OpKind::adamw || family == OpKind::copy ||
         family == OpKind::momentum || family == OpKind::step_matrix || family == OpKind::lamb ||
         family == OpKind::lamb_norms || family == OpKind::lamb_step;
}

bool is_barrier(const StepOpCost& op) {
  return is_collective(op.kind) && (op.group == Group::world || op.group == Group::embedding);
}

void hide(std::vector<StepOpCost>& ops, bool gathers, Seconds window, const SyncWindow& sync) {
  auto concerned = [&](const StepOpCost& s) {
    return over_data_parallel(s) && is_collective(s.kind) &&
           (family_of(s.kind) == OpKind::all_gather) == gathers;
  };
  Seconds total;
  for (const StepOpCost& s : ops) {
    if (concerned(s)) total += s.cost.time;
  }
  if (total <= Seconds(0)) return;
  const double share = exposed_share(total, window, sync, gathers);
  for (StepOpCost& s : ops) {
    if (concerned(s)) s.exposed = s.cost.time * share;
  }
}

}  // namespace

bool over_data_parallel(const StepOpCost& op) {
  switch (op.group) {
    case Group::dp:
    case Group::dp_cp:
    case Group::edp:
    case Group::dp_shard:
    case Group::dp_replicas:
    case Group::edp_shard:
    case Group::edp_replicas:
    case Group::copies: return true;
    case Group::none:
    case Group::tp:
    case Group::cp:
    case Group::ep:
    case Group::etp:
    case Group::pp_next:
    case Group::pp_prev:
    case Group::embedding:
    case Group::world:
    case Group::cp_heads:
    case Group::cp_ring:
    case Group::etp_ep: return false;
  }
  return false;
}

namespace {

// Gradients to the host, the host's step, weights back: on the copy stream they run side by side,
// piece by piece, and the longest of the three is what it takes.
void hide_host_transfers(const std::vector<Op>& ops, std::vector<StepOpCost>& costs) {
  for (std::size_t i = 1; i + 1 < ops.size(); ++i) {
    if (!ops[i].on_host || ops[i - 1].on_host) continue;
    std::size_t end = i;
    while (end < ops.size() && ops[end].on_host) ++end;
    if (end == ops.size() || ops[end].stream != Stream::copy) continue;
    Seconds host;
    for (std::size_t k = i; k < end; ++k) host += costs[k].cost.time;
    StepOpCost &out = costs[i - 1], &back = costs[end];
    const Seconds longest = std::max({out.cost.time, host, back.cost.time});
    if (host < longest) {
      for (std::size_t k = i; k < end; ++k) costs[k].exposed = Seconds(0);
    }
    const bool sends_longest = out.cost.time == longest;
    if (!sends_longest) out.exposed = Seconds(0);
    if (sends_longest || host == longest) back.exposed = Seconds(0);
    if (sends_longest && host == longest) {  // of equal ones the first counts
      for (std::size_t k = i; k < end; ++k) costs[k].exposed = Seconds(0);
    }
  }
}

}  // namespace

std::vector<Tensor> shard_view(const StageProgram& stage) {
  std::vector<Tensor> state = stage.state;
  for (const BucketState& bucket : stage.buckets) {
    if (bucket.elements == 0) continue;
    for (TensorId id : {bucket.gradients, bucket.weights}) {
      state[id.index()].shape = {{bucket.shard_elements}};
    }
  }
  return state;
}

std::vector<StepOpCost> price_step_ops(const StageProgram& stage,
                                       const std::vector<Tensor>& shards,
                                       const std::vector<Op>& ops, const ClusterView& view,
                                       const Profile& profile) {
  std::vector<StepOpCost> costs;
  costs.reserve(ops.size());
  for (const Op& op : ops) {
    const std::vector<Tensor>& tensors = works_on_shard(op) ? shards : stage.state;
    const OpCost cost = price_op(op, tensors, Binding{}, view, profile);
    costs.push_back({.kind = op.kind, .group = op.group, .cost = cost, .exposed = cost.time});
  }
  hide_host_transfers(ops, costs);
  return costs;
}

double exposed_share(Seconds total, Seconds window, const SyncWindow& sync, bool beside_step) {
  const double step = beside_step ? sync.step / total : 0;
  const double exposed = std::max({1.0 / sync.pieces - step, 1.0 - window / total - step, 0.0});
  return exposed + (1.0 - exposed) * sync.beside_compute;
}

Seconds step_beside_gather(const Plan& plan, Seconds all, int pieces) {
  return plan.overlap.gather_beside_step ? all * (static_cast<double>(pieces - 1) / pieces)
                                         : Seconds(0);
}

Seconds after_norm(std::span<const StepOpCost> epilogue) {
  Seconds sum;
  bool agreed = false;
  for (const StepOpCost& op : epilogue) {
    agreed = agreed || op.group == Group::world;
    const bool exchange = over_data_parallel(op) && is_collective(op.kind);
    if (agreed && !exchange && op.group != Group::world) sum += op.exposed;
  }
  return sum;
}

double lost_beside_sync(const Plan& plan, const Profile& profile) {
  return plan.attention.pp > 1 ? profile.dp_beside_pipeline : profile.dp_beside_compute;
}

int sync_pieces(const Plan& plan, const StageProgram& stage) {
  if (plan.vpp > 1 || stage.stage.value > 0) return plan.vpp;
  // Smaller buckets than Megatron's own would hide more but for what more collectives cost, which
  // is not modelled: they count as its own.
  const std::int64_t own = std::max<std::int64_t>(40'000'000, 1'000'000LL * plan.attention.dp);
  const std::int64_t bucket = std::max<std::int64_t>(own, plan.ddp_bucket_size);
  std::int64_t elements = 0;
  for (const BucketState& b : stage.buckets) elements += b.elements;
  return static_cast<int>(std::max<std::int64_t>(1, (elements + bucket - 1) / bucket));
}

double microbatches_beside_sync(const Plan& plan, int pieces, std::int64_t microbatches) {
  const int group = plan.vpp == 1               ? 1
                    : plan.microbatch_group > 0 ? plan.microbatch_group
                                                : plan.attention.pp;
  return static_cast<double>(pieces - 1) / pieces *
         static_cast<double>(std::min<std::int64_t>(group, microbatches));
}

void hide_gradient_sync(std::vector<StepOpCost>& epilogue, const SyncWindow& window,
                        const OverlapFlags& overlap) {
  if (overlap.grad_reduce) hide(epilogue, false, window.backward, window);
  if (overlap.param_gather) hide(epilogue, true, window.forward, window);
}

StepEnd finish_step(std::span<const std::vector<StepOpCost>* const> epilogues,
                    const std::vector<Seconds>& from, bool keep_starts) {
  const std::size_t stages = epilogues.size();
  StepEnd result{.end = from, .waited = std::vector<Seconds>(stages), .starts = {}};
  if (keep_starts) result.starts.resize(stages);
  std::vector<std::size_t> next(stages);
  auto run_op = [&](std::size_t s) {
    if (keep_starts) result.starts[s].push_back(result.end[s]);
    result.end[s] += (*epilogues[s])[next[s]++].exposed;
  };
  // Runs a barrier over `group` if all stages that still have one stand before it.
  auto release = [&](Group group) {
    Seconds latest;
    bool any = false;
    const auto has_barrier = [&](std::size_t s) {
      return next[s] < epilogues[s]->size() && (*epilogues[s])[next[s]].group == group;
    };
    for (std::size_t s = 0; s < stages; ++s) {
      if (has_barrier(s)) {
        any = true;
        latest = std::max(latest, result.end[s]);
      } else if (std::any_of(epilogues[s]->begin() + static_cast<std::ptrdiff_t>(next[s]),
                             epilogues[s]->end(), [&](const StepOpCost& op) {
                               return is_barrier(op) && op.group == group;
                             })) {
        return false;
      }
    }
    for (std::size_t s = 0; s < stages && any; ++s) {
      if (!has_barrier(s)) continue;
      result.waited[s] += latest - result.end[s];
      result.end[s] = latest;
      run_op(s);
    }
    return any;
  };
  for (;;) {
    bool left = false;
    for (std::size_t s = 0; s < stages; ++s) {
      while (next[s] < epilogues[s]->size() && !is_barrier((*epilogues[s])[next[s]])) run_op(s);
      left = left || next[s] < epilogues[s]->size();
    }
    if (!left) return result;
    const bool released = release(Group::embedding) || release(Group::world);
    PLEAT_ASSERT(released);  // else stages disagree about the order of their barriers
  }
}

}  // namespace pleat
