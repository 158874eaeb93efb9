// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The space of a search as a tree of nodes, each of which stands for the plans below it.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "planner/bounds/choice_ways.hpp"
#include "planner/problem.hpp"
#include "planner/search_config.hpp"
#include "planner/space/memory_tree.hpp"
#include "planner/space/mesh_space.hpp"
#include "planner/space/run_settings.hpp"
#include "planner/space/shard_sets.hpp"

namespace pleat {

// What a node stands for: all plans of a grid, which are meshes that follow one another and have
// the same degrees, microbatch and order of the pipeline (its chunks differ); all plans of a mesh;
// those that exchange in one way; those of one family of settings; or those of one setting with one
// memory choice and all choices below it (memory_tree.hpp). Below a grid a node stands for meshes
// that differ in the group of microbatches alone, smallest group first (node_bounds.hpp).
enum class Level : std::int8_t { grid, mesh, exchange, family, setting };
struct Node {
  Seconds bound;  // no plan of the node has a shorter step
  std::int32_t mesh = 0;    // the first one
  std::int16_t meshes = 1;  // so many
  std::int16_t setting = -1, memory = -1;  // -1: all; for a family its first setting
  std::int16_t settings = 1;               // for a family: how many of its settings are valid
  std::int16_t exchange = -1;              // index into PlanTree::exchanges; -1: all
  Level level = Level::mesh;
  std::int8_t stage =
      0;  // how many of the ever tighter bounds have been computed
  [[nodiscard]] auto place() const {  // breaks ties
    return std::tuple(mesh, exchange, setting, memory, level);
  }
};
static_assert(sizeof(Node) == 24, "millions of them wait to be opened");
[[nodiscard]] inline Node of_one_mesh(Node node, std::int32_t mesh) {
  node.mesh = mesh;
  node.meshes = 1;
  return node;
}
[[nodiscard]] inline Node with_largest_group(const Node& node) {
  return of_one_mesh(node, node.mesh + node.meshes - 1);
}
inline constexpr std::int8_t kBounded = 3;  // `stage` of a node whose tightest bound is known

struct PlanTree {
  // The references must outlive the tree. ConfigError as non_empty_meshes.
  PlanTree(const Problem&,
           const SearchConfig&);

