// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/program/stage_composition.hpp"

#include <algorithm>
#include <utility>

#include "core/plan/layout.hpp"
#include "core/program/pipeline_order.hpp"
#include "core/spec/expert_load.hpp"

namespace pleat {
namespace {

void place(StageComposition& stage, const LayerVariant& variant, std::int64_t layer) {
  auto& variants = stage.variants;
  auto& chunk = stage.chunks.back();
  const LayerIndex id{static_cast<int>(layer)};
  const int before = chunk.empty() ? 0 : chunk.back().variant;  // most layers are like that one
  if (!chunk.empty() && variants[static_cast<std::size_t>(before)] == variant) {
    chunk.push_back({before, id});
    return;
  }
  const auto found = std::ranges::find(variants, variant);
  chunk.push_back({static_cast<int>(found - variants.begin()), id});
  if (found == variants.end()) variants.push_back(variant);
}

// For the model's input, a prediction block's input or a tied head.
bool reads_table(const VirtualStage& v, const ModelSpec& model) {
  return v.embedding || v.mtp || (v.loss && model.tied_embeddings);
}

// Stages that hold the table are told of each other. With DualPipe every copy of a stage has its
// mirror in the other half of the pipeline, with which all of its gradients are added up anyway: so
// the halves are apart here.
void link_tables(std::vector<StageComposition>& stages, const std::vector<bool>& holds_table,
                 PipelineSchedule schedule) {
  const std::size_t half =
      schedule == PipelineSchedule::dualpipe ? stages.size() / 2 : stages.size();
  for (std::size_t first = 0; first < stages.size(); first += half) {
    std::vector<Stage> holders;
    for (std::size_t s = first; s < first + half; ++s) {
      if (holds_table[s]) holders.push_back(Stage{static_cast<int>(s)});
    }
    if (holders.size() < 2) continue;
    for (const Stage s : holders) stages[s.index()].table_stages = holders;
  }
}

}  // namespace

std::vector<int> loads_of(const LayerVariant& variant) {
  std::vector<int> loads;
  if (variant.loads >= 0) loads.push_back(variant.loads);
  for (const UnitLayer& next : variant.more) {
    if (next.loads >= 0) loads.push_back(next.loads);
  }
  return loads;
}

LayerVariant without_loads(LayerVariant variant) {
  variant.loads = -1;
  for (UnitLayer& next : variant.more) next.loads = -1;
  return variant;
}

LayerVariant decoder_variant(const ModelSpec& model, const WorkloadSpec& workload,
                             std::int64_t layer) {
  LayerVariant variant{model.is_moe(layer) ? LayerKind::moe : LayerKind::dense};
  variant.traits = model.traits(layer);
  if (model.is_moe(layer)) {
    variant.loads = loads_of_layer(workload, model, static_cast<int>(layer));
  }
  return variant;
}

LayerVariant prediction_variant(const ModelSpec& model, const WorkloadSpec& workload,
                                std::int64_t depth) {
  LayerVariant variant{LayerKind::mtp, model.is_moe(model.layers - 1)};
  variant.depth = static_cast<int>(depth);
  if (variant.moe) {
    variant.loads = loads_of_layer(workload, model, static_cast<int>(model.layers + 1 + depth));
  }
  return variant;
}

std::vector<StageComposition> compose_stages(const ModelSpec& model, const WorkloadSpec& workload,
                                             const Plan& plan) {
  const std::vector<VirtualStage> layout = stage_layout(plan, model);
  const std::int64_t L = model.layers;
  const std::int64_t received = L + 1 + std::max<std::int64_t>(1, model.mtp_layers);
  const Schedule order{.pp = plan.attention.pp, .vpp = plan.vpp, .kind = plan.schedule};
  const int chunks = chunks_of_stage(order);
  std::vector<StageComposition> stages(static_cast<std::size_t>(order.pp));
  std::vector<bool> holds_table(stages.size());
  std::size_t first_mtp = layout.size();  // of the virtual stages
  for (std::size_t i = layout.size(); i-- > 0;) {
    if (layout[i].mtp) first_mtp = i;
  }
  for (int at = 0; at < order.pp * chunks; ++at) {
    const Stage id{at / chunks};
    const auto i = static_cast<std::size_t>(virtual_stage(order, id, ChunkId{at % chunks}));
    const VirtualStage& v = layout[i];
    const bool wide_in = first_mtp < i;
    const bool mtp_before = first_mtp <= i;
    StageComposition& stage = stages[id.index()];
    stage.chunks.emplace_back().reserve(static_cast<std::size_t>(v.layers) + 4);
    if (i > 0) place(stage, {LayerKind::recv, false, wide_in}, received);
    if (v.embedding) place(stage, {LayerKind::embedding}, -1);
    for (std::int64_t l = v.first_layer; l < v.first_layer + v.layers; ++l) {
      LayerVariant variant = decoder_variant(model, workload, l);
      const std::int64_t place_in_chunk = l - v.first_layer;
      variant.recompute =
          !plan.recompute_full || plan.recompute_layers == 0 ||
          place_in_chunk < plan.recompute_layers;
      variant.offload = place_in_chunk < plan.offload_layers;
      const std::int64_t first = l;
      while (l + 1 < v.first_layer + v.layers && l + 1 - first < plan.recompute_unit) {
        ++l;
        const LayerVariant next = decoder_variant(model, workload, l);
        variant.more.push_back({next.kind == LayerKind::moe, next.traits, next.loads});
      }
      place(stage, variant, first);
    }
    for (std::int64_t d = 0; v.mtp && d < model.mtp_layers; ++d) {
      place(stage, prediction_variant(model, workload, d), L + 1 + d);
    }
    if (v.loss) place(stage, {LayerKind::head, false, mtp_before}, L);
    if (i + 1 < layout.size()) place(stage, {LayerKind::send, false, mtp_before}, received + 1);
    if (reads_table(v, model)) holds_table[id.index()] = true;
  }
  link_tables(stages, holds_table, plan.schedule);
  return stages;
}

bool same_layers(const StageComposition& a, const StageComposition& b) {
  const auto same = [](const PlacedLayer& x, const PlacedLayer& y) {
    return x.variant == y.variant;
  };
  return a.variants == b.variants && a.table_stages.size() == b.table_stages.size() &&
         std::ranges::equal(a.chunks, b.chunks, [&](const auto& x, const auto& y) {
           return std::ranges::equal(x, y, same);
         });
}

}  // namespace pleat
