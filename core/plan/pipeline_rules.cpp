// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rules of the pipeline: layers over virtual stages, microbatches over data-parallel ranks, and the
// groups of the interleaved order (Megatron raises on the same ones, schedules.py).
#include <fmt/format.h>

#include <algorithm>

#include "core/plan/constraint_rules.hpp"
#include "core/plan/layout.hpp"
#include "core/plan/layout_text.hpp"

namespace pleat::rules {
namespace {

std::int64_t virtual_stages(const PlanContext& c) {
  return product(c.plan.attention.pp, c.plan.vpp);
}

// Even, or even when embedding and loss count as a layer each.
bool layers_hold(const PlanContext& c) {
  if (!degrees_positive(c) || !c.plan.layout.empty()) return true;
  const std::int64_t stages = virtual_stages(c);
  if (c.model.layers % stages == 0) return true;
  return (c.model.layers + 2) % stages == 0;
}

Violation explain_layers(const PlanContext& c) {
  const std::string offer = balanced_layout(c);
  return {"", "layout",
          fmt::format("{} layers cannot be split evenly over PP*VPP = {}*{} = {} stages",
                      c.model.layers, c.plan.attention.pp, c.plan.vpp, virtual_stages(c)),
          offer.empty() ? "" : "balanced layout: " + offer};
}

bool layout_holds(const PlanContext& c) {
  if (!degrees_positive(c) || c.plan.layout.empty()) return true;
  if (check_layout_syntax(c.plan.layout).problem != nullptr) return false;
  return layout_faults(read_layout_facts(c.plan.layout), {.layers = c.model.layers,
                                                          .mtp = c.model.mtp_layers > 0,
                                                          .pp = c.plan.attention.pp,
                                                          .vpp = c.plan.vpp}) == 0;
}

Violation explain_layout(const PlanContext& c) {
  const std::string offer = balanced_layout(c);
  Violation v{"", "layout", "", offer.empty() ? "" : "balanced layout: " + offer};
  try {
    static_cast<void>(parse_layout(c.plan.layout, c.model.layers, c.model.mtp_layers > 0,
                                   c.plan.attention.pp, c.plan.vpp));
  } catch (const ConfigError& e) {
    v.code = e.exit_code();
    for (const Diagnostic& d : e.diagnostics())
      v.message += (v.message.empty() ? "" : "; ") + d.message;
  }
  return v;
}

std::int64_t batch_step(const PlanContext& c) {
  return product(c.plan.attention.dp, c.plan.micro_batch);
}

bool batch_holds(const PlanContext& c) {
  return !degrees_positive(c) || c.workload.global_batch % batch_step(c) == 0;
}

Violation explain_batch(const PlanContext& c) {
  const std::int64_t batch = c.workload.global_batch;
  return {"", "workload.global_batch",
          fmt::format("{} is not a multiple of {} (DP {} * micro batch {})", batch, batch_step(c),
                      c.plan.attention.dp, c.plan.micro_batch),
          "nearest " + nearest_multiples(batch, batch_step(c))};
}

// A step's timeline has an entry for each microbatch and chunk. Published runs have some ten
// thousand; beyond this one prediction would take seconds and gigabytes.
constexpr std::int64_t kMostPasses = std::int64_t{1} << 24;

std::int64_t microbatches(const PlanContext& c) { return c.workload.global_batch / batch_step(c); }

std::int64_t passes(const PlanContext& c) { return product(microbatches(c), virtual_stages(c)); }

bool length_holds(const PlanContext& c) {
  return !degrees_positive(c) || passes(c) <= kMostPasses;
}

Violation explain_length(const PlanContext& c) {
  return {"", "workload.global_batch",
          fmt::format("{} microbatches through {} stages: a step has at most {} passes",
                      microbatches(c), virtual_stages(c), kMostPasses),
          "a smaller global batch, or a larger micro batch or DP"};
}

// More chunks than layers only wait. Layouts may leave some without a layer, never thousands.
std::int64_t most_stages(const PlanContext& c) {
  return std::max<std::int64_t>(1024, c.model.layers + 2);
}

bool depth_holds(const PlanContext& c) {
  return !degrees_positive(c) || virtual_stages(c) <= most_stages(c);
}

Violation explain_depth(const PlanContext& c) {
  return {"", "vpp",
          fmt::format("PP*VPP = {}*{} = {} stages for {} layers", c.plan.attention.pp, c.plan.vpp,
                      virtual_stages(c), c.model.layers),
          fmt::format("at most {} stages", most_stages(c))};
}

bool interleaving_holds(const PlanContext& c) {
  return !degrees_positive(c) || c.plan.vpp == 1 || c.plan.attention.pp > 1;
}

Violation explain_interleaving(const PlanContext& c) {
  return {"", "vpp", fmt::format("VPP {} needs a pipeline, but PP is 1", c.plan.vpp),
          "VPP 1, or PP of at least 2"};
}

bool is_interleaved(const PlanContext& c) {
  return degrees_positive(c) && c.plan.vpp > 1 && c.plan.attention.pp > 1 &&
         c.plan.schedule == PipelineSchedule::one_f_one_b && batch_holds(c);
}

bool fill_holds(const PlanContext& c) {
  return !is_interleaved(c) || microbatches(c) >= c.plan.attention.pp;
}

Violation explain_fill(const PlanContext& c) {
  const std::int64_t m = microbatches(c);
  return {"", "vpp",
          fmt::format("interleaving needs at least PP = {} microbatches, there are {}",
                      c.plan.attention.pp, m),
          fmt::format("VPP 1, PP of at most {}, or a global batch of at least {}", m,
                      product(c.plan.attention.pp, batch_step(c)))};
}

bool group_fits(std::int64_t n, std::int64_t p, std::int64_t m) {
  return n >= p && n <= m && (m % n == 0 || m % n >= p);
}

bool group_holds(const PlanContext& c) {
  if (!is_interleaved(c) || !fill_holds(c)) return true;
  const int p = c.plan.attention.pp;
  const int n = c.plan.microbatch_group > 0 ? c.plan.microbatch_group : p;
  return group_fits(n, p, microbatches(c));
}

Violation explain_group(const PlanContext& c) {
  const std::int64_t p = c.plan.attention.pp, m = microbatches(c);
  const std::int64_t n = c.plan.microbatch_group > 0 ? c.plan.microbatch_group : p;
  std::string allowed;
  for (std::int64_t i = p, listed = 0; i <= m && listed < 8; ++i) {
    if (!group_fits(i, p, m)) continue;
    allowed += fmt::format(" {}", i);
    ++listed;
  }
  std::string message =
      n < p || n > m
          ? fmt::format(
                "groups of {} microbatches: must be between PP = {} and the {} microbatches", n, p,
                m)
          : fmt::format("groups of {} leave {} of {} microbatches over, fewer than PP = {}", n,
                        m % n, m, p);
  return {"", "microbatch_group", std::move(message), "allowed, smallest first:" + allowed};
}

}  // namespace

void append_pipeline_rules(std::vector<Constraint>& list) {
  list.push_back({"layers-per-stage", layers_hold, explain_layers});
  list.push_back({"layout", layout_holds, explain_layout});
  list.push_back({"batch-divisible", batch_holds, explain_batch});
  list.push_back({"pipeline-depth", depth_holds, explain_depth});
  list.push_back({"passes-of-a-step", length_holds, explain_length});
  list.push_back({"interleaving-needs-pipeline", interleaving_holds, explain_interleaving});
  list.push_back({"interleaving-microbatches", fill_holds, explain_fill});
  list.push_back({"microbatch-group", group_holds, explain_group});
}

}  // namespace pleat::rules
