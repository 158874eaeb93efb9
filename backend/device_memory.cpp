// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/device_memory.hpp"

#include <algorithm>
#include <set>

#include "backend/rehearsal.hpp"
#include "backend/runtime/tensor_store.hpp"
#include "backend/window_tensors.hpp"
#include "core/plan/rank_map.hpp"
#include "core/program/layer_builder.hpp"
#include "kernels/score_gradients.hpp"

namespace pleat {
namespace {

// Assumptions, until they are measured (docs/validation-notes.md): context, loaded kernels,
// cuBLASLt and cuDNN of CUDA 13 on Hopper; NCCL's rings of a communicator, as the simulator has
// them.
constexpr std::int64_t kContext = 600 * kMiB;
constexpr std::int64_t kCommunicator = 400 * kMiB;
// CudaOptions::scratch_bytes; cuBLASLt's workspace lies in it.
constexpr std::int64_t kScratch = 64 * kMiB;

// Groups whose members meet on the device; stages have one for each direction to a neighbour.
std::int64_t communicators(const Program& program, const StageProgram& stage) {
  std::set<Group> groups;
  const auto add = [&](const std::vector<Op>& ops) {
    for (const Op& op : ops) {
      if (is_collective(op.kind)) groups.insert(op.group);
    }
  };
  for (const LayerProgram& layer : stage.layers) add(layer.forward), add(layer.backward);
  add(stage.prologue), add(stage.epilogue);
  std::int64_t count = 0;
  for (const Group g : groups) {
    if (g == Group::none || g == Group::pp_next || g == Group::pp_prev) continue;
    count += group_size(program.plan, g) > 1 ? 1 : 0;
  }
  const int stages = program.plan.attention.pp;
  return count + (stages > 2 ? 4 : stages > 1 ? 2 : 0);
}

// What a backward pass by runs of queries keeps (kernels/cuda/attention_runs.cpp): scores of a run,
// and gradients in bf16 and in fp32, of queries of a run, of keys and values of a sequence.
std::int64_t bytes_of_runs(const ScoreGradients& s, std::int64_t head_dim, std::int64_t v_dim) {
  const ScoreGradients run{1, s.heads, s.groups, rows_at_once(s), s.keys};
  const std::int64_t value_dim = v_dim > 0 ? v_dim : head_dim;
  return score_bytes(run, heads_at_once(run)) +
         6 * (run.rows * s.heads * head_dim + s.keys * s.groups * (head_dim + value_dim));
}

// The largest workspace of a backward pass of attention in bf16. With context parallelism a rank's
// queries meet as many keys at a time.
std::int64_t scores(const Program& program, const StageProgram& stage) {
  if (program.plan.precision == Precision::fp32) return 0;
  const std::int64_t ring = ContextShares(program.plan).ring;
  std::int64_t most = 0;
  for (const LayerProgram& layer : stage.layers) {
    for (const Op& op : layer.backward) {
      const bool mla = op.kind == OpKind::mla_attention_bwd;
      if (op.kind != OpKind::attention_bwd && !mla) continue;
      const OpAttributes& a = op.attr;
      const std::int64_t rows = program.workload.seq_len / ring;
      const ScoreGradients s{a.batch, a.heads, mla ? a.heads : a.kv_groups, rows, rows};
      most = std::max(most, !mla && ring == 1 && goes_in_runs(s)
                                ? bytes_of_runs(s, a.head_dim, a.v_dim)
                                : score_bytes(s, heads_at_once(s)));
    }
  }
  return most;
}

// What CUTLASS's products of codes turn for the time of a call (kernels/cuda/narrow_groups.cu), in
// strips of 128 rows: both operands of a gradient of weights, the weights of one of inputs. The
// largest, by the rows of the first microbatch.
std::int64_t turned_codes(const StageProgram& stage, const RoutedCount& routed) {
  constexpr std::int64_t kStrip = 128;
  const auto strips = [](std::int64_t rows) { return (rows + kStrip - 1) / kStrip; };
  std::int64_t most = 0;
  for (const ChunkProgram& chunk : stage.chunks) {
    for (const LayerInstance& instance : chunk.instances) {
      const LayerProgram& layer = stage.program(instance);
      for (const Op& op : layer.backward) {
        if (op.kind != OpKind::grouped_gemm || !is_quantized(op.attr.math)) continue;
        const Binding rows(routed(MicroBatch{0}, instance.layer));
        const Tensor &a = layer.tensor(op.in[0]), &b = layer.tensor(op.in[1]);
        const std::int64_t groups = layer.tensor(op.in[2]).elements(rows);
        const std::int64_t bytes =
            op.attr.transpose_a
                ? (strips(a.rows(rows)) + groups) * kStrip * (a.columns(rows) + b.columns(rows))
                : strips(b.rows(rows) / groups) * kStrip * groups * b.columns(rows);
        if (op.attr.transpose_a || !op.attr.transpose_b) most = std::max(most, bytes);
      }
    }
  }
  return most;
}

// The largest weight whose codes take its place: it is copied first.
std::int64_t copied_weight(const StageProgram& stage) {
  std::int64_t most = 0;
  for (const ChunkProgram& chunk : stage.chunks) {
    for (const LayerInstance& instance : chunk.instances) {
      const LayerProgram& layer = stage.program(instance);
      for (std::size_t w = 0; w < instance.slots.size(); ++w) {
        const WeightSlot& slot = instance.slots[w];
        const BucketState& bucket = stage.buckets[static_cast<std::size_t>(slot.bucket)];
        if (slot.narrow < 0 || !bucket.narrow_in_place) continue;
        const Tensor& weight = layer.tensor(layer.weights[w].weight);
        most = std::max(most, bytes_of(DType::bf16, weight.rows({}) * weight.columns({})));
      }
    }
  }
  return most;
}

}  // namespace

DeviceBytes predicted_device_bytes(const Program& program, Stage stage, const RoutedCount& routed,
                                   const DeviceUse& use) {
  const StageProgram& of_rank = program.stages[static_cast<std::size_t>(stage.value)];
  const WindowTensors chosen =
      use.windows ? window_tensors(program.plan, stage, of_rank) : WindowTensors{};
  const auto in_window = [&](const Tensor& t) { return chosen.tensors.contains(&t); };
  const Rehearsed rest = rehearse(
      of_rank, routed, std::not_fn(in_window),
      keeps_routed_apart(program.plan) ? TensorPlacement::routed_apart : TensorPlacement::segments);
  const Rehearsed slab = rehearse(of_rank, routed, in_window, TensorPlacement::slab);
  return {.blocks = rest.blocks + slab.blocks,
          .rounding =
              rest.in_pages - rest.blocks + (slab.slab + kPage - 1) / kPage * kPage - slab.blocks,
          .kernels = std::max(kScratch, use.deterministic_attention ? scores(program, of_rank) : 0),
          .codes = turned_codes(of_rank, routed) + copied_weight(of_rank),
          .context = use.context > 0 ? use.context : kContext,
          .nccl = use.nccl ? kCommunicator * communicators(program, of_rank) : 0};
}

}  // namespace pleat
