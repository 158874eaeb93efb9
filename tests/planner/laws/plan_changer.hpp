// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Draws new values for any field of a plan, from the table of its fields alone. It knows nothing of
// what a search tries, so it can judge it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/plan/constraints.hpp"
#include "core/plan/layout.hpp"
#include "core/plan/plan_table.hpp"
#include "core/plan/plan_words.hpp"
#include "planner/problem.hpp"
#include "tests/planner/laws/dice.hpp"

namespace pleat::test {

class PlanChanger {
 public:
  PlanChanger(const Problem& problem, int gpus) : problem_(problem), gpus_(gpus) {
    std::set<int> sizes;
    for (int n = 0; n <= 16; ++n) sizes.insert(n);
    for (int n = 1; n <= 1024; n *= 2) sizes.insert(n);
    for (int n = 4; n <= 48; n += 4) sizes.insert(n);
    const std::int64_t experts = problem.model.moe ? problem.model.moe->experts : 1;
    for (const std::int64_t whole : {std::int64_t{gpus}, problem.workload.global_batch, experts,
                                     problem.model.layers, problem.model.layers + 2}) {
      for (int n = 1; n <= 4096 && n <= whole; ++n) {
        if (whole % n == 0) sizes.insert(n);
      }
    }
    sizes_.assign(sizes.begin(), sizes.end());
  }

  // Rows of plan_table.hpp that do not change numbers and do not follow from other fields.
  [[nodiscard]] static std::vector<std::size_t> rows() {
    std::vector<std::size_t> list;
    for_each_plan_field([&](auto i) {
      const ChosenBy by = kPlanField<i>.chosen_by;
      if (by == ChosenBy::search || by == ChosenBy::fixed) list.push_back(i);
    });
    return list;
  }

  // Another value for the field of that row; false if there is none.
  bool change(std::size_t row, Plan& plan, Dice& dice) const {
    bool changed = false;
    for_each_plan_field([&](auto i) {
      if (i != row) return;
      constexpr const auto& field = kPlanField<i>;
      auto& value = field.in(plan);
      const auto before = value;
      draw(field, value, plan, dice);
      changed = !(value == before);
      if (changed) follow(row, plan, dice);
    });
    return changed;
  }

  // Gives a plan the value that another one has in that row.
  static void copy(std::size_t row, const Plan& from, Plan& to) {
    for_each_plan_field([&](auto i) {
      if (i == row) kPlanField<i>.in(to) = kPlanField<i>.in(from);
    });
  }
  [[nodiscard]] static bool same(std::size_t row, const Plan& a, const Plan& b) {
    bool equal = true;
    for_each_plan_field([&](auto i) {
      if (i == row) equal = kPlanField<i>.in(a) == kPlanField<i>.in(b);
    });
    return equal;
  }
  [[nodiscard]] static std::string name(std::size_t row) {
    std::string path;
    for_each_plan_field([&](auto i) {
      if (i == row) path = kPlanField<i>.path;
    });
    return path;
  }

  [[nodiscard]] static std::string flag(std::size_t row) {
    std::string flag;
    for_each_plan_field([&](auto i) {
      if (i == row) flag = kPlanField<i>.typed.flag;
    });
    return flag;
  }

  // DP and EDP follow from the GPUs and the other degrees.
  void complete(Plan& plan) const {
    const AttentionMapping& a = plan.attention;
    const ExpertMapping& e = plan.expert;
    const auto rest = [&](std::int64_t used) {
      return static_cast<int>(std::max<std::int64_t>(1, gpus_ / std::max<std::int64_t>(1, used)));
    };
    plan.attention.dp = rest(std::int64_t{a.tp} * a.cp * a.pp);
    plan.expert.edp = rest(std::int64_t{e.etp} * e.ep * a.pp);
  }

  [[nodiscard]] bool legal(const Plan& plan) const {
    const PlanContext context{problem_.model, problem_.workload, plan, gpus_};
    return std::ranges::all_of(constraints(),
                               [&](const Constraint& c) { return c.holds(context); });
  }

