// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Assembles stage programs: compiles each distinct layer once, strings instances into chunks as the
// composition says, and adds the step level.
#include <algorithm>
#include <cmath>
#include <list>
#include <map>

#include "core/plan/stage_override.hpp"
#include "core/program/compile_stage.hpp"
#include "core/program/step_ops.hpp"

namespace pleat {

Schedule schedule_of(const Plan& plan, const WorkloadSpec& workload) {
  return {.pp = plan.attention.pp,
          .vpp = plan.vpp,
          .microbatches = static_cast<int>(plan.microbatches(workload.global_batch)),
          .group = plan.microbatch_group,
          .paired = plan.overlap.expert_parallel,
          .kind = plan.schedule};
}

namespace {

// Stages that follow the same plan share their layers.
struct StageSource {
  StageSource(const ModelSpec& model, const WorkloadSpec& workload, const Plan& p)
      : plan(p), shape(model, workload, plan), stages(compose_stages(model, workload, plan)) {}
  StageSource(const StageSource&) = delete;
  StageSource& operator=(const StageSource&) = delete;

  const SharedLayer& layer(Runtime runtime, const LayerVariant& variant) {
    auto found = known.find(variant);
    if (found == known.end()) {
      found = known.emplace(variant, compile_layer(shape, runtime, variant)).first;
    }
    return found->second;
  }

  const Plan plan;
  const LocalShape shape;  // refers to the plan
  const std::vector<StageComposition> stages;
  std::map<LayerVariant, SharedLayer> known;
};

// Which experts the ranks of ep have in each layer.
void place_experts_of(StageProgram& stage, const Program& program) {
  if (program.plan.expert.placement == ExpertPlacement::in_order) return;
  for (ChunkProgram& chunk : stage.chunks) {
    for (LayerInstance& instance : chunk.instances) {
      const LayerProgram& layer = stage.program(instance);
      const bool decoder = layer.kind == LayerKind::dense || layer.kind == LayerKind::moe;
      if (!decoder && layer.kind != LayerKind::mtp) continue;
      for (int i = 0; i < layer.layers; ++i) {
        instance.experts.push_back(slots_of_layer(program.model, program.workload,
                                                  program.plan.expert, instance.layer.value + i));
      }
    }
  }
}

}  // namespace

StageProgram assemble_stage(const ModelSpec& model, const Plan& plan, Runtime runtime,
                            Stage stage_id, const StageComposition& composition,
                            const LayerSource& layer) {
  StageProgram stage;
  stage.stage = stage_id;
  stage.layers.reserve(composition.variants.size());
  for (const LayerVariant& variant : composition.variants) stage.layers.push_back(layer(variant));
  stage.chunks.reserve(composition.chunks.size());
  for (const auto& placed : composition.chunks) {
    ChunkProgram& chunk = stage.chunks.emplace_back();
    chunk.instances.reserve(placed.size());
    for (const PlacedLayer& p : placed) chunk.instances.push_back({p.variant, p.layer, {}});
  }
  stage.delay_wgrad = plan.overlap.delay_wgrad;
  // FSDP shards every table by itself.
  const bool apart = plan.sharding == Sharding::zero2 || plan.sharding == Sharding::zero3;
  const std::vector<Stage> table_stages = apart ? std::vector<Stage>{} : composition.table_stages;
  lay_out_buckets(stage, model, plan, runtime, !table_stages.empty());
  add_step_ops(stage, model, plan, runtime, table_stages);
  return stage;
}

Program compile(const ModelSpec& model, const WorkloadSpec& workload, const Plan& plan,
                Runtime runtime) {
  Program program{model, workload, plan, runtime, {}};
  std::list<StageSource> sources;  // one for all stages that do the same
  for (int s = 0; s < plan.attention.pp; ++s) {
    const Stage id{s};
    const Plan own = plan_of_stage(plan, id);
    auto source = std::ranges::find(sources, own, &StageSource::plan);
    if (source == sources.end()) source = sources.emplace(source, model, workload, own);
    program.stages.push_back(assemble_stage(
        model, source->plan, runtime, id, source->stages[id.index()],
        [&](const LayerVariant& variant) { return source->layer(runtime, variant); }));
    program.stages.back().order = pipeline_order(schedule_of(plan, workload), id);
    place_experts_of(program.stages.back(), program);
  }
  return program;
}

StageProgram compile_stage(const ModelSpec& model, const WorkloadSpec& workload, const Plan& plan,
                           Runtime runtime, Stage stage_id) {
  return std::move(compile(model, workload, plan, runtime).stages[stage_id.index()]);
}

std::int64_t balanced_routed_tokens(const ModelSpec& model, const WorkloadSpec& workload,
                                    const Plan& plan, double imbalance) {
  if (!model.moe) return 0;
  const LocalShape shape(model, workload, plan);
  return static_cast<std::int64_t>(
      std::ceil(static_cast<double>(shape.T * model.moe->top_k) * imbalance));
}

}  // namespace pleat
