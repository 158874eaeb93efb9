// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a stage does once per step: before its first slot and after its last one.
#pragma once

#include <span>
#include <vector>

#include "core/program/program.hpp"
#include "simulator/layer_costs.hpp"

namespace pleat {

struct StepOpCost {
  OpKind kind = OpKind::copy;
  Group group = Group::none;
  OpCost cost;
  Seconds exposed;   // the part of its time that nothing hides
};

// An exchange of gradients or weights between data-parallel ranks.
[[nodiscard]] bool over_data_parallel(const StepOpCost&);

// The state as one rank's optimizer sees it: gradients and weights cut to the shard.
[[nodiscard]] std::vector<Tensor> shard_view(const StageProgram&);
// Optimizer ops are priced on this rank's shard of each bucket (`shards`: shard_view).
[[nodiscard]] std::vector<StepOpCost> price_step_ops(const StageProgram&,
                                                     const std::vector<Tensor>& shards,
                                                     const std::vector<Op>&, const ClusterView&,
                                                     const Profile&);

// Megatron overlaps the gradient reduction with the last backwards and the parameter gather with
// the first forwards: of X seconds in `pieces` equal pieces the last piece stays exposed, and all
// that is longer than the window (docs/MODEL.md section 5). Reduces `exposed`.
struct SyncWindow {
  Seconds forward, backward;  // one group of microbatches through the stage's other chunks
  int pieces = 1;
  double beside_compute = 0;  // of what is hidden: compute time lost beside it
  // What the first pieces of the gather hide behind besides: the optimizer's step of the others,
  // where the plan gathers beside it (Megatron optimizer/__init__.py: the first chunk has an
  // optimizer of its own, whose gather starts when it has stepped).
  Seconds step;
};
// Of `total` seconds the share that is exposed beside a window, with the compute that the rest
// slows. `beside_step`: of a gather, SyncWindow::step.
[[nodiscard]] double exposed_share(Seconds total, Seconds window, const SyncWindow&,
                                   bool beside_step = false);
// Of an optimizer's step that takes `all`, what the first of `pieces` can hide behind.
[[nodiscard]] Seconds step_beside_gather(const Plan&, Seconds all, int pieces);
// What a stage does after the gradients' norm is agreed on, but for exchanges between replicas: the
// optimizer's step.
[[nodiscard]] Seconds after_norm(std::span<const StepOpCost> epilogue);
// Of what is hidden, the share that compute loses.
[[nodiscard]] double lost_beside_sync(const Plan&, const Profile&);
void hide_gradient_sync(std::vector<StepOpCost>& epilogue, const SyncWindow&, const OverlapFlags&);

// Pieces that the gradients of a stage are reduced in: a bucket per chunk; several only on the
// first stage's first chunk, of max(40M, 1M * D) elements unless the plan says how many (Megatron
// distributed_data_parallel.py).
[[nodiscard]] int sync_pieces(const Plan&, const StageProgram&);
// Microbatches whose passes through a chunk hide pieces of others. An interleaved chunk is done
// with its last group of microbatches while the other chunks still have as many to go (Megatron
// schedules.py: grad_sync_func, param_sync_func).
[[nodiscard]] double microbatches_beside_sync(const Plan&, int pieces, std::int64_t microbatches);

// Runs the epilogues of all stages from the given times. Collectives over the world, or between the
// embedding stages, wait for all stages that have them.
struct StepEnd {
  std::vector<Seconds> end, waited;          // by stage
  std::vector<std::vector<Seconds>> starts;  // of every op, if asked for
};
[[nodiscard]] StepEnd finish_step(std::span<const std::vector<StepOpCost>* const> epilogues,
                                  const std::vector<Seconds>& from, bool keep_starts = false);

}  // namespace pleat
