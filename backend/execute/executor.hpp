// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The interpreter: executes one rank's program, operation by operation, in the order of walk_step.
//
// It decides nothing and knows of no operation what it does. Storage is born and freed where the
// program says; an operation's operands are found (operand), it waits for its graph or gets its
// stream, and the table (op_table.hpp) says which function executes it. These functions stand in
// the other files of this folder, by subject: attention, products, expert_exchange, adamw, …; what
// they may touch is an Execution.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "backend/data/batches.hpp"
#include "backend/execute/captured_ops.hpp"
#include "backend/execute/checkpoint_ranges.hpp"
#include "backend/execute/execution.hpp"
#include "backend/rank_context.hpp"
#include "backend/rank_progress.hpp"
#include "backend/runtime/execution_error.hpp"
#include "backend/runtime/stream_order.hpp"
#include "backend/span_recorder.hpp"
#include "backend/trainer.hpp"
#include "core/program/losses.hpp"
#include "kernels/device.hpp"

namespace pleat {

class Executor final : private StepVisitor {
 public:
  // The arguments must outlive the executor, which keeps `progress` up to date.
  Executor(const Program&, const TrainConfig&, const RankContext&, const Batches&, Device&,
           RankProgress& progress);

  // Runs one step. Throws ExecutionError when the program cannot be executed as written.
  void run_step(int step, SpanRecorder* spans);

  // The losses of a global batch, as after a step, by the forward half of the stage's program
  // (core/program/evaluation.hpp). Changes nothing that training or what is reported of it depends
  // on.
  [[nodiscard]] Losses evaluate(const StageProgram& forward, const Batches&, int batch);

  // --- of the last step
  // Sums over this rank's microbatches, 0 where another rank has the same one.
  [[nodiscard]] const Losses& losses() const { return run_.step.losses; }
  [[nodiscard]] double grad_norm() const { return run_.step.grad_norm; }  // before clipping
  [[nodiscard]] float norm_part() const { return run_.step.norm_part; }   // this rank's, squared
  [[nodiscard]] double lr() const { return run_.step.lr; }
  // Gradients were not finite: no rank changed anything. All know it by the norm that they share.
  [[nodiscard]] bool skipped() const { return run_.step.skipped; }
  [[nodiscard]] const ExpertLoad& expert_load() const { return run_.step.load; }
  // By microbatch and layer.
  [[nodiscard]] const execute::RoutedRows::OfStep& routed() const { return run_.rows.of_step(); }
  // What the optimizer last saw of each bucket on this rank, where TrainConfig keeps it.
  [[nodiscard]] const std::map<Bucket, std::vector<BucketRange>>& gradient_shards() const {
    return run_.step.gradients;
  }

  // --- of the run
  [[nodiscard]] std::int64_t updates() const { return run_.step.updates; }  // steps not skipped
  [[nodiscard]] double min_router_margin() const { return run_.step.min_router_margin; }
  [[nodiscard]] std::int64_t peak_live_bytes() const { return run_.store.arena().peak(); }
  [[nodiscard]] std::int64_t block_bytes() const { return run_.store.arena().taken(); }
  [[nodiscard]] std::int64_t peak_host_bytes() const { return run_.store.host().peak(); }

  // --- between steps
  [[nodiscard]] std::vector<BucketRange> weights(Bucket);  // all that this rank holds
  [[nodiscard]] std::vector<float> buffers(Bucket);  // behind its weights, whole on every rank
  // What this rank needs to go on, and what it saves of that. Valid until the next step. The memory
  // may be hidden from the host (device()).
  [[nodiscard]] std::vector<StateRange> needed_ranges() { return checkpoint_.needed(); }
  [[nodiscard]] std::vector<StateRange> saved_ranges() { return checkpoint_.saved_here(); }
  // The needed ranges were filled from a checkpoint with so many updates.
  void restored(std::int64_t updates);

  [[nodiscard]] const Program& program() const { return run_.program; }
  [[nodiscard]] const StageProgram& stage() const { return run_.stage; }
  [[nodiscard]] const RankContext& context() const { return run_.ranks; }
  [[nodiscard]] Device& device() const { return run_.device; }

 private:
  void on_birth(const OpSite&, const InstanceKey&, const Tensor&) override;
  void on_op(const OpSite&) override;
  void on_death(const OpSite&, const InstanceKey&, const Tensor&) override;
  void on_stash(const OpSite&, const InstanceKey&, const Tensor&) override;
  void on_unstash(const OpSite&, const InstanceKey&, const Tensor&) override;

  void run_step_ops(const std::vector<Op>&, bool epilogue);
  void perform(const Op&, const OpSite*);
  void find_operands(const Op&, const OpSite*);
  [[nodiscard]] View operand(const Op&, const OpSite*, TensorId, bool reads);
  void capture(const execute::Call&);
  void flush_captured();
  void finish_given();

  void adjust_gradients();
  [[nodiscard]] Losses own_losses();
  void gather_weights(bool narrow_only);

  execute::Execution run_;
  RankProgress& progress_;
  execute::CheckpointRanges checkpoint_;
  std::optional<execute::CapturedOps> captured_;
  std::optional<StreamOrder> order_;  // where the device has several streams
  std::vector<View> in_, out_;        // operands of the running operation
  SpanRecorder* spans_ = nullptr;     // of the running step, where it is recorded
};

}  // namespace pleat
