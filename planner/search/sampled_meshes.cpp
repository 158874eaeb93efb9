// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/search/sampled_meshes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>

namespace pleat {
namespace {

constexpr std::size_t kSample = 12'288;   // meshes
constexpr std::size_t kWithSetting = 768;  // of them, each with settings
constexpr std::size_t kFitting = 256;      // of these, bounded by the choices that fit
constexpr int kOfDegrees = 8;              // of all with the same degrees
constexpr int kWays = 3;                   // to shard, of each mesh
constexpr int kNearFields = 2;             // in which meshes near to one another differ

// In how many fields two meshes differ; more than any mesh where their order differs.
int differences(const Mesh& a, const Mesh& b) {
  if (a.schedule != b.schedule) return 8;
  const auto fields = [](const Mesh& m) {
    return std::array{m.attention.tp, m.attention.cp, m.attention.pp, m.expert.etp,
                      m.expert.ep,    m.vpp,          m.micro_batch};
  };
  const auto of_a = fields(a), of_b = fields(b);
  return static_cast<int>(of_a.size()) -
         std::inner_product(of_a.begin(), of_a.end(), of_b.begin(), 0, std::plus{},
                            std::equal_to{});
}

}  // namespace

void sort_by_time(std::vector<BoundedNode>& list) {
  std::ranges::sort(list, [](const BoundedNode& a, const BoundedNode& b) {
    return a.bounds.step != b.bounds.step ? a.bounds.step < b.bounds.step
                                          : a.node.place() < b.node.place();
  });
}

std::vector<BoundedNode> some_of_each(const PlanTree& tree, const std::vector<BoundedNode>& sorted,
                                      int of_mesh, int of_degrees) {
  std::map<std::int32_t, int> meshes;
  std::map<std::array<int, 7>, int> degrees;
  std::vector<BoundedNode> list;
  for (const BoundedNode& b : sorted) {
    const auto& [a, e] = std::tie(tree.mesh_of(b.node).attention, tree.mesh_of(b.node).expert);
    int& same = degrees[{a.tp, a.cp, a.dp, a.pp, e.etp, e.ep, e.edp}];
    int& own = meshes[b.node.mesh];
    if (same == of_degrees || own == of_mesh) continue;
    ++same, ++own;
    list.push_back(b);
  }
  return list;
}

Node setting_node(std::int32_t mesh, std::int16_t setting, std::int16_t memory) {
  Node node{.bound = {}, .mesh = mesh, .setting = setting, .memory = memory};
  node.level = Level::setting;
  node.stage = kBounded;
  return node;
}

bool useful_setting(const PlanTree& tree, std::int16_t setting, const Mesh& mesh) {
  const auto s = static_cast<std::size_t>(setting);
  return !tree.setting_repeats_another(s, mesh) && tree.settings[s].void_on(mesh) == nullptr;
}

bool valid_plan(const PlanTree& tree, const Node& node) {
  return !tree.by_stage(node) && !tree.memory_repeats_another(node) &&
         tree.broken_rule(tree.plan_of(node)) == nullptr;
}

std::int16_t usual_setting(const PlanTree& tree, std::int32_t mesh) {
  std::int16_t first = -1;
  for (std::size_t i = 0; i < tree.settings.size(); ++i) {
    const auto s = static_cast<std::int16_t>(i);
    if (!useful_setting(tree, s, tree.space.meshes[static_cast<std::size_t>(mesh)])) continue;
    if (tree.broken_rule(tree.plan_of(setting_node(mesh, s, 0))) != nullptr) continue;
    if (tree.settings[i].sharding >= Sharding::zero1) return s;
    if (first < 0) first = s;
  }
  return first;
}

SampledMeshes::SampledMeshes(const PlanTree& tree, NodeOpener& opener, Workers& workers,
                             std::int64_t usable)
    : tree_(tree), bounds_(opener.bounds()), workers_(workers), usable_(usable) {}

std::vector<std::int32_t> SampledMeshes::all() const {
  std::vector<std::int32_t> meshes(tree_.space.meshes.size());
  std::iota(meshes.begin(), meshes.end(), 0);
  return meshes;
}

std::vector<std::int32_t> SampledMeshes::near(const std::vector<Node>& nodes) const {
  std::vector<std::int32_t> meshes = all();
  std::erase_if(meshes, [&](std::int32_t mesh) {
    return std::ranges::none_of(nodes, [&](const Node& node) {
      return differences(tree_.space.meshes[static_cast<std::size_t>(mesh)],
                         tree_.mesh_of(node)) <= kNearFields;
    });
  });
  return meshes;
}

std::int16_t SampledMeshes::setting_of(std::int32_t mesh,
                                       const std::vector<std::int16_t>& settings) const {
  for (const std::int16_t s : settings) {
    const bool useful =
        useful_setting(tree_, s, tree_.space.meshes[static_cast<std::size_t>(mesh)]);
    if (useful && valid_plan(tree_, setting_node(mesh, s, 0))) return s;
  }
  return usual_setting(tree_, mesh);
}

std::vector<Node> SampledMeshes::fastest(const std::vector<std::int32_t>& meshes,
                                         const std::vector<std::int16_t>& settings) const {
  const std::size_t count = std::min(kSample, meshes.size());
  std::vector<BoundedNode> sample(count);
  workers_.for_each(count, [&](std::size_t i) {
    const std::int32_t mesh = meshes[i * meshes.size() / count];
    sample[i] = {setting_node(mesh, -1, 0), bounds_.mesh(mesh)};
  });
  std::erase_if(sample, [&](const BoundedNode& b) { return b.bounds.peak_bytes > usable_; });
  sort_by_time(sample);
  if (sample.size() > kWithSetting) sample.resize(kWithSetting);
  std::vector<Node> nodes(sample.size());
  workers_.for_each(sample.size(), [&](std::size_t i) {
    const std::int32_t mesh = sample[i].node.mesh;
    nodes[i] = setting_node(mesh, setting_of(mesh, settings), 0);
  });
  std::erase_if(nodes, [](const Node& n) { return n.setting < 0; });
  return nodes;
}

std::vector<BoundedNode> SampledMeshes::with_usual_settings(
    const std::vector<std::int32_t>& meshes, const std::vector<std::int16_t>& settings) const {
  const std::vector<Node> nodes = fastest(meshes, settings);
  std::vector<BoundedNode> list(nodes.size());
  workers_.for_each(nodes.size(), [&](std::size_t i) {
    list[i] = {nodes[i], bounds_.family(nodes[i])};
  });
  sort_by_time(list);
  return some_of_each(tree_, list, 1, kOfDegrees);
}

std::vector<BoundedNode> SampledMeshes::with_own_settings(
    const std::vector<std::int32_t>& meshes, const std::vector<std::int16_t>& settings) const {
  const std::vector<Node> nodes = fastest(meshes, settings);
  std::vector<std::vector<BoundedNode>> of_mesh(nodes.size());
  workers_.for_each(nodes.size(), [&](std::size_t i) {
    Node node = nodes[i];
    for (const std::int16_t family : families_to_try(node)) {
      node.setting = family;
      const BoundedNode best = best_of_family(node);
      if (best.node.setting >= 0) of_mesh[i].push_back(best);
    }
  });
  std::vector<BoundedNode> list;
  for (const std::vector<BoundedNode>& of : of_mesh) list.insert(list.end(), of.begin(), of.end());
  sort_by_time(list);
  return some_of_each(tree_, list, kWays, kOfDegrees);
}

// Its own family, and without a pipeline those that differ from it in shards alone and have more.
std::vector<std::int16_t> SampledMeshes::families_to_try(const Node& node) const {
  std::vector<std::int16_t> families{tree_.family_of(node.setting)};
  if (tree_.mesh_of(node).attention.pp > 1) return families;
  const auto setting = [&](std::int16_t s) -> const Setting& {
    return tree_.settings[static_cast<std::size_t>(s)];
  };
  const Setting& own = setting(families.front());
  for (const PlanTree::Exchange& exchange : tree_.exchanges) {
    if (!own.same_exchanges(setting(exchange.families.front()))) continue;
    for (const std::int16_t family : exchange.families) {
      const Setting& other = setting(family);
      const bool more = other.sharding > setting(families.back()).sharding;
      if (more && other.shard_domain == own.shard_domain &&
          useful_setting(tree_, family, tree_.mesh_of(node))) {
        families.push_back(family);
      }
    }
  }
  return families;
}

// The setting of the node's family with the smallest bound; without a setting if none is valid.
BoundedNode SampledMeshes::best_of_family(const Node& node) const {
  BoundedNode best{setting_node(node.mesh, -1, node.memory), {.step = kAnyTime}};
  bounds_.for_each_setting(node, [&](std::size_t s) {
    const auto setting = static_cast<std::int16_t>(s);
    if (!useful_setting(tree_, setting, tree_.mesh_of(node))) return;
    const Node member = setting_node(node.mesh, setting, node.memory);
    const PlanBounds bounds = bounds_.own(member, kAnyTime);
    if (bounds.step < best.bounds.step) best = {member, bounds};
  });
  return best;
}

std::vector<BoundedNode> SampledMeshes::by_what_fits(std::vector<BoundedNode> list,
                                                     bool own) const {
  if (list.size() > kFitting) list.resize(kFitting);
  workers_.for_each(list.size(), [&](std::size_t i) {
    if (list[i].bounds.peak_bytes <= usable_) return;
    const Node& node = list[i].node;
    const Seconds least =
        own ? bounds_.least_own_that_fits(node, kAnyTime) : bounds_.least_that_fits(node, kAnyTime);
    list[i].bounds.step = std::max(list[i].bounds.step, least);
  });
  std::erase_if(list, [](const BoundedNode& b) { return std::isinf(b.bounds.step.base()); });
  sort_by_time(list);
  return list;
}

}  // namespace pleat
