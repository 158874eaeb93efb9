// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The raw grid of a small job's plans: all values of all fields, from the table of fields alone. A
// grid of that kind has more plans than can be walked, so as many fields as the limit allows have
// all their values, and the others that of one plan. The rules of plans say what is legal.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/plan/constraints.hpp"
#include "core/plan/layout.hpp"
#include "core/plan/plan_table.hpp"
#include "core/plan/plan_words.hpp"
#include "tests/planner/laws/plan_changer.hpp"
#include "tests/planner/laws/small_job.hpp"

namespace pleat::test {

// All values of a row, each in a plan of its own.
class FieldValues {
 public:
  explicit FieldValues(const SmallJob& job) : job_(job) {}

  [[nodiscard]] std::vector<Plan> of(std::size_t row) const {
    std::vector<Plan> values;
    for_each_plan_field([&](auto i) {
      if (i != row) return;
      constexpr const auto& field = kPlanField<i>;
      for (const auto& value : all(field, field.in(Plan())))
        field.in(values.emplace_back()) = value;
    });
    return values;
  }

 private:
  // No number of a small job is larger than its GPUs, its batch, its layers with embedding and
  // loss.
  template <class Field>
  std::vector<int> all(const Field& field, int) const {
    const std::int64_t most =
        std::max({std::int64_t{job_.gpus}, job_.workload.global_batch, job_.model.layers + 2});
    std::vector<int> list;
    for (std::int64_t n = field.domain.min; n <= std::min(field.domain.max, most); ++n) {
      list.push_back(static_cast<int>(n));
    }
    return list;
  }
  template <class Field>
  std::vector<bool> all(const Field&, bool) const {
    return {false, true};
  }
  template <class Field>
  std::vector<double> all(const Field&, double) const {
    return {0, 0.25, 0.5, 0.75, 1};
  }
  template <class Field, class Enum>
  requires(std::is_enum_v<Enum> && !std::is_same_v<Enum, DType>) std::vector<Enum> all(const Field&,
                                                                                       Enum)
  const { return {kAll<Enum>.begin(), kAll<Enum>.end()}; }
  template <class Field, class Enum>
  std::vector<std::set<Enum>> all(const Field& field, const std::set<Enum>&) const {
    std::vector<std::set<Enum>> list(std::size_t{1} << field.domain);
    for (std::size_t bits = 0; bits < list.size(); ++bits) {
      for (std::size_t i = 0; i < field.domain; ++i) {
        if ((bits >> i) % 2 == 1) list[bits].insert(static_cast<Enum>(i));
      }
    }
    return list;
  }
  // All ways to cut the layers into stages; embedding first, loss last.
  template <class Field>
  std::vector<std::string> all(const Field&, const std::string&) const {
    std::vector<std::string> list{""};
    for (std::int64_t stages = 2; stages <= std::min<std::int64_t>(job_.model.layers + 2, 6);
         ++stages) {
      std::vector<VirtualStage> cut(static_cast<std::size_t>(stages));
      cut.front().embedding = cut.back().loss = true;
      add_cuts(cut, 0, job_.model.layers, list);
    }
    return list;
  }
  void add_cuts(std::vector<VirtualStage>& cut, std::size_t stage, std::int64_t left,
                std::vector<std::string>& list) const {
    cut[stage].first_layer = job_.model.layers - left;
    if (stage + 1 == cut.size()) {
      cut[stage].layers = left;
      list.push_back(to_layout_string(cut));
      return;
    }
    for (std::int64_t here = 0; here <= left; ++here) {
      cut[stage].layers = here;
      add_cuts(cut, stage + 1, left - here, list);
    }
  }
  template <class Field>  // what single stages do: nothing else than the others
  std::vector<std::vector<StageOverride>> all(const Field&,
                                              const std::vector<StageOverride>& none) const {
    return {none};
  }
  template <class Field>  // number formats are no choice
  std::vector<DType> all(const Field&, DType usual) const {
    return {usual};
  }
  template <class Field>
  std::vector<std::optional<DType>> all(const Field&, const std::optional<DType>& usual) const {
    return {usual};
  }

