// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Search results as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "planner/report/explain.hpp"
#include "planner/layout/layout_bound.hpp"

namespace pleat {
namespace {

using Json = nlohmann::ordered_json;

const char* name_of(Objective objective) {
  switch (objective) {
    case Objective::step: break;
    case Objective::step_of_sizes: return "step-of-sizes";
    case Objective::gpu_time: return "gpu-time";
  }
  return "step";
}

// Of a plan, or of one of its stages.
template <class Choice>
Json recompute_json(const Choice& choice) {
  Json list = Json::array();
  for (Module m : choice.recompute) list.push_back(name_of(m));
  if (choice.recompute_full) {
    list.push_back(choice.recompute_layers > 0 ? fmt::format("full:{}", choice.recompute_layers)
                                               : "full");
  }
  return list;
}

template <class Choice>
Json offload_json(const Choice& choice) {
  Json list = Json::array();
  for (Offload o : choice.offload) list.push_back(name_of(o));
  return list;
}

Json stages_json(const std::vector<StageOverride>& stages) {
  Json list = Json::array();
  for (const StageOverride& s : stages) {
    list.push_back({{"stage", s.stage},
                    {"recompute", recompute_json(s)},
                    {"recompute_unit", s.recompute_unit},
                    {"offload", offload_json(s)}});
  }
  return list;
}

Json plan_json(const Plan& plan) {
  const AttentionMapping& a = plan.attention;
  const ExpertMapping& e = plan.expert;
  return {{"summary", summary(plan)},
          {"attention", {{"tp", a.tp}, {"cp", a.cp}, {"dp", a.dp}, {"pp", a.pp}}},
          {"expert", {{"etp", e.etp}, {"ep", e.ep}, {"edp", e.edp}}},
          {"vpp", plan.vpp},
          {"schedule", name_of(plan.schedule)},
          {"layout", plan.layout},
          {"micro_batch", plan.micro_batch},
          {"precision", name_of(plan.precision)},
          {"sharding", name_of(plan.sharding)},
          {"optimizer_instances", plan.optimizer_instances},
          {"fsdp_group", plan.fsdp_group},
          {"dispatcher", name_of(plan.dispatcher)},
          {"recompute", recompute_json(plan)},
          {"recompute_unit", plan.recompute_unit},
          {"offload", offload_json(plan)},
          {"offload_layers", plan.offload_layers},
          {"stages", stages_json(plan.stages)},
          {"optimizer_state_offload", plan.optimizer.state_offload},
          {"optimizer_cpu_offload", plan.optimizer.cpu_offload},
          {"cuda_graph", name_of(plan.cuda_graph)},
          {"cp_comm", name_of(plan.cp_comm)},
          {"cp_a2a", plan.cp_a2a},
          {"overlap_expert_parallel", plan.overlap.expert_parallel},
          {"overlap_tensor_parallel", plan.overlap.tensor_parallel},
          {"overlap_shared_expert", plan.overlap.shared_expert},
          {"delay_wgrad", plan.overlap.delay_wgrad}};
}

Json memory_json(const StageMemory& m) {
  return {{"stage", m.stage.value},
          {"weights", m.weights},
          {"gradients", m.gradients},
          {"optimizer", m.optimizer},
          {"activations", m.activations},
          {"runtime", m.runtime},
          {"peak", m.peak}};
}

Json candidate_json(const Candidate& c) {
  const StepEstimate& e = c.estimate;
  Json parts = Json::object();
  for (std::size_t i = 0; i < kCostClasses; ++i) {
    parts[name_of(static_cast<CostClass>(i))] = e.parts[i].base();
  }
  Json memory = Json::array();
  for (const StageMemory& m : e.memory) memory.push_back(memory_json(m));
  return {{"plan", plan_json(c.plan)},
          {"step_s", e.step.base()},
          {"low_s", e.low.base()},
          {"high_s", e.high.base()},
          {"tokens_per_second_per_gpu", e.tokens_per_second_per_gpu},
          {"mfu", e.mfu},
          {"fits", e.fits},
          {"peak_bytes", e.peak_bytes()},
          {"parts_s", parts},
          {"memory_bytes", memory}};
}

Json list_json(const std::vector<Candidate>& list) {
  Json array = Json::array();
  for (const Candidate& c : list) array.push_back(candidate_json(c));
  return array;
}

}  // namespace

std::string search_json(const SearchResult& result, const ModelSpec& model,
                        const ClusterSpec& cluster, const WorkloadSpec& workload,
                        const Profile& profile, const SearchConfig& config,
                        const std::vector<FittingChange>& changes) {
  Json best = list_json(result.best);
  for (std::size_t i = 1; i < result.best.size(); ++i) {
    best[i]["against_best"] = explain_difference(result.best.front(), result.best[i]);
  }
  Json fitting = Json::array();
  for (const FittingChange& c : changes) {
    fitting.push_back({{"change", c.change}, {"best", candidate_json(c.candidate)}});
  }
  Json not_tried = Json::array();
  for (const NotTried& n : result.not_tried) {
    not_tried.push_back({{"what", n.what}, {"why", n.why}});
  }
  Json layouts = nullptr, layout_gap = nullptr;  // what no layout takes the best plan below
  if (!result.best.empty() && result.best.front().plan.attention.pp > 1) {
    const LayoutBound bound = layout_bound(model, cluster, workload, profile, config,
                                           result.best.front().plan);
    layouts = bound.least.base();
    layout_gap = bound.gap();
  }
  const bool layout_proven = !result.best_of_layouts.empty() && result.best_of_layouts.front();
  if (layout_proven) layout_gap = 0.0;
  const Json gap = result.best.empty() ? Json() : Json(result.gap());
  const Json document = {
      {"schema_version", 1},
      {"model", model.name},
      {"cluster", cluster.name},
      {"gpus", config.gpus},
      {"profile", profile.name},
      {"workload", {{"seq_len", workload.seq_len}, {"global_batch", workload.global_batch}}},
      {"precision", precisions_text(config)},
      {"robust", config.robust},
      {"enumerated", result.enumerated},
      {"stage_ways", result.stage_ways},
      {"priced", result.priced},
      {"fallback_priced", result.fallback_priced},
      {"rejected", result.rejected},
      {"not_tried", not_tried},
      {"certificate",
       {{"objective", name_of(result.objective)}, {"optimal", result.optimal},
        {"bound_s", result.bound.base()}, {"gap", gap},
        {"layout_bound_s", layouts}, {"layout_gap", layout_gap},
        {"best_of_layouts", layout_proven}}},
      {"best", best},
      {"nearest", list_json(result.nearest)},
      {"changes_that_fit", fitting}};
  return document.dump(2) + "\n";
}

}  // namespace pleat
