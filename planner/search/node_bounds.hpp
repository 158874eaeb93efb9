// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Lower bounds for a node of the search tree: no plan below it is faster or needs less memory. They
// are made of bounds of plans (bounds.hpp). Meshes that differ only in how interleaved orders group
// microbatches are one node. The smallest group needs the least memory. The largest one has the
// smallest time until the passes of a setting are priced in pairs; then the least of all groups is
// taken (by_reference, own).
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "planner/bounds/bounds.hpp"
#include "planner/search/plan_prices.hpp"
#include "planner/space/plan_tree.hpp"

namespace pleat {

inline constexpr Seconds kAnyTime{std::numeric_limits<double>::infinity()};
inline constexpr std::int64_t kNoPeak = std::numeric_limits<std::int64_t>::max();

// The steps of a setting's memory choices, with its own layers. For one thread.
class ChoiceSteps {
 public:
  ChoiceSteps(std::shared_ptr<const std::vector<ChoiceTimes>>, const ChoiceWays&);
  [[nodiscard]] Seconds operator()(int choice);  // at least; zero where nothing is known

 private:
  std::shared_ptr<const std::vector<ChoiceTimes>> times_;  // of each of the node's meshes
  const ChoiceWays& ways_;
  std::vector<ChoiceBytes> bytes_;
};

// Where a function takes a cutoff, the bound holds for plans that take no longer. Functions may be
// called from several threads.
class NodeBounds {
 public:
  // The references must outlive it. `usable`: bytes of a GPU.
  NodeBounds(const PlanTree&, BoundTable&, std::int64_t usable);

  // Of all plans of a grid; of a mesh, by its index: time, and state alone.
  [[nodiscard]] Seconds grid(const Node&);
  [[nodiscard]] PlanBounds mesh(std::int32_t mesh, Seconds cutoff = kAnyTime);
  // Of a mesh, with the step's own operations; with the host's launches and the least exchanges,
  // too.
  [[nodiscard]] Seconds whole_mesh(const Node&, Seconds cutoff);
  [[nodiscard]] Seconds exchanges(const Node& mesh, Seconds cutoff);
  // Bytes of a mesh's plans, whatever they give up. 0: nothing is known.
  [[nodiscard]] std::int64_t least_peak_of_mesh(const Node&);
  [[nodiscard]] Seconds exchange(const Node&, Seconds cutoff);

  // Of a family: with its reference's layers, with those of its settings' references, and with its
  // own. The reference of a plan has ZeRO-1 at most and the CUDA graphs that launch least: the
  // exchanges of more sharding and more launches only add time. Many families have the same one.
  [[nodiscard]] bool is_reference(const Node&) const;
  [[nodiscard]] Seconds family_by_reference(const Node&, Seconds cutoff);
  [[nodiscard]] Seconds members_by_references(const Node&, Seconds cutoff);
  [[nodiscard]] PlanBounds family(const Node&, Seconds cutoff = kAnyTime);
  // The same with the node's memory choice. All settings of a family share it.
  [[nodiscard]] PlanBounds family_with_choice(Node, Seconds cutoff);
  // Lower bounds on the bytes of the family's plans: of state and what the runtime holds; of all.
  // Any value that fits where it does not matter.
  [[nodiscard]] std::int64_t least_state(const Node& family);
  [[nodiscard]] std::int64_t least_of_family(const Node&, Seconds cutoff);
  // The choice that saves nothing does not fit: a bound of those that do; nothing fits: infinite.
  [[nodiscard]] Seconds least_that_fits(const Node& family, Seconds cutoff);
  // The same of a setting, with the times of its own layers.
  [[nodiscard]] Seconds least_own_that_fits(const Node& setting, Seconds cutoff);

  // Of a setting with its memory choice: with its reference's layers, and with its own.
  [[nodiscard]] Seconds by_reference(const Node& node, Seconds cutoff) {
    CompiledLayers compiled;
    return by_reference(node, cutoff, compiled);
  }
  [[nodiscard]] PlanBounds own(const Node&, Seconds cutoff);
  // By memory choice, of the setting. All choices below a setting share them.
  [[nodiscard]] std::shared_ptr<const BoundsByChoice> by_choice(Node, Seconds cutoff);

  // Their times with the setting's own layers, which are tighter.
  [[nodiscard]] ChoiceSteps steps_of_choices(Node, Seconds cutoff);

  template <class Visit>  // the valid settings of a family, without memory choice
  void for_each_setting(const Node& family, const Visit& visit) const {
    Plan plan = tree_.mesh_plan(family);
    const auto first = static_cast<std::size_t>(family.setting);
    for (std::size_t s = first; s < tree_.end_of_family(first); ++s) {
      tree_.settings[s].put_into(plan);
      if (tree_.broken_rule(plan) == nullptr) visit(s);
    }
  }

 private:
  [[nodiscard]] Plan reference_of(Plan) const;
  [[nodiscard]] Seconds by_reference(const Node&, Seconds cutoff, CompiledLayers&);
  [[nodiscard]] std::int64_t least_of_stages(const Node& family);
  template <class Visit>  // plans of the mesh with the least work (PlanTree::least_work)
  void for_each_least_work(const Node&, const Visit&) const;
  template <class BoundOf>  // the least of the plans of the node's meshes
  [[nodiscard]] Seconds least_of_groups(const Node&, const BoundOf&) const;

  const PlanTree& tree_;
  BoundTable& bounds_;
  std::int64_t usable_;
  // Bounds depend on the cutoff. It is part of the keys: what was forgotten and is asked for again
  // is then the same, whatever threads do.
  // BoundTable::family, by meshes, family, memory choice and cutoff.
  Recent<NumberKey<6>, PlanBounds, KeyHash> with_choice_{400'000};  // 50 MB
  // BoundTable::by_choice, by meshes, setting and cutoff.
  Recent<NumberKey<5>, BoundsByChoice, KeyHash> by_choice_{20'000'000};  // bytes
  // BoundTable::times_of_choices, by the same.
  Recent<NumberKey<5>, std::vector<ChoiceTimes>, KeyHash> times_of_choices_{2'000};  // 20 MB
};

}  // namespace pleat
