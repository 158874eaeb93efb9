// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// All contiguous layouts of small pipelines, and plans of such to begin with.
#pragma once

#include <optional>
#include <vector>

#include "core/plan/constraints.hpp"
#include "core/plan/layout.hpp"
#include "planner/space/runtime_rules.hpp"
#include "tests/planner/search/random_case.hpp"

namespace pleat::test {

// visit(): `stages` with every way to put `layers` decoder layers on them in order, some of them
// none.
template <class Visit>
void for_each_split(std::vector<VirtualStage>& stages, std::int64_t layers, const Visit& visit) {
  const auto place = [&](const auto& self, std::size_t s, std::int64_t first) -> void {
    const std::int64_t left = layers - first;
    const bool last = s + 1 == stages.size();
    for (std::int64_t n = last ? left : 0; n <= left; ++n) {
      stages[s].first_layer = first;
      stages[s].layers = n;
      if (last) {
        visit();
      } else {
        self(self, s + 1, first + n);
      }
    }
  };
  place(place, 0, 0);
}

// `plan` with the layout of `stages`, where the rules of plans allow it.
inline std::optional<Plan> plan_with(const RandomCase& c, const Plan& plan,
                                     const std::vector<VirtualStage>& stages) {
  Plan tried = plan;
  tried.layout = to_layout_string(stages);
  if (!violations({c.model, c.workload, tried, c.config.gpus}).empty()) return std::nullopt;
  return tried;
}

// visit(plan): the plan with every layout that the rules allow, all but decoder layers where it is.
template <class Visit>
void for_each_decoder_layout(const RandomCase& c, const Plan& plan, const Visit& visit) {
  std::vector<VirtualStage> stages = stage_layout(plan, c.model);
  for_each_split(stages, c.model.layers, [&] {
    if (const auto tried = plan_with(c, plan, stages)) visit(*tried);
  });
}

// The same with the depths of prediction behind the decoder layers, on any stage, as far as the
// runtime builds it.
template <class Visit>
void for_each_layout(const RandomCase& c, const Plan& plan, const Visit& visit) {
  std::vector<VirtualStage> stages = stage_layout(plan, c.model);
  for_each_split(stages, c.model.layers, [&] {
    std::size_t end = 0;  // of the decoder layers
    for (std::size_t v = 0; v < stages.size(); ++v) {
      if (stages[v].layers > 0) end = v;
    }
    for (std::size_t m = end; m < stages.size(); ++m) {
      if (c.model.mtp_layers == 0 && m > end) break;
      for (std::size_t v = 0; v < stages.size(); ++v) {
        stages[v].mtp = c.model.mtp_layers > 0 && v == m;
      }
      const auto tried = plan_with(c, plan, stages);
      if (tried && builds_layout(c.config.runtime, c.model, *tried)) visit(*tried);
    }
  });
}

// A case whose plans have pipelines of pp ranks with vpp chunks, one recipe each.
inline RandomCase pipeline_case(CaseMaker& maker, int i) {
  RandomCase c = maker.make(800);
  constexpr int kShapes[][2] = {{2, 2}, {2, 3}, {3, 2}, {3, 3}};
  const auto [pp, vpp] = kShapes[i % 4];
  c.config.pin<"pp">() = {pp};
  c.config.pin<"vpp">() = {vpp};
  c.config.gpus = pp * (i % 3 == 0 ? 2 : 1);
  c.config.pin<"schedule">() = {PipelineSchedule::one_f_one_b};
  c.config.pin<"layout">().reset();
  c.config.pin<"microbatch-group">().reset();
  c.config.pin<"tp">() = c.config.pin<"cp">() = c.config.pin<"etp">() = {1};
  c.config.pin<"dp">().reset();
  c.config.pin<"ep">() = {i % 3 == 0 && c.model.moe ? 2 : 1};  // what pairs hide
  if (i % 3 == 0) c.cluster.tiers.front().bandwidth = BytesPerSecond(5e9);
  c.config.pin<"micro-batch">().reset();
  c.config.pin<"sharding">().reset();
  c.workload.global_batch = 48;
  c.config.robust = false;
  c.config.top = 1;
  c.config.numerics.resize(1);
  c.model.layers = pp * vpp == 9 ? 6 : 6 + i % 3;
  c.model.layer_traits.clear();  // of another number of layers
  c.model.vocab = 8192;
  const bool moe = c.model.moe.has_value();
  c.model.moe_layer.assign(static_cast<std::size_t>(c.model.layers), moe);
  for (int l = 0; l < i % 3; ++l) c.model.moe_layer[static_cast<std::size_t>(l)] = false;
  c.config.pin<"ep-overlap">() = moe && i % 2 == 0;
  c.model.mtp_layers = moe && i % 5 == 0 ? 1 : 0;
  c.cluster.gpu.memory = Bytes(1e15);
  return c;
}

}  // namespace pleat::test