  const SmallJob& job_;
};

class WholeGrid {
 public:
  // Through `start`, with about as many combinations as `most`, legal or not.
  WholeGrid(const SmallJob& job, const Plan& start, double most, Dice& dice)
      : job_(job), changer_(job, job.gpus), start_(start) {
    for (const std::size_t row : PlanChanger::rows()) axes_.push_back({row, {start}});
    double combinations = 1;
    for (const std::vector<std::string_view>& together : shuffled(kTogether, dice)) {
      // Nothing to place by: no plan with another value is legal.
      if (together.front() == "expert.placement" && job.workload.expert_loads.empty()) continue;
      for (Axis& axis : axes_) {
        const std::string name = PlanChanger::name(axis.row);
        if (std::ranges::find(together, name) == together.end()) continue;
        for (Plan& value : shuffled(FieldValues(job).of(axis.row), dice)) {
          if (PlanChanger::same(axis.row, value, start)) continue;
          const auto count = static_cast<double>(axis.values.size());
          if (combinations * (count + 1) / count > most) break;
          combinations *= (count + 1) / count;
          axis.values.push_back(std::move(value));
        }
        if (axis.values.size() > 1) fields_ += (fields_.empty() ? "" : ", ") + name;
      }
    }
  }

  [[nodiscard]] const std::string& fields() const { return fields_; }

  // Calls visit(plan) for each legal plan.
  template <class Visit>
  void walk(const Visit& visit) {
    Plan plan = start_;
    descend(0, plan, visit);
  }

 private:
  struct Axis {
    std::size_t row = 0;
    std::vector<Plan> values;
  };

  // Fields that mean little without each other.
  static inline const std::vector<std::vector<std::string_view>> kTogether{
      {"sequence_parallel", "attention.tp", "attention.cp", "attention.pp"},
      {"expert.etp", "expert.ep", "dispatcher"},
      {"expert.placement", "expert.redundant"},
      {"vpp", "schedule", "microbatch_group"},
      {"layout"},
      {"micro_batch"},
      {"sharding", "fsdp_group", "optimizer_instances"},
      {"cuda_graph"},
      {"cp_comm", "cp_a2a"},
      {"recompute"},
      {"recompute_full", "recompute_layers", "recompute_unit"},
      {"offload"},
      {"offload_layers"},
      {"stages"},
      {"overlap.tensor_parallel"},
      {"overlap.expert_parallel", "overlap.delay_wgrad", "overlap.shared_expert"},
      {"overlap.grad_reduce", "overlap.param_gather"},
      {"optimizer.cpu_offload", "optimizer.cpu_offload_overlapped"}};

  template <class T>
  static std::vector<T> shuffled(std::vector<T> list, Dice& dice) {
    for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[dice.below(i)]);
    return list;
  }

  static constexpr std::size_t kLastDegree = kPlanRow<&Plan::expert, &ExpertMapping::ep>;
  static constexpr std::size_t kLastOfMesh = kPlanRow<&Plan::micro_batch>;

  template <class Visit>
  void descend(std::size_t depth, Plan& plan, const Visit& visit) {
    if (depth == axes_.size()) {
      if (changer_.legal(plan)) visit(plan);
      return;
    }
    const Axis& axis = axes_[depth];
    for (const Plan& value : axis.values) {
      PlanChanger::copy(axis.row, value, plan);
      if (axis.row <= kLastDegree) changer_.complete(plan);
      if (axis.row == kLastDegree && !degrees_hold(plan)) continue;
      if (axis.row == kLastOfMesh && !mesh_holds(plan)) continue;
      descend(depth + 1, plan, visit);
    }
  }

  // Rules that look at no field that is still to come.
  [[nodiscard]] bool degrees_hold(const Plan& plan) const {
    return std::ranges::all_of(constraints(), [&](const Constraint& rule) {
      const std::string_view name = rule.name;
      return (name != "world" && name != "expert-grid") ||
             rule.holds({job_.model, job_.workload, plan, job_.gpus});
    });
  }
  // Sequence parallelism is one of them: what holds with it or without it goes on.
  [[nodiscard]] bool mesh_holds(const Plan& plan) const {
    Plan other = plan;
    other.sequence_parallel = !plan.sequence_parallel;
    return std::ranges::all_of(constraints(), [&](const Constraint& rule) {
      return !rule.of_mesh || rule.holds({job_.model, job_.workload, plan, job_.gpus}) ||
             rule.holds({job_.model, job_.workload, other, job_.gpus});
    });
  }

  const SmallJob& job_;
  PlanChanger changer_;
  Plan start_;
  std::vector<Axis> axes_;
  std::string fields_;
};

}  // namespace pleat::test