  [[nodiscard]] std::int64_t plans_of_mesh() const;
  // A node for each grid, without a bound.
  [[nodiscard]] std::vector<Node> grids() const;
  // Whether the mesh has a larger group of microbatches after it, whose bound holds for both
  // (pipeline_bound.hpp).
  [[nodiscard]] bool has_larger_group(std::int32_t mesh) const;
  [[nodiscard]] std::int64_t plans_of(const Node&) const;
  // How many combinations of stages' choices all plans by stage stand for.
  [[nodiscard]] double stage_ways() const;
  // Of the first of its meshes; for a family with its first setting.
  [[nodiscard]] const Mesh& mesh_of(const Node&) const;
  [[nodiscard]] Plan mesh_plan(const Node&) const;
  [[nodiscard]] Plan plan_of(const Node&) const;
  // Apart from the layout, which does not make a plan really different.
  [[nodiscard]] bool same_mesh(const Node&, const Node&) const;
  // The place of the optimizer state that leaves the least on the GPU.
  [[nodiscard]] StatePlace least_place() const { return least_place_; }
  // Whether the node's memory choice means the same as another one on its mesh.
  [[nodiscard]] bool memory_repeats_another(const Node&) const;
  // Whether an earlier setting means the same plans on the mesh.
  [[nodiscard]] bool setting_repeats_another(std::size_t setting, const Mesh& mesh) const {
    return settings[setting].repeats_another(mesh, settings[first_alike_[setting]]);
  }
  // Whether each pipeline stage of the node's plan chooses its own recompute and offload.
  [[nodiscard]] bool by_stage(const Node& node) const {
    return node.memory >= 0 && choices[static_cast<std::size_t>(node.memory)].by_stage;
  }
  // Whether bounds of a mesh look at this one of `least_work`. Where experts are on two ranks and
  // the all-gather is tried (Setting::is_tried_gather) it is mostly the only one: beside its
  // exchange it picks rows and sums them, which is less than to sort them twice. Pleat's kernels
  // sort faster than they pick.
  [[nodiscard]] bool needs_least_work(const Setting&, const Mesh&) const;
  // Puts one of `least_work` into a plan that has its mesh. Without overlap tile by tile where the
  // mesh does not allow it: elsewhere it may take more.
  void put_least_work(const Setting&, Plan&) const;
  // The first rule that the plan breaks; null: none. Rules about the mesh alone are not checked
  // again.
  [[nodiscard]] const char* broken_rule(const Plan&) const;
  // Why plans of a mesh that exchange in one of these ways are not looked at; null: they are.
  [[nodiscard]] const char* left_out(const Plan& mesh_plan, const Node& mesh,
                                     std::size_t exchange) const;
  // A rule that all plans with this one's mesh break which exchange as the setting does; null: none
  // is known.
  [[nodiscard]] const char* void_exchange(const Plan& mesh_plan, const Mesh&, const Setting&) const;
  // One past the index of the last setting of the family that begins at `first`.
  [[nodiscard]] std::size_t end_of_family(std::size_t first) const { return end_of_family_[first]; }
  // The first setting of the setting's family.
  [[nodiscard]] std::int16_t family_of(std::int16_t setting) const {
    return family_of_[static_cast<std::size_t>(setting)];
  }
  // Sharded weights and gradients need a pipeline of one stage.
  [[nodiscard]] const StateChoices& state_choices(const Plan& plan) const {
    return plan.attention.pp > 1 ? state_of_pipelines_ : state_;
  }
  // A lower bound of value (value_of) divided by step, for all plans of the node: 1 unless the
  // search is robust.
  [[nodiscard]] double weight(const Node&) const;

  const Problem& problem;
  const SearchConfig& config;
  MeshSpace space;
  std::vector<Setting> settings;
  std::vector<MemoryChoice> choices;
  MemoryTree memory;  // of `choices`
  ChoiceWays ways;    // of `choices`, each by itself
  ChoiceWays ways_as_needed;
  ChoiceWays ways_of_most;  // of the choices that send all they may; none is by stage
  // The choice that recomputes every layer by itself; 0: there is none.
  std::int16_t least_memory = 0;
  // Every choice keeps at least this part of the activations which that one keeps.
  double least_saved = 1;
  // The choices that recompute nothing, or as `least_memory`, and send nothing: one or two for each
  // place of the optimizer's state.
  std::vector<std::int16_t> ends;
  bool choices_by_stage = false;  // some memory choice is by stage
  std::vector<Setting> least_work;
  // Families that exchange in the same way (Setting::same_exchanges), by their first settings. They
  // differ in sharding and CUDA graphs.
  struct Exchange {
    std::vector<std::int16_t> families;
    std::int64_t settings = 0;
  };
  std::vector<Exchange> exchanges;

 private:
  [[nodiscard]] StateChoices find_state_choices(bool pipeline) const;

  StatePlace least_place_ = StatePlace::device;
  StateChoices state_, state_of_pipelines_;
  std::vector<std::size_t> end_of_family_;  // by setting
  std::vector<std::int16_t> family_of_;     // by setting
  std::vector<std::size_t> first_alike_;    // Setting::first_alike, by setting
  double least_weight_ = 1;              // weight() for all plans
  bool gather_undercuts_ = false;        // the all-gather has less work than other dispatchers
  std::vector<const Constraint*> rules_;  // those that are not about the mesh alone
  std::vector<const Constraint*> exchange_rules_;  // of them those about exchanges alone
};

}  // namespace pleat