 private:
  // What has no meaning beside the new value goes with it: else hardly any change would be legal.
  void follow(std::size_t row, Plan& plan, Dice& dice) const {
    if (row == kPlanRow<&Plan::attention, &AttentionMapping::tp>) {
      plan.sequence_parallel = plan.attention.tp > 1;
    }
    if (row == kPlanRow<&Plan::sharding>) {
      plan.fsdp_group = 0;
      plan.optimizer_instances = 1;
    }
    if (row == kPlanRow<&Plan::expert, &ExpertMapping::placement>) plan.expert.redundant = 0;
    if (row == kPlanRow<&Plan::expert, &ExpertMapping::redundant> && plan.expert.redundant > 0) {
      plan.expert.placement = ExpertPlacement::by_load;
    }
    if (row == kPlanRow<&Plan::dispatcher>) plan.dispatcher_sms = 0;
    if (row == kPlanRow<&Plan::cp_comm>) {
      plan.cp_a2a = plan.cp_comm == CpComm::a2a_p2p ? 1 << (1 + dice.below(5)) : 0;
    }
    if (row == kPlanRow<&Plan::recompute_full>) {
      plan.recompute.clear();
      plan.recompute_layers = 0;
      plan.recompute_unit = 1;
    }
    if (row == kPlanRow<&Plan::recompute>) {
      plan.recompute_full = false;
      plan.recompute_layers = 0;
      plan.recompute_unit = 1;
    }
    if (row == kPlanRow<&Plan::attention, &AttentionMapping::pp> || row == kPlanRow<&Plan::vpp>) {
      plan.layout.clear();
      plan.microbatch_group = 0;
    }
    if (row == kPlanRow<&Plan::optimizer, &OptimizerPlan::cpu_offload>) {
      plan.optimizer.cpu_offload_overlapped = plan.optimizer.cpu_offload > 0 && dice.chance(0.5);
    }
    if (row == kPlanRow<&Plan::overlap, &OverlapFlags::expert_parallel>) {
      plan.overlap.delay_wgrad = plan.overlap.expert_parallel && dice.chance(0.5);
    }
    if (row == kPlanRow<&Plan::paged_stash, &PagedStash::buffer>) {
      plan.paged_stash.capacity = plan.paged_stash.buffer > 0 ? 1.5 : 0;
    }
  }

  template <class Field>
  void draw(const Field& field, int& value, const Plan&, Dice& dice) const {
    for (int tries = 0; tries < 8; ++tries) {
      const int size = dice.one_of(sizes_);
      if (size < field.domain.min || size > field.domain.max) continue;
      value = size;
      if (dice.chance(0.8)) return;
    }
  }
  template <class Field>
  void draw(const Field&, bool& value, const Plan&, Dice&) const {
    value = !value;
  }
  template <class Field>
  void draw(const Field& field, double& value, const Plan&, Dice& dice) const {
    const double share = static_cast<double>(dice.below(17)) / 8;
    value = std::clamp(share, field.domain.min, field.domain.max);
  }
  template <class Field, class Enum>
  requires std::is_enum_v<Enum>
  void draw(const Field&, Enum& value, const Plan&, Dice& dice) const {
    value = kAll<Enum>[dice.below(kAll<Enum>.size())];
  }
  template <class Field, class Enum>
  void draw(const Field& field, std::set<Enum>& value, const Plan&, Dice& dice) const {
    if (dice.chance(0.5)) {  // one more or one less
      const auto member = static_cast<Enum>(dice.below(field.domain));
      if (value.erase(member) == 0) value.insert(member);
      return;
    }
    value.clear();
    for (std::size_t i = 0; i < field.domain; ++i) {
      if (dice.chance(0.4)) value.insert(static_cast<Enum>(i));
    }
  }
  template <class Field>
  void draw(const Field&, std::string& layout, const Plan& plan, Dice& dice) const {
    layout.clear();
    if (dice.chance(0.2)) return;
    const ModelSpec& m = problem_.model;
    const std::int64_t stages = std::int64_t{plan.attention.pp} * plan.vpp;
    if (plan.attention.pp < 1 || plan.vpp < 1 || stages > m.layers + 2) return;
    // Random cuts near the even ones.
    std::vector<std::int64_t> layers(static_cast<std::size_t>(stages), m.layers / stages);
    for (std::int64_t i = 0; i < m.layers % stages; ++i) ++layers[dice.below(layers.size())];
    for (std::size_t moves = dice.below(4); moves > 0; --moves) {
      std::int64_t& from = layers[dice.below(layers.size())];
      if (from == 0) continue;
      --from;
      ++layers[dice.below(layers.size())];
    }
    std::vector<VirtualStage> list(layers.size());
    std::int64_t first = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
      list[i].first_layer = first;
      list[i].layers = layers[i];
      first += layers[i];
    }
    list.front().embedding = true;
    list.back().mtp = m.mtp_layers > 0;
    list.back().loss = true;
    layout = to_layout_string(list);
  }
  template <class Field>
  void draw(const Field&, std::vector<StageOverride>& stages, const Plan& plan, Dice& dice) const {
    stages.clear();
    for (int s = 0; s < plan.attention.pp && s < 64; ++s) {
      if (dice.chance(0.5)) continue;
      StageOverride own;
      own.stage = s;
      if (dice.chance(0.3)) {
        own.recompute_full = true;
        own.recompute_layers = static_cast<int>(dice.below(4));
      } else {
        for (const Module m : kRecomputable) {
          if (dice.chance(0.3)) own.recompute.insert(m);
        }
        for (const Offload o : kOffloads) {
          if (dice.chance(0.2)) own.offload.insert(o);
        }
      }
      stages.push_back(std::move(own));
    }
  }
  template <class Field, class Value>
  void draw(const Field&, std::optional<Value>&, const Plan&, Dice&) const {}
  template <class Field>
  void draw(const Field&, DType&, const Plan&, Dice&) const {}

  const Problem& problem_;
  int gpus_;
  std::vector<int> sizes_;
};

}  // namespace pleat::test
