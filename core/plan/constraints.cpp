// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The list of rules, and the helpers that the rules' messages share.
#include "core/plan/constraints.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

#include "core/plan/constraint_rules.hpp"
#include "core/plan/layout.hpp"

namespace pleat {

const std::vector<Constraint>& constraints() {
  static const std::vector<Constraint> list = [] {
    std::vector<Constraint> all;
    rules::append_grid_rules(all);
    rules::append_model_rules(all);
    rules::append_pipeline_rules(all);
    rules::append_schedule_rules(all);
    for (Constraint& rule : all) {
      rule.of_mesh = std::string_view(rule.name) != "schedule-ep-overlap";
    }
    rules::append_feature_rules(all);
    rules::append_offload_rules(all);
    rules::append_stage_rules(all);
    rules::append_memory_rules(all);
    rules::append_exchange_rules(all);
    rules::append_data_rules(all);
    rules::append_placement_rules(all);
    return all;
  }();
  return list;
}

std::vector<Violation> violations(const PlanContext& context) {
  std::vector<Violation> found;
  for (const Constraint& rule : constraints()) {
    if (rule.holds(context)) continue;
    found.push_back(rule.explain(context));
    found.back().rule = rule.name;
  }
  return found;
}

void require_valid(const PlanContext& context, const std::string& where) {
  Diagnostics problems;
  for (Violation& v : violations(context)) {
    problems.error(v.code, where, std::move(v.path), std::move(v.message), std::move(v.hint));
  }
  problems.throw_if_errors();
}

namespace rules {

std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) return std::numeric_limits<std::int64_t>::max();
  return result;
}

std::string divisors_up_to(std::int64_t value, std::int64_t limit) {
  constexpr std::int64_t kSearchLimit = 100'000;
  std::string list;
  for (std::int64_t d = 1; d <= std::min({value, limit, kSearchLimit}); ++d) {
    if (value % d == 0) list += (list.empty() ? "" : " ") + std::to_string(d);
  }
  return list;
}

std::string nearest_multiples(std::int64_t value, std::int64_t step) {
  const std::int64_t below = value / step * step;
  if (below == 0) return std::to_string(step);
  if (below > std::numeric_limits<std::int64_t>::max() - step) return std::to_string(below);
  return std::to_string(below) + ", " + std::to_string(below + step);
}

std::string balanced_layout(const PlanContext& c) {
  constexpr std::int64_t kMostStages = 4096;
  const int pp = c.plan.attention.pp;
  if (c.model.layers < 1 || product(pp, c.plan.vpp) > kMostStages) return {};
  return to_layout_string(even_layout(c.model.layers, c.model.mtp_layers > 0, pp, c.plan.vpp));
}

}  // namespace rules
}  // namespace pleat
