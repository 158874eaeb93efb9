// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A plan as it is typed: the words after `pleat predict` that give its price, so that what a test
// reports can be tried by hand.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "core/plan/plan_table.hpp"
#include "core/plan/plan_words.hpp"
#include "tests/planner/laws/asked_search.hpp"

namespace pleat::test {

inline std::string typed(int value) { return std::to_string(value); }
inline std::string typed(double value) { return fmt::format("{}", value); }
inline std::string typed(const std::string& value) { return value; }
inline std::string typed(DType value) { return std::string(name_of(value)); }
inline std::string typed(const std::optional<DType>& value) { return value ? typed(*value) : ""; }
template <class Enum>
requires std::is_enum_v<Enum> std::string typed(Enum value) { return std::string(word_of(value)); }
template <class Enum>
std::string typed(const std::set<Enum>& values) {
  std::vector<std::string_view> words;
  for (const Enum value : values) words.push_back(word_of(value));
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, "+"));
}

template <class P>  // a plan, or what one of its stages does instead
std::string typed_recompute(const P& p) {
  if (!p.recompute_full) return typed(p.recompute);
  return p.recompute_layers == 0 ? "full" : fmt::format("full:{}", p.recompute_layers);
}

inline void type_stages(const Plan& plan, Words& words) {
  std::vector<std::string> recompute, offload;
  for (const StageOverride& s : plan.stages) {
    recompute.push_back(fmt::format("{}={}", s.stage, typed_recompute(s)));
    offload.push_back(fmt::format("{}={}", s.stage, typed(s.offload)));
  }
  if (plan.stages.empty()) return;
  words.insert(words.end(), {"--recompute-stages", fmt::format("{}", fmt::join(recompute, "/")),
                             "--offload-stages", fmt::format("{}", fmt::join(offload, "/"))});
}

// Units of layers that single stages recompute cannot be typed.
inline bool can_be_typed(const Plan& plan) {
  return std::ranges::all_of(plan.stages,
                             [](const StageOverride& s) { return s.recompute_unit == 1; });
}

inline Words typed(const PlanDocument& document, const Plan& plan) {
  Words words{"--model",        document.model_name,
              "--cluster",      document.cluster,
              "--gpus",         typed(document.gpus),
              "--seq-len",      std::to_string(document.workload.seq_len),
              "--global-batch", std::to_string(document.workload.global_batch),
              "--runtime",      document.runtime == Runtime::pleat ? "pleat" : "megatron"};
  for_each_plan_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    const auto& value = field.in(plan);
    using Value = std::remove_cvref_t<decltype(value)>;
    const bool usual = value == field.in(Plan());
    if (field.typed.flag.empty() || (usual && field.path != "precision")) return;
    if constexpr (std::is_same_v<Value, bool>) {
      if (field.path == "sequence_parallel" && plan.attention.tp == 1) return;
      words.push_back("--" + field.typed_name());
    } else if constexpr (!std::is_same_v<Value, std::set<Module>> &&
                         !std::is_same_v<Value, std::vector<StageOverride>>) {
      words.insert(words.end(), {"--" + field.typed_name(), typed(value)});
    }
  });
  if (plan.recompute_full || !plan.recompute.empty()) {
    words.insert(words.end(), {"--recompute", typed_recompute(plan)});
  }
  type_stages(plan, words);
  return words;
}

}  // namespace pleat::test
