// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rules of what is recomputed in part and what is kept in host memory (Megatron-LM
// transformer_config.py: fine_grained_activation_offloading, cpu_offloading, recompute_num_layers).
#include <fmt/format.h>

#include "core/plan/constraint_rules.hpp"

namespace pleat::rules {
namespace {

bool recompute_layers_hold(const PlanContext& c) {
  return c.plan.recompute_layers == 0 || (c.plan.recompute_full && c.plan.recompute_layers > 0);
}
Violation explain_recompute_layers(const PlanContext& c) {
  if (c.plan.recompute_layers < 0) {
    return {"", "recompute_layers",
            fmt::format("must be at least 0 (0: all), is {}", c.plan.recompute_layers), ""};
  }
  return {"", "recompute_layers",
          fmt::format("recompute of the first {} layers of a chunk needs full recompute",
                      c.plan.recompute_layers),
          "recompute_full true, or recompute_layers 0"};
}

bool inside_experts(Offload o) { return o == Offload::expert_fc1 || o == Offload::moe_act; }

bool offload_present_holds(const PlanContext& c) {
  return c.model.moe || c.plan.offload.empty() || !inside_experts(*c.plan.offload.rbegin());
}
Violation explain_offload_present(const PlanContext& c) {
  return {"", "offload",
          fmt::format("{} has no {} to offload", c.model.name, name_of(*c.plan.offload.rbegin())),
          "expert_fc1 and moe_act are parts of experts"};
}

bool offload_proj_holds(const PlanContext& c) {
  return !c.plan.offload.contains(Offload::attn_proj) ||
         c.plan.offload.contains(Offload::core_attn);
}
Violation explain_offload_proj(const PlanContext&) {
  return {"", "offload",
          "attn_proj without core_attn saves nothing: its input is the output of core_attn, which "
          "the backward pass of core_attn needs",
          "core_attn attn_proj"};
}

bool offload_recompute_holds(const PlanContext& c) {
  if (!c.plan.recompute.contains(Module::moe)) return true;
  return c.plan.offload.empty() || !inside_experts(*c.plan.offload.rbegin());
}
Violation explain_offload_recompute(const PlanContext& c) {
  return {"", "offload",
          fmt::format("{} cannot be offloaded where the whole MoE layer is recomputed",
                      name_of(*c.plan.offload.rbegin())),
          "recompute without moe, or another offload"};
}

bool offload_layers_hold(const PlanContext& c) {
  return c.plan.offload_layers == 0 ||
         (c.plan.offload_layers > 0 && c.plan.offload_layers < c.model.layers);
}
Violation explain_offload_layers(const PlanContext& c) {
  return {"", "offload_layers",
          fmt::format("must be from 0 to {}, fewer than the layers, is {}", c.model.layers - 1,
                      c.plan.offload_layers),
          ""};
}

bool offload_layers_pipeline_holds(const PlanContext& c) {
  return c.plan.offload_layers <= 0 || c.plan.attention.pp <= 1;
}
Violation explain_offload_layers_pipeline(const PlanContext& c) {
  return {"", "offload_layers",
          fmt::format("offload of whole layers needs PP 1, PP is {}", c.plan.attention.pp),
          "a list of modules to offload goes with a pipeline"};
}

bool offload_layers_alone_holds(const PlanContext& c) {
  return c.plan.offload_layers <= 0 ||
         (!c.plan.recompute_full && c.plan.recompute.empty() && c.plan.offload.empty());
}
Violation explain_offload_layers_alone(const PlanContext& c) {
  return {"", "offload_layers",
          fmt::format("offload of whole layers excludes {}",
                      c.plan.offload.empty() ? "recompute" : "offload of modules"),
          ""};
}

bool offload_layers_graph_holds(const PlanContext& c) {
  return c.plan.offload_layers <= 0 || !captures_parts(c.plan.cuda_graph);
}
Violation explain_offload_layers_graph(const PlanContext&) {
  return {"", "cuda_graph", "offload of whole layers excludes partial CUDA graphs",
          "none or full_iteration"};
}

}  // namespace

void append_offload_rules(std::vector<Constraint>& list) {
  list.push_back({"recompute-layers", recompute_layers_hold, explain_recompute_layers});
  list.push_back({"offload-present", offload_present_holds, explain_offload_present});
  list.push_back({"offload-attention-output", offload_proj_holds, explain_offload_proj});
  list.push_back({"offload-recompute", offload_recompute_holds, explain_offload_recompute});
  list.push_back({"offload-layers", offload_layers_hold, explain_offload_layers});
  list.push_back({"offload-layers-pipeline", offload_layers_pipeline_holds,
                  explain_offload_layers_pipeline});
  list.push_back({"offload-layers-alone", offload_layers_alone_holds,
                  explain_offload_layers_alone});
  list.push_back({"offload-layers-graph", offload_layers_graph_holds,
                  explain_offload_layers_graph});
}

}  // namespace pleat::rules
