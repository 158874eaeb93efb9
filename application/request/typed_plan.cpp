// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/request/typed_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <type_traits>

#include "core/plan/plan_table.hpp"
#include "core/plan/plan_words.hpp"

namespace pleat {
namespace {

std::string typed(int value) { return std::to_string(value); }
std::string typed(double value) { return fmt::format("{}", value); }
std::string typed(const std::string& value) { return value; }
std::string typed(DType value) { return std::string(name_of(value)); }
std::string typed(const std::optional<DType>& value) { return value ? typed(*value) : ""; }
template <class Enum>
requires std::is_enum_v<Enum> std::string typed(Enum value) { return std::string(word_of(value)); }
template <class Enum>
std::string typed(const std::set<Enum>& values, const char* between) {
  std::vector<std::string_view> words;
  for (const Enum value : values) words.push_back(word_of(value));
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, between));
}

template <class P>  // a plan, or what one of its stages does instead
std::string typed_recompute(const P& p, const char* between) {
  if (!p.recompute_full) return typed(p.recompute, between);
  return p.recompute_layers == 0 ? "full" : fmt::format("full:{}", p.recompute_layers);
}

void type_stages(const Plan& plan, std::vector<std::string>& words) {
  std::vector<std::string> recompute, offload;
  for (const StageOverride& s : plan.stages) {
    recompute.push_back(fmt::format("{}={}", s.stage, typed_recompute(s, "+")));
    offload.push_back(fmt::format("{}={}", s.stage, typed(s.offload, "+")));
  }
  if (plan.stages.empty()) return;
  words.insert(words.end(), {"--recompute-stages", fmt::format("{}", fmt::join(recompute, "/")),
                             "--offload-stages", fmt::format("{}", fmt::join(offload, "/"))});
}

}  // namespace

std::vector<std::string> typed_shape(const Plan& plan) {
  std::vector<std::string> words;
  for_each_plan_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    const auto& value = field.in(plan);
    using Value = std::remove_cvref_t<decltype(value)>;
    const bool usual = value == field.in(Plan());
    if (field.typed.flag.empty() || (usual && field.path != "precision")) return;
    const std::string flag = "--" + field.typed_name();
    if constexpr (std::is_same_v<Value, bool>) {
      if (field.path == "sequence_parallel" && plan.attention.tp == 1) return;
      words.push_back(flag);
    } else if constexpr (std::is_same_v<Value, std::set<Offload>>) {
      words.insert(words.end(), {flag, typed(value, ",")});
    } else if constexpr (!std::is_same_v<Value, std::set<Module>> &&
                         !std::is_same_v<Value, std::vector<StageOverride>>) {
      words.insert(words.end(), {flag, typed(value)});
    }
  });
  if (plan.recompute_full || !plan.recompute.empty()) {
    words.insert(words.end(), {"--recompute", typed_recompute(plan, ",")});
  }
  type_stages(plan, words);
  return words;
}

bool can_be_typed(const Plan& plan) {
  return std::ranges::all_of(plan.stages,
                             [](const StageOverride& s) { return s.recompute_unit == 1; });
}

}  // namespace pleat
