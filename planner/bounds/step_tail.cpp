// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The operations are those the compiler makes and the simulator prices, for buckets of so many
// elements. What is left out (a table's second copy, Muon's iterations, parameters not counted)
// only adds.
#include "planner/bounds/step_tail.hpp"

#include <algorithm>
#include <limits>

#include "core/program/step_ops.hpp"
#include "core/program/step_state.hpp"
#include "simulator/stage_memory.hpp"

namespace pleat {
namespace {

StageProgram stage_program(const StageWeights& stage, const ModelSpec& model, const Plan& plan,
                           Runtime runtime) {
  const std::size_t count = bucket_count(plan.optimizer.kind);
  std::vector<BucketState> buckets(count);
  for (std::size_t i = 0; i < stage.weights.of.size(); ++i) {
    BucketState& bucket = buckets[i % count];
    bucket.elements += stage.weights.of[i];
    bucket.replicated_elements += stage.weights.replicated[i];
  }
  return stage_of_buckets(std::move(buckets), model, plan, runtime);
}

StageTail tail_of(const std::vector<StepOpCost>& prologue, const std::vector<StepOpCost>& epilogue,
                  Seconds& norm) {
  StageTail tail;
  for (const StepOpCost& op : prologue) tail.prologue += op.exposed;
  bool agreed = false;  // on the norm
  for (const StepOpCost& op : epilogue) {
    const bool exchange = over_data_parallel(op) && is_collective(op.kind);
    if (op.group == Group::world) {
      norm = op.exposed;
      agreed = true;
    } else if (exchange) {
      (family_of(op.kind) == OpKind::all_gather ? tail.gather : tail.reduce) += op.cost.time;
    } else {
      (agreed ? tail.after : tail.before) += op.exposed;
    }
  }
  return tail;
}

// The part of an exchange that passes of its stage cannot hide. More of the optimizer's step than
// is counted hides no more of a gather than it takes itself.
Seconds exposed(Seconds total, bool may_hide, bool gathers, const StageTail& tail,
                std::optional<Seconds> pass, const Plan& plan, std::int64_t microbatches,
                const Profile& profile) {
  if (!may_hide || total <= Seconds(0)) return total;
  const SyncWindow window{.forward = {},
                          .backward = {},
                          .pieces = tail.pieces,
                          .beside_compute = lost_beside_sync(plan, profile),
                          .step = step_beside_gather(plan, tail.after, tail.pieces)};
  const Seconds beside = pass ? *pass * microbatches_beside_sync(plan, tail.pieces, microbatches)
                              : Seconds(std::numeric_limits<double>::infinity());
  return total * exposed_share(total, beside, window, gathers);
}

}  // namespace

StepTail step_tail(const std::vector<StageWeights>& stages, const ModelSpec& model,
                   const Plan& plan, Runtime runtime, const ClusterSpec& cluster,
                   const Profile& profile) {
  const ClusterView view = view_cluster(cluster, plan);
  StepTail result;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    // The first stage alone is cut into pieces in a way of its own.
    const std::size_t same =
        s < 2 ? s
              : static_cast<std::size_t>(std::find(stages.begin() + 1, stages.end(), stages[s]) -
                                         stages.begin());
    if (same < s) {
      result.stages.push_back(result.stages[same]);
      continue;
    }
    const StageProgram stage = stage_program(stages[s], model, plan, runtime);
    const std::vector<Tensor> shards = shard_view(stage);
    result.stages.push_back(tail_of(price_step_ops(stage, shards, stage.prologue, view, profile),
                                    price_step_ops(stage, shards, stage.epilogue, view, profile),
                                    result.norm));
    result.stages.back().host_bytes = state_bytes(stage).host;
    StageProgram largest;  // more elements may be more pieces
    largest.stage = Stage{static_cast<int>(s)};
    largest.buckets = stage.buckets;
    largest.buckets.front().elements += stages[s].more;
    result.stages.back().pieces = sync_pieces(plan, largest);
  }
  return result;
}

TailCosts tail_costs(const StepTail& tail, const Plan& plan, Runtime runtime,
                     const Profile& profile, std::int64_t microbatches, std::size_t stages,
                     const std::vector<std::optional<StagePasses>>& passes) {
  const bool hides = runtime == Runtime::megatron;
  TailCosts end{
      .stages = {}, .prologue = tail.stages.front().prologue, .norm = tail.norm, .after = {}};
  end.stages.reserve(stages);
  for (const StageTail& t : tail.stages) end.prologue = std::min(end.prologue, t.prologue);
  for (std::size_t s = 0; s < stages; ++s) {
    const StageTail& t = tail.stages[s];
    const auto pass = [&](std::size_t p) {
      return passes.empty() || !passes[s] ? std::nullopt
                                          : std::optional<Seconds>(passes[s]->pass[p]);
    };
    end.stages.push_back({t.before, exposed(t.reduce, hides && plan.overlap.grad_reduce, false, t,
                                            pass(1), plan, microbatches, profile)});
    end.after =
        std::max(end.after, t.after + exposed(t.gather, hides && plan.overlap.param_gather, true, t,
                                              pass(0), plan, microbatches, profile));
  }
  return end;
}

Seconds step_end(const TailCosts& end, const std::vector<Seconds>& finish) {
  Seconds before;
  for (std::size_t s = 0; s < finish.size(); ++s) {
    before = std::max(before, finish[s] + end.stages[s].before + end.stages[s].reduce);
  }
  return end.prologue + before + end.norm + end.after;
}

Seconds step_end(const StepTail& tail, const Plan& plan, Runtime runtime, const Profile& profile,
                 std::int64_t microbatches, const std::vector<Seconds>& finish,
                 const std::vector<std::optional<StagePasses>>& passes) {
  return step_end(tail_costs(tail, plan, runtime, profile, microbatches, finish.size(), passes),
                  finish);
}

}  // namespace pleat
