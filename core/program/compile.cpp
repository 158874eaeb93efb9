// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Assembles stage programs: builds each distinct layer once, applies the passes in order, strings
// instances into chunks by the stage layout, and adds the step level.
#include <cmath>
#include <map>

#include "core/plan/layout.hpp"
#include "core/program/layer_builder.hpp"
#include "core/program/passes/megatron_buffers.hpp"
#include "core/program/passes/offload.hpp"
#include "core/program/passes/overlap.hpp"
#include "core/program/passes/precision.hpp"
#include "core/program/passes/recompute.hpp"
#include "core/program/passes/sharding.hpp"
#include "core/program/program.hpp"
#include "core/program/step_ops.hpp"

namespace pleat {
namespace {

struct LayerVariant {
  LayerKind kind;
  bool moe = false;    // mtp: its decoder layer is MoE
  bool wide = false;   // boundary or head after MTP: twice the rows
  bool recompute = true;  // as the plan says; false: beyond the first recompute_layers
  bool offload = false;   // among the first offload_layers
  LayerTraits traits = {};  // of a decoder layer
  auto operator<=>(const LayerVariant&) const = default;
};

LayerProgram build(const LocalShape& shape, const LayerVariant& v) {
  switch (v.kind) {
    case LayerKind::embedding: return build_embedding_layer(shape);
    case LayerKind::dense: return build_decoder_layer(shape, false, v.traits);
    case LayerKind::moe: return build_decoder_layer(shape, true, v.traits);
    case LayerKind::mtp: return build_mtp_layer(shape, v.moe);
    case LayerKind::head: return build_head_layer(shape, v.wide);
    case LayerKind::recv: return build_recv_layer(shape, v.wide ? 2 : 1);
    case LayerKind::send: return build_send_layer(shape, v.wide ? 2 : 1);
  }
  PLEAT_ASSERT(!"unreachable");
  return {};
}

class StageCompiler {
 public:
  StageCompiler(const LocalShape& shape, Runtime runtime, StageProgram& stage)
      : shape_(shape), runtime_(runtime), stage_(stage) {}

  void append(ChunkProgram& chunk, const LayerVariant& variant, std::int64_t layer) {
    auto [found, fresh] = index_.try_emplace(variant, static_cast<int>(stage_.layers.size()));
    if (fresh) stage_.layers.push_back(compile_layer(variant));
    chunk.instances.push_back({found->second, LayerIndex{static_cast<int>(layer)}, {}});
  }

 private:
  LayerProgram compile_layer(const LayerVariant& variant) const {
    LayerProgram layer = build(shape_, variant);
    if (runtime_ == Runtime::megatron) add_megatron_buffers(layer, shape_.plan);
    apply_precision(layer, shape_.plan);
    if (variant.recompute) apply_recompute(layer, shape_.plan, runtime_);
    apply_offload(layer, shape_.plan, variant.offload);
    apply_sharding(layer, shape_.plan);
    if (runtime_ == Runtime::megatron) apply_overlap(layer, shape_.plan);
    compute_lifetimes(layer);
    return layer;
  }

  const LocalShape& shape_;
  Runtime runtime_;
  StageProgram& stage_;
  std::map<LayerVariant, int> index_;
};

Schedule schedule_of(const Plan& plan, const WorkloadSpec& workload) {
  return {.pp = plan.attention.pp,
          .vpp = plan.vpp,
          .microbatches = static_cast<int>(plan.microbatches(workload.global_batch)),
          .group = plan.microbatch_group,
          .paired = plan.overlap.expert_parallel};
}

}  // namespace

StageProgram compile_stage(const ModelSpec& model, const WorkloadSpec& workload, const Plan& plan,
                           Runtime runtime, Stage stage_id) {
  const LocalShape shape(model, workload, plan);
  const std::vector<VirtualStage> layout = stage_layout(plan, model);
  const std::int64_t L = model.layers;
  StageProgram stage;
  stage.stage = stage_id;
  StageCompiler compiler(shape, runtime, stage);
  bool mtp_before = false;
  for (std::size_t i = 0; i < layout.size(); ++i) {
    const VirtualStage& v = layout[i];
    const bool wide_in = mtp_before;
    mtp_before = mtp_before || v.mtp;
    if (static_cast<int>(i) % plan.attention.pp != stage_id.value) continue;
    ChunkProgram chunk;
    if (i > 0) compiler.append(chunk, {LayerKind::recv, false, wide_in}, L + 2);
    if (v.embedding) compiler.append(chunk, {LayerKind::embedding}, -1);
    for (std::int64_t l = v.first_layer; l < v.first_layer + v.layers; ++l) {
      LayerVariant variant{model.is_moe(l) ? LayerKind::moe : LayerKind::dense};
      variant.traits = model.traits(l);
      const std::int64_t place = l - v.first_layer;
      variant.recompute = !plan.recompute_full || plan.recompute_layers == 0 ||
                          place < plan.recompute_layers;
      variant.offload = place < plan.offload_layers;
      compiler.append(chunk, variant, l);
    }
    if (v.mtp) compiler.append(chunk, {LayerKind::mtp, model.is_moe(L - 1)}, L + 1);
    if (v.loss) compiler.append(chunk, {LayerKind::head, false, mtp_before}, L);
    if (i + 1 < layout.size()) compiler.append(chunk, {LayerKind::send, false, mtp_before}, L + 3);
    stage.chunks.push_back(std::move(chunk));
  }
  stage.order = pipeline_order(schedule_of(plan, workload), stage_id);
  lay_out_buckets(stage, model, plan, runtime);
  add_step_ops(stage, plan, runtime);
  return stage;
}

Program compile(const ModelSpec& model, const WorkloadSpec& workload, const Plan& plan,
                Runtime runtime) {
  Program program{model, workload, plan, runtime, {}};
  for (int p = 0; p < plan.attention.pp; ++p) {
    program.stages.push_back(compile_stage(model, workload, plan, runtime, Stage{p}));
  }
  return program;
}

std::int64_t balanced_routed_tokens(const ModelSpec& model, const WorkloadSpec& workload,
                                    const Plan& plan, double imbalance) {
  if (!model.moe) return 0;
  const LocalShape shape(model, workload, plan);
  return static_cast<std::int64_t>(
      std::ceil(static_cast<double>(shape.T * model.moe->top_k) * imbalance));
}

}  // namespace pleat
