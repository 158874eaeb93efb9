// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "validation/predict_run.hpp"

#include <algorithm>

#include "validation/run_request.hpp"
#include "core/plan/constraints.hpp"
#include "core/program/program.hpp"
#include "planner/space/memory_choice.hpp"
#include "planner/space/mesh_space.hpp"
#include "validation/run_words.hpp"

namespace pleat {
namespace {

PlanContext context_of(const RunRequest& r, const Plan& plan) {
  return {r.model, r.workload, plan, r.gpus};
}

// The first broken rule that leaves no program.
std::optional<Violation> obstacle(const RunRequest& r, const Plan& plan) {
  const std::vector<std::string>& needed = rules_of_programs();
  for (Violation& v : violations(context_of(r, plan))) {
    if (std::find(needed.begin(), needed.end(), v.rule) != needed.end()) return std::move(v);
  }
  return std::nullopt;
}

StepEstimate price(const RunRequest& r, const Plan& plan) {
  return estimate(compile(r.model, r.workload, plan, r.profile->runtime), *r.cluster, *r.profile);
}

bool better(const StepEstimate& a, const StepEstimate& b) {
  if (a.fits != b.fits) return a.fits;
  return a.fits ? a.step < b.step : a.peak_bytes() < b.peak_bytes();
}

struct Priced {
  Plan plan;
  StepEstimate estimate;
};

// The least `layers` of the plan, out of 1 … most, with which it fits; nothing if none does.
std::optional<Priced> least_that_fits(const RunRequest& r, Plan plan, int Plan::*layers, int most) {
  std::optional<Priced> best;
  for (int low = 1, high = most; low <= high;) {
    plan.*layers = low + (high - low) / 2;
    StepEstimate e = price(r, plan);
    if (e.fits) {
      high = plan.*layers - 1;
      best = {plan, std::move(e)};
    } else {
      low = plan.*layers + 1;
    }
  }
  return best;
}

// Whole layers recomputed (Megatron's block method) or kept in host memory, as few as fit.
std::vector<Priced> some_layers(const RunRequest& r, const Plan& plan) {
  std::vector<Priced> found;
  const std::size_t broken = violations(context_of(r, plan)).size();
  const auto try_layers = [&](Plan tried, int Plan::*layers, int most) {
    tried.*layers = most;
    if (most < 1 || violations(context_of(r, tried)).size() > broken) return;
    if (auto priced = least_that_fits(r, std::move(tried), layers, most)) {
      found.push_back(std::move(*priced));
    }
  };
  Plan block = plan;
  block.recompute.clear();
  block.recompute_full = true;
  try_layers(std::move(block), &Plan::recompute_layers,
             static_cast<int>(r.model.layers) / (plan.attention.pp * plan.vpp));
  if (r.open.offload) try_layers(plan, &Plan::offload_layers, static_cast<int>(r.model.layers) - 1);
  return found;
}

// Nothing is recomputed where that fits; else the fastest choice that fits, FSDP among them where
// the sharding is open, else the smallest.
Priced with_best_recompute(const RunRequest& r, const Plan& plan) {
  Priced best{plan, price(r, plan)};
  if (!r.open.recompute || best.estimate.fits) return best;
  const std::size_t broken = violations(context_of(r, plan)).size();
  for (const RecomputeChoice& choice : recompute_choices(r.model, true)) {
    Plan tried = plan;
    tried.recompute = choice.modules;
    tried.recompute_full = choice.full;
    if (tried == plan || violations(context_of(r, tried)).size() > broken) continue;
    StepEstimate e = price(r, tried);
    if (better(e, best.estimate)) best = {std::move(tried), std::move(e)};
  }
  for (Priced& priced : some_layers(r, plan)) {
    if (better(priced.estimate, best.estimate)) best = std::move(priced);
  }
  if (r.open.sharding) {
    Plan tried = plan;
    tried.sharding = Sharding::zero3;
    StepEstimate e = price(r, tried);
    if (better(e, best.estimate)) best = {std::move(tried), std::move(e)};
  }
  return best;
}

std::vector<int> divisors(std::int64_t n) {
  std::vector<int> list;
  for (std::int64_t d = 1; d <= n; ++d) {
    if (n % d == 0) list.push_back(static_cast<int>(d));
  }
  return list;
}

// Chunks a stage: the stated number, or all that split the layers evenly, embedding and loss
// counted as a layer each if need be.
std::vector<int> chunk_counts(const RunRequest& r, const Plan& plan) {
  const int pp = plan.attention.pp;
  if (!r.open.vpp || pp == 1) return {plan.vpp};
  constexpr int kMost = 16;
  std::vector<int> counts;
  for (int vpp = 1; vpp <= kMost; ++vpp) {
    const int stages = pp * vpp;
    if (r.model.layers % stages == 0 || (r.model.layers + 2) % stages == 0) counts.push_back(vpp);
  }
  if (counts.empty()) counts.push_back(plan.vpp);
  return counts;
}

// Every choice of the open degrees that has a program; TP stays within a node.
std::vector<Plan> open_plans(RunRequest r) {
  const auto choices = [](bool open, int stated, std::int64_t n) {
    return open ? divisors(n) : std::vector<int>{stated};
  };
  const Plan& stated = r.plan;
  std::vector<Plan> plans;
  for (int tp : choices(r.open.tp, stated.attention.tp, r.cluster->gpus_per_node)) {
    for (int pp : choices(r.open.pp, stated.attention.pp, r.model.layers)) {
      for (int ep : choices(r.open.ep, stated.expert.ep, r.model.moe ? r.model.moe->experts : 1)) {
        Plan plan = stated;
        plan.attention.tp = tp;
        plan.attention.pp = pp;
        plan.expert.ep = ep;
        fill_data_parallel(r, plan);
        for (int vpp : chunk_counts(r, plan)) {
          plan.vpp = vpp;
          if (!obstacle(r, plan)) plans.push_back(plan);
        }
      }
    }
  }
  return plans;
}

FlopsConvention convention_of(const MeasuredRun& run) {
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  if (has(run.flops_convention, "full attention")) return FlopsConvention::full_attention;
  if (has(run.flops_convention, "bridge (")) return FlopsConvention::bridge;
  if (!run.flops_convention.empty()) return FlopsConvention::megatron;
  // Megatron-LM halves causal scores since 2025, and papers of that year on that run it; older
  // papers and its older tables do not.
  const bool megatron_paper = run.runtime == "megatron" && has(run.era, "Megatron-Core") &&
                              month_of_era(run.era).value_or(0) >= 25 * 12;
  const bool recent = run.era.starts_with("nemo-") || run.era.starts_with("main-") ||
                      has(run.era, "examples/") || megatron_paper;
  return recent ? FlopsConvention::megatron : FlopsConvention::full_attention;
}

}  // namespace

const std::vector<std::string>& rules_of_programs() {
  static const std::vector<std::string> rules{
      "degrees-positive",   "world",
      "expert-grid",        "experts-divisible",
      "dense-mapping",      "heads-divisible",
      "ffn-divisible",      "shared-ffn-divisible",
      "expert-ffn-divisible", "context-divisible",
      "sequence-divisible", "layout",
      "batch-divisible",    "pipeline-depth", "passes-of-a-step",
      "interleaving-needs-pipeline",
      "interleaving-microbatches", "microbatch-group",
      "fsdp-group",         "cp-heads",
      "cp-groups",          "optimizer-instances",
      "schedule-needs-pipeline", "schedule-chunks",
      "schedule-stages",    "schedule-microbatches"};
  return rules;
}

PredictedRun predict_run(const RunRequest& r) {
  const bool degrees_open = r.open.tp || r.open.pp || r.open.ep ||
                            (r.open.vpp && r.plan.attention.pp > 1);
  std::optional<Priced> best;
  if (degrees_open) {
    for (const Plan& plan : open_plans(r)) {
      Priced priced = with_best_recompute(r, plan);
      if (!best || better(priced.estimate, best->estimate)) best = std::move(priced);
    }
    if (!best) return {std::nullopt, "no degrees for what is not stated satisfy the rules"};
  } else {
    if (const auto broken = obstacle(r, r.plan)) {
      return {std::nullopt, broken->rule + ": " + broken->message};
    }
    best = with_best_recompute(r, r.plan);
  }
  RunPrediction p{std::move(best->plan), std::move(best->estimate), {}, r.notes};
  for (const Violation& v : violations(context_of(r, p.plan))) {
    p.broken.push_back(v.rule + ": " + v.message);
  }
  return {std::move(p), ""};
}

std::optional<MeasuredStep> measured_step(const MeasuredRun& run, const RunRequest& r) {
  if (run.measured.step_time_s) return MeasuredStep{*run.measured.step_time_s, "step time"};
  const double tokens =
      static_cast<double>(run.seq_len) * static_cast<double>(run.global_batch) / run.gpus;
  const double flops = run.flop_per_token.value_or(
      model_flops_per_token(r.model, run.seq_len, convention_of(run)).base());
  if (run.measured.tflops_per_gpu) {
    return MeasuredStep{flops * tokens / (*run.measured.tflops_per_gpu * 1e12), "TFLOP/s"};
  }
  if (run.measured.mfu) {
    return MeasuredStep{flops * tokens / (*run.measured.mfu * r.cluster->gpu.peak_bf16.base()),
                        "MFU"};
  }
  return std::nullopt;
}

}  // namespace pleat
