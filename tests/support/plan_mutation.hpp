// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Plans with one field changed, whichever fields a plan has: by the table of them.
#pragma once

#include <random>

#include "core/plan/plan_table.hpp"
#include "core/plan/plan_words.hpp"

namespace pleat::test {

class PlanMutation {
 public:
  explicit PlanMutation(std::mt19937& random) : random_(random) {}

  // Gives the field of row I another value; ints one of the lowest eight.
  template <std::size_t I>
  void change(Plan& plan) {
    constexpr const auto& field = kPlanField<I>;
    auto& value = field.in(plan);
    const auto before = value;
    while (value == before) draw(value, field.domain);
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>,
                                 std::vector<StageOverride>>) {
      const auto some = some_stages(plan);
      if (some != before) value = some;
    }
  }

  // The same of the row with this number.
  void change(Plan& plan, std::size_t row) {
    for_each_plan_field([&](auto i) {
      if (i == row) change<i>(plan);
    });
  }

 private:
  int pick(std::size_t count) { return static_cast<int>(random_() % count); }

  void draw(int& value, IntRange range) { value = static_cast<int>(range.min) + pick(8); }
  void draw(double& value, DoubleRange range) {
    value = range.min + 0.1 * pick(range.max > 1 ? 20 : 11);
  }
  void draw(bool& value, AnyValue) { value = !value; }
  void draw(std::string& value, AnyValue) { value = value.empty() ? "Et|tL" : ""; }
  void draw(DType& value, const DTypes& types) {
    value = types.types[static_cast<std::size_t>(pick(types.count))];
  }
  void draw(std::optional<DType>& value, const DTypes& types) {
    const auto i = static_cast<std::size_t>(pick(types.count + 1));
    value = i < types.count ? std::optional(types.types[i]) : std::nullopt;
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void draw(Enum& value, AnyValue) { value = static_cast<Enum>(pick(kChoices<Enum>)); }
  template <class Enum>
  void draw(std::set<Enum>& values, std::size_t count) {
    values.clear();
    for (int more = pick(3); more >= 0; --more) values.insert(static_cast<Enum>(pick(count)));
  }
  void draw(std::vector<StageOverride>& stages, AnyValue) {
    stages.assign(stages.empty() ? 1 : 0, {.stage = 0, .recompute = {}, .offload = {}});
  }

  // Some stages with their own recompute, whole layers or one module.
  std::vector<StageOverride> some_stages(const Plan& plan) {
    std::vector<StageOverride> stages;
    for (int s = 0; s < plan.attention.pp; ++s) {
      if (pick(2) == 0) continue;
      StageOverride one{.stage = s, .recompute = {}, .recompute_full = pick(2) == 0, .offload = {}};
      if (!one.recompute_full) one.recompute = {static_cast<Module>(pick(kRecomputable.size()))};
      else one.recompute_layers = pick(3);
      stages.push_back(one);
    }
    return stages;
  }

  std::mt19937& random_;
};

}  // namespace pleat::test
