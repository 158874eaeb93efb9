// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Search results as JSON.
#include <fmt/format.h>

#include <algorithm>

#include "core/plan/predicted_only.hpp"
#include "planner/layout/layout_bound.hpp"
#include "planner/report/explain.hpp"
#include "planner/space/not_tried.hpp"

namespace pleat {
namespace {

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
JsonValue recompute_json(const Choice& choice) {
  JsonValue list = JsonValue::array();
  for (Module m : choice.recompute) list.push_back(name_of(m));
  if (choice.recompute_full) {
    list.push_back(choice.recompute_layers > 0 ? fmt::format("full:{}", choice.recompute_layers)
                                               : "full");
  }
  return list;
}

template <class Choice>
JsonValue offload_json(const Choice& choice) {
  JsonValue list = JsonValue::array();
  for (Offload o : choice.offload) list.push_back(name_of(o));
  return list;
}

JsonValue stages_json(const std::vector<StageOverride>& stages) {
  JsonValue list = JsonValue::array();
  for (const StageOverride& s : stages) {
    list.push_back(JsonValue::object()
                       .set("stage", s.stage)
                       .set("recompute", recompute_json(s))
                       .set("recompute_unit", s.recompute_unit)
                       .set("offload", offload_json(s)));
  }
  return list;
}

JsonValue plan_json(const Plan& plan) {
  const AttentionMapping& a = plan.attention;
  const ExpertMapping& e = plan.expert;
  return JsonValue::object()
      .set("summary", summary(plan))
      .set("attention",
           JsonValue::object().set("tp", a.tp).set("cp", a.cp).set("dp", a.dp).set("pp", a.pp))
      .set("expert", JsonValue::object()
                         .set("etp", e.etp)
                         .set("ep", e.ep)
                         .set("edp", e.edp)
                         .set("placement", name_of(e.placement))
                         .set("redundant", e.redundant))
      .set("vpp", plan.vpp)
      .set("schedule", name_of(plan.schedule))
      .set("layout", plan.layout)
      .set("micro_batch", plan.micro_batch)
      .set("precision", name_of(plan.precision))
      .set("sharding", name_of(plan.sharding))
      .set("optimizer_instances", plan.optimizer_instances)
      .set("fsdp_group", plan.fsdp_group)
      .set("dispatcher", name_of(plan.dispatcher))
      .set("recompute", recompute_json(plan))
      .set("recompute_unit", plan.recompute_unit)
      .set("offload", offload_json(plan))
      .set("offload_layers", plan.offload_layers)
      .set("stages", stages_json(plan.stages))
      .set("optimizer_state_offload", plan.optimizer.state_offload)
      .set("optimizer_cpu_offload", plan.optimizer.cpu_offload)
      .set("cuda_graph", name_of(plan.cuda_graph))
      .set("cp_comm", name_of(plan.cp_comm))
      .set("cp_a2a", plan.cp_a2a)
      .set("overlap_expert_parallel", plan.overlap.expert_parallel)
      .set("overlap_tensor_parallel", plan.overlap.tensor_parallel)
      .set("overlap_shared_expert", plan.overlap.shared_expert)
      .set("delay_wgrad", plan.overlap.delay_wgrad);
}

JsonValue memory_json(const StageMemory& m) {
  return JsonValue::object()
      .set("stage", m.stage.value)
      .set("weights", m.weights)
      .set("gradients", m.gradients)
      .set("optimizer", m.optimizer)
      .set("activations", m.activations)
      .set("runtime", m.runtime)
      .set("peak", m.peak);
}

JsonValue candidate_json(const Candidate& c) {
  const StepEstimate& e = c.estimate;
  JsonValue parts = JsonValue::object();
  for (std::size_t i = 0; i < kCostClasses; ++i) {
    parts.set(name_of(static_cast<CostClass>(i)), JsonValue::finite(e.parts[i].base()));
  }
  JsonValue memory = JsonValue::array();
  for (const StageMemory& m : e.memory) memory.push_back(memory_json(m));
  return JsonValue::object()
      .set("plan", plan_json(c.plan))
      .set("step_s", JsonValue::finite(e.step.base()))
      .set("low_s", JsonValue::finite(e.low.base()))
      .set("high_s", JsonValue::finite(e.high.base()))
      .set("tokens_per_second_per_gpu", JsonValue::finite(e.tokens_per_second_per_gpu))
      .set("mfu", JsonValue::finite(e.mfu))
      .set("mfu_of_precision", JsonValue::finite(e.mfu_of_precision))
      .set("fits", e.fits)
      .set("peak_bytes", e.peak_bytes())
      .set("parts_s", std::move(parts))
      .set("memory_bytes", std::move(memory));
}

JsonValue predicted_only_json(const Plan& plan) {
  JsonValue list = JsonValue::array();
  for (const PredictedOnly& technique : predicted_only(plan)) {
    list.push_back(JsonValue::object().set("path", technique.path).set("what", technique.what));
  }
  return list;
}

// `explained`: with what each loses against the first.
JsonValue list_json(const std::vector<Candidate>& list, Runtime runtime, bool explained) {
  JsonValue array = JsonValue::array();
  for (std::size_t i = 0; i < list.size(); ++i) {
    JsonValue one = candidate_json(list[i]);
    if (runtime == Runtime::pleat) one.set("predicted_only", predicted_only_json(list[i].plan));
    if (explained && i > 0) one.set("against_best", explain_difference(list.front(), list[i]));
    array.push_back(std::move(one));
  }
  return array;
}

JsonValue rejected_json(const std::map<std::string, std::int64_t>& rejected) {
  JsonValue counts = JsonValue::object();
  for (const auto& [rule, plans] : rejected) counts.set(rule, plans);
  return counts;
}

JsonValue not_tried_json(const std::vector<NotTried>& list) {
  JsonValue array = JsonValue::array();
  for (const NotTried& n : list) {
    array.push_back(JsonValue::object().set("what", n.what).set("why", n.why));
  }
  return array;
}

// Of the best plan.
JsonValue edges_json(const SearchResult& result, const Problem& problem,
                     const SearchConfig& config) {
  JsonValue array = JsonValue::array();
  if (result.best.empty()) return array;
  for (const AtEdge& edge : at_edges(result.best.front().plan, problem, config)) {
    array.push_back(JsonValue::object()
                        .set("field", edge.field)
                        .set("value", edge.value)
                        .set("next", edge.next));
  }
  return array;
}

JsonValue changes_json(const std::vector<FittingChange>& changes) {
  JsonValue array = JsonValue::array();
  for (const FittingChange& c : changes) {
    array.push_back(
        JsonValue::object().set("change", c.change).set("best", candidate_json(c.candidate)));
  }
  return array;
}

// Null where the search took number formats as they were given.
JsonValue counted(std::int64_t sets) { return sets > 0 ? JsonValue(sets) : JsonValue(); }

// What was tried outside of the space; null: nothing.
JsonValue neighbours_json(const SearchResult& result) {
  if (!result.neighbours) return {};
  const NeighboursTried& n = *result.neighbours;
  JsonValue changes = JsonValue::array();
  for (const FieldDifference& d : n.differences) {
    changes.push_back(
        JsonValue::object().set("field", d.path).set("from", d.from).set("to", d.to));
  }
  return JsonValue::object()
      .set("tried", n.tried)
      .set("priced", n.priced)
      .set("all", n.all)
      .set("best_before_s", JsonValue::finite(n.best_before.base()))
      .set("gain", JsonValue::finite(n.gain))
      .set("changes", std::move(changes));
}

// Also how far below the best plan another layout could come at most.
JsonValue certificate_json(const SearchResult& result, const Problem& problem,
                           const SearchConfig& config) {
  JsonValue layouts, layout_gap;
  if (!result.best.empty() && result.best.front().plan.attention.pp > 1) {
    const LayoutBound bound = layout_bound(problem, config, result.best.front().plan);
    layouts = JsonValue::finite(bound.least.base());
    layout_gap = JsonValue::finite(bound.gap());
  }
  const bool best_layout = !result.best_of_layouts.empty() && result.best_of_layouts.front();
  if (best_layout) layout_gap = 0.0;
  return JsonValue::object()
      .set("objective", name_of(result.objective))
      .set("numerics_searched", counted(result.numerics_searched))
      .set("numerics_possible", counted(result.numerics_possible))
      .set("proven", is_proven(result))
      .set("optimal", result.optimal)
      .set("certain_plans", result.optimal ? certain_listed(result) : 0)
      .set("bound_s", JsonValue::finite(result.bound.base()))
      .set("gap", result.best.empty() ? JsonValue() : JsonValue::finite(result.gap()))
      .set("layout_bound_s", std::move(layouts))
      .set("layout_gap", std::move(layout_gap))
      .set("best_of_layouts", best_layout)
      .set("neighbours", neighbours_json(result));
}

}  // namespace

JsonValue search_json(const SearchResult& result, const Problem& problem,
                      const SearchConfig& config, const std::vector<FittingChange>& changes) {
  JsonValue json = JsonValue::object();
  json.set("schema_version", 1)
      .set("model", problem.model.name)
      .set("cluster", problem.cluster.name)
      .set("gpus", config.gpus)
      .set("profile", problem.profile.name);
  if (const Shared<Learned>& learned = problem.profile.learned) {
    json.set("learned_from_runs", static_cast<std::int64_t>(learned->runs.size()));
  }
  return json
      .set("workload", JsonValue::object()
                           .set("seq_len", problem.workload.seq_len)
                           .set("global_batch", problem.workload.global_batch))
      .set("precision", precisions_text(config))
      .set("robust", config.robust)
      .set("enumerated", result.enumerated)
      .set("stage_ways", JsonValue::finite(result.stage_ways))
      .set("priced", result.priced)
      .set("fallback_priced", result.fallback_priced)
      .set("rejected", rejected_json(result.rejected))
      .set("not_tried", not_tried_json(result.not_tried))
      .set("at_edges", edges_json(result, problem, config))
      .set("certificate", certificate_json(result, problem, config))
      .set("best", list_json(result.best, config.runtime, true))
      .set("nearest", list_json(result.nearest, config.runtime, false))
      .set("changes_that_fit", changes_json(changes));
}

}  // namespace pleat
