// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The space of a search as a tree: what its nodes stand for, which plans lie below them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "planner/space/memory_tree.hpp"
#include "planner/space/mesh_space.hpp"
#include "planner/space/technique.hpp"

namespace pleat {

inline constexpr std::size_t kGraphModes = 5;  // values of CudaGraph

// What a node stands for: all plans of its mesh, of its graph mode, of its family of settings; or of
// its setting, with its memory choice and all below that.
enum class Level : std::int8_t { mesh, graph, family, setting };
struct Node {
  Seconds bound;  // of the step
  std::int32_t mesh = 0;
  std::int16_t setting = -1, memory = -1;  // -1: all; of a family: its first one
  std::int16_t settings = 1;               // of a family: how many are valid
  std::int8_t graph = -1;
  Level level = Level::mesh;
  std::int8_t stage = 0;  // of all but graph modes: how far its bound has been worked out
  [[nodiscard]] auto place() const {  // breaks ties
    return std::tuple(mesh, graph, setting, memory, level);
  }
};
inline constexpr std::int8_t kBounded = 3;  // stage of a node whose own bound is known

struct PlanTree {
  // The references must outlive the tree. ConfigError as non_empty_meshes.
  PlanTree(const ModelSpec&, const ClusterSpec&, const WorkloadSpec&, const Profile&,
           const SearchConfig&);

  [[nodiscard]] std::int64_t plans_of_mesh() const;
  [[nodiscard]] std::int64_t plans_of(const Node&) const;
  // Ways of stages that all choices by stage stand for, of all valid meshes.
  [[nodiscard]] double stage_ways() const;
  [[nodiscard]] const Mesh& mesh_of(const Node&) const;
  [[nodiscard]] Plan mesh_plan(const Node&) const;
  [[nodiscard]] Plan plan_of(const Node&) const;  // of a family: of its first setting
  // But for the layout, which is no difference of its own.
  [[nodiscard]] bool same_mesh(const Node&, const Node&) const;
  // Of the optimizer's state, the one that leaves least on the GPU.
  [[nodiscard]] StatePlace least_place() const;
  // Whether another memory choice says the same of the node's mesh.
  [[nodiscard]] bool moot_memory(const Node&) const;
  // Whether the node's stages choose for themselves.
  [[nodiscard]] bool by_stage(const Node& node) const {
    return node.memory >= 0 && choices[static_cast<std::size_t>(node.memory)].by_stage;
  }
  // The first rule that the plan breaks; null: none. Those of meshes were checked with the mesh.
  [[nodiscard]] const char* broken_rule(const Plan&) const;
  // Index behind the last setting of the family that begins at `first`.
  [[nodiscard]] std::size_t end_of_family(std::size_t first) const { return end_of_family_[first]; }
  // Of the plan's mesh: sharded weights and gradients need a pipeline of one stage.
  [[nodiscard]] const StateChoices& state_choices(const Plan& plan) const {
    return plan.attention.pp > 1 ? state_of_pipelines_ : state_;
  }
  // Value (value_of) over step, of every plan of the node at least: 1 unless the search is robust.
  [[nodiscard]] double weight(const Node&) const;

  const ModelSpec& model;
  const WorkloadSpec& workload;
  const Profile& profile;
  const SearchConfig& config;
  MeshSpace space;
  std::vector<Setting> settings;
  std::vector<MemoryChoice> choices;
  MemoryTree memory;
  std::int16_t least_memory = 0;  // the choice of all layers one by one; 0: there is none
  double least_saved = 1;  // no choice saves less than so much of what that one does
  bool choices_by_stage = false;  // some memory choice is by stage
  std::vector<Setting> least_work;
  std::array<std::int64_t, kGraphModes> plans_of_graph{};

 private:
  [[nodiscard]] StateChoices find_state_choices(bool pipeline) const;

  StateChoices state_, state_of_pipelines_;
  std::vector<std::size_t> end_of_family_;  // by setting
  double least_weight_ = 1;              // of all plans
  std::vector<const Constraint*> rules_;  // those that settings may break
};

}  // namespace pleat
