// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rules of the two grids: attention TP*CP*DP*PP and experts ETP*EP*EDP*PP, over the same world.
#include <fmt/format.h>

#include <array>

#include "core/plan/constraint_rules.hpp"

namespace pleat::rules {
namespace {

struct Degree {
  const char* path;
  std::int64_t value;
};

std::array<Degree, 12> degrees(const PlanContext& c) {
  const Plan& p = c.plan;
  return {{{"gpus", c.gpus},
           {"attention.tp", p.attention.tp},
           {"attention.cp", p.attention.cp},
           {"attention.dp", p.attention.dp},
           {"attention.pp", p.attention.pp},
           {"expert.etp", p.expert.etp},
           {"expert.ep", p.expert.ep},
           {"expert.edp", p.expert.edp},
           {"vpp", p.vpp},
           {"micro_batch", p.micro_batch},
           {"workload.seq_len", c.workload.seq_len},
           {"workload.global_batch", c.workload.global_batch}}};
}

Violation explain_positive(const PlanContext& c) {
  for (const Degree& d : degrees(c)) {
    if (d.value < 1) return {"", d.path, fmt::format("must be at least 1, is {}", d.value), ""};
  }
  return {"", "microbatch_group",
          fmt::format("must be at least 0 (0: PP), is {}", c.plan.microbatch_group), ""};
}

std::int64_t model_parallel(const PlanContext& c) {
  const AttentionMapping& a = c.plan.attention;
  return product(product(a.tp, a.cp), a.pp);
}

bool world_holds(const PlanContext& c) {
  return !degrees_positive(c) || product(model_parallel(c), c.plan.attention.dp) == c.gpus;
}

Violation explain_world(const PlanContext& c) {
  const AttentionMapping& a = c.plan.attention;
  const std::int64_t step = model_parallel(c);
  if (c.gpus % step != 0) {
    return {"", "attention", fmt::format("{} is not a multiple of TP*PP*CP = {}", c.gpus, step),
            fmt::format("nearest worlds {}", nearest_multiples(c.gpus, step))};
  }
  return {"", "attention.dp",
          fmt::format("TP*CP*DP*PP = {}*{}*{}*{} = {}, but the world is {}", a.tp, a.cp, a.dp, a.pp,
                      product(step, a.dp), c.gpus),
          fmt::format("DP {} uses all {}", c.gpus / step, c.gpus)};
}

std::int64_t expert_parallel(const PlanContext& c) {
  const ExpertMapping& e = c.plan.expert;
  return product(product(e.etp, e.ep), c.plan.attention.pp);
}

bool expert_grid_holds(const PlanContext& c) {
  return !degrees_positive(c) || !c.model.moe ||
         product(expert_parallel(c), c.plan.expert.edp) == c.gpus;
}

Violation explain_expert_grid(const PlanContext& c) {
  const ExpertMapping& e = c.plan.expert;
  const int pp = c.plan.attention.pp;
  const std::int64_t step = expert_parallel(c);
  const std::string dense = world_holds(c) ? "; the dense grid TP*CP*DP*PP fits" : "";
  if (c.gpus % step != 0) {
    std::string hint = "experts have their own grid, ETP*EP*EDP*PP = world" + dense;
    const std::int64_t rest = c.gpus % product(e.etp, pp) == 0 ? c.gpus / product(e.etp, pp) : 0;
    if (rest > 0) {
      hint += fmt::format("; with ETP {} and PP {}, EP can be {}", e.etp, pp,
                          divisors_up_to(rest, rest));
    }
    return {"", "expert",
            fmt::format("expert grid: {} is not a multiple of ETP*EP*PP = {}*{}*{} = {}", c.gpus,
                        e.etp, e.ep, pp, step),
            hint};
  }
  return {"", "expert.edp",
          fmt::format("expert grid: ETP*EP*EDP*PP = {}*{}*{}*{} = {}, but the world is {}", e.etp,
                      e.ep, e.edp, pp, product(step, e.edp), c.gpus),
          fmt::format("EDP {} uses all {}{}", c.gpus / step, c.gpus, dense)};
}

}  // namespace

bool degrees_positive(const PlanContext& c) {
  // Every rule asks: no list of them here.
  const AttentionMapping& a = c.plan.attention;
  const ExpertMapping& e = c.plan.expert;
  return c.gpus >= 1 && a.tp >= 1 && a.cp >= 1 && a.dp >= 1 && a.pp >= 1 && e.etp >= 1 &&
         e.ep >= 1 && e.edp >= 1 && c.plan.vpp >= 1 && c.plan.micro_batch >= 1 &&
         c.workload.seq_len >= 1 && c.workload.global_batch >= 1 && c.plan.microbatch_group >= 0;
}

void append_grid_rules(std::vector<Constraint>& list) {
  list.push_back({"degrees-positive", degrees_positive, explain_positive});
  list.push_back({"world", world_holds, explain_world});
  list.push_back({"expert-grid", expert_grid_holds, explain_expert_grid});
}

}  // namespace pleat::rules
