// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The pin of `pleat plan` that leaves a field one value: that of a plan.
#pragma once

#include <string>
#include <vector>

#include "core/plan/plan_table.hpp"
#include "tests/planner/laws/typed_plan.hpp"

namespace pleat::test {

// Rows whose pin is another row's, or that only hold together with others.
inline Words pin_of_several(std::string_view path, const Plan& plan) {
  const auto on = [](const char* flag, bool value) { return Words{flag, value ? "on" : "off"}; };
  if (path == "layout" && !plan.layout.empty()) return {"--layout", plan.layout};
  if (path == "recompute" || path == "recompute_full" || path == "recompute_layers") {
    return {"--recompute", typed_recompute(plan)};
  }
  if (path == "recompute_unit" && plan.recompute_full) {
    return {"--recompute", "full", "--recompute-unit", typed(plan.recompute_unit)};
  }
  if (path == "cp_a2a" && plan.cp_a2a > 0) {
    return {"--cp-comm", "a2a+p2p", "--cp-a2a", typed(plan.cp_a2a)};
  }
  if (path == "fsdp_group") return on("--hybrid-sharding", plan.fsdp_group > 0);
  if (path == "optimizer_instances") return on("--hybrid-sharding", plan.optimizer_instances > 1);
  if (path == "optimizer.cpu_offload") return on("--cpu-optimizer", plan.optimizer.cpu_offload > 0);
  if (path == "optimizer.state_offload") {
    return on("--optimizer-offload", plan.optimizer.state_offload > 0);
  }
  if (path == "stages") return on("--by-stage", !plan.stages.empty());
  return {};
}

// Empty where the search has no pin of the field.
inline Words typed_pin(std::size_t row, const Plan& plan) {
  Words words;
  for_each_plan_field([&](auto i) {
    if (i != row) return;
    constexpr const auto& field = kPlanField<i>;
    const auto& value = field.in(plan);
    using Value = std::remove_cvref_t<decltype(value)>;
    words = pin_of_several(field.path, plan);
    if (!words.empty() || field.chosen_by != ChosenBy::search || field.typed.flag.empty()) return;
    const std::string flag = "--" + std::string(field.typed.flag);
    if constexpr (std::is_same_v<Value, bool>) {
      words = {flag, value ? "on" : "off"};
    } else if constexpr (std::is_same_v<Value, int>) {
      const bool none_is_a_value =
          field.path == "offload_layers" || field.path == "expert.redundant";
      if (value > 0 || none_is_a_value) words = {flag, typed(value)};
    } else if constexpr (std::is_enum_v<Value> || std::is_same_v<Value, std::set<Offload>>) {
      words = {flag, typed(value)};
    }
  });
  if (words.empty() || words.front() != "--overlap-cpu-optimizer") return words;
  return {};  // goes with the step on the CPU
}

}  // namespace pleat::test
