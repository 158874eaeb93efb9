// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Plan files all the way to a prediction: an accepted, valid plan has a finite step whose parts add
// up.
#include <cmath>

#include "core/plan/constraints.hpp"
#include "core/plan/plan_document.hpp"
#include "core/program/program.hpp"
#include "core/spec/catalog.hpp"
#include "simulator/estimate.hpp"
#include "simulator/memory_timeline.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace pleat::fuzz {
namespace {

// Larger ones are right to take long.
bool is_small(const PlanDocument& d) {
  const Plan& p = d.plan;
  return d.model.layers <= 128 && d.gpus <= 4096 && d.workload.global_batch <= 65536 &&
         p.attention.pp * p.vpp <= 64 && d.workload.global_batch / p.attention.dp <= 512;
}

}  // namespace

const Form kForm = Form::json;

void run(std::string_view input) {
  static const ClusterSpec cluster = load_cluster("h100-sxm");
  static const Profile profile =
      datasheet_profile(cluster.name, cluster.tiers.size(), Runtime::megatron);
  const PlanDocument d = read_plan_document(std::string(input), "plan.json");
  require_valid({d.model, d.workload, d.plan, d.gpus}, "plan.json");
  if (!is_small(d)) return;
  const Program program = compile(d.model, d.workload, d.plan, d.runtime);
  const StepEstimate e = estimate(program, cluster, profile);
  require(std::isfinite(e.step.base()) && e.step.base() > 0, "a step without an end");
  require(e.mfu > 0 && e.mfu <= 1, "a share of the peak outside 0 to 1");
  for (const StageTime& s : e.stages) {
    require(s.bubble.base() >= -1e-9 * e.step.base(), "a bubble below zero");
    require(std::abs((s.busy + s.bubble - e.step).base()) <= 1e-6 * e.step.base(),
            "parts that do not add up");
  }
  for (const StageMemory& m : e.memory)
    require(m.peak >= 0 && m.peak >= m.weights, "memory below zero");
  (void)memory_timeline_json(memory_timeline(program, cluster, profile), program);
}

}  // namespace pleat::fuzz
