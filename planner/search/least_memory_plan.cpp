// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// NodeOpener's search for the plan of a mesh that needs the least memory, for when nothing fits.
#include <algorithm>
#include <map>
#include <utility>

#include "core/program/compile_stage.hpp"
#include "planner/search/node_opener.hpp"

namespace pleat {
namespace {

// plans of a mesh, with the optimizer's state in one place
constexpr std::size_t kPricedOfPlace = 12;

}  // namespace

std::vector<std::int16_t> NodeOpener::first_settings(std::int32_t mesh) const {
  std::vector<std::int16_t> first;
  Node node{.bound = {}, .mesh = mesh};
  const Mesh& of = tree_.mesh_of(node);
  for (std::size_t begin = 0; begin < tree_.settings.size(); begin = tree_.end_of_family(begin)) {
    for (std::size_t s = begin; s < tree_.end_of_family(begin); ++s) {
      const Setting& setting = tree_.settings[s];
      if (setting.repeats_another(of, tree_.settings) || setting.void_on(of) != nullptr) continue;
      Plan plan = tree_.mesh_plan(node);
      setting.put_into(plan);
      if (tree_.broken_rule(plan) != nullptr) continue;
      first.push_back(static_cast<std::int16_t>(s));
      break;
    }
  }
  return first;
}

std::int64_t NodeOpener::least_memory_bound(std::int32_t mesh) {
  std::int64_t least = kNoPeak;
  Node node{.bound = {}, .mesh = mesh};
  std::vector<std::pair<Sharding, int>> seen;
  for (const std::int16_t s : first_settings(mesh)) {
    const Setting& setting = tree_.settings[static_cast<std::size_t>(s)];
    const std::pair shards(setting.sharding, setting.shard_domain);
    if (std::ranges::find(seen, shards) != seen.end()) continue;
    node.setting = s;
    bool valid = false;
    for (std::size_t m = 0; m < tree_.choices.size(); ++m) {
      MemoryChoice bare = tree_.choices[m];
      bare.state = StatePlace::device;
      const bool ends = bare == MemoryChoice{} ||
                        bare == tree_.choices[static_cast<std::size_t>(tree_.least_memory)];
      if (!ends) continue;
      node.memory = static_cast<std::int16_t>(m);
      const Plan plan = tree_.plan_of(node);
      if (tree_.memory_repeats_another(node) || tree_.broken_rule(plan) != nullptr) continue;
      valid = true;
      least = std::min(least, bounds_.peak_of_family(plan));
    }
    if (valid) seen.push_back(shards);
  }
  return least;
}

std::optional<Candidate> NodeOpener::least_memory_plan(std::int32_t mesh) {
  struct Bounded {
    std::int64_t peak;  // at least
    Node node;
    std::size_t order;  // breaks ties
    [[nodiscard]] auto key() const { return std::pair(peak, order); }
  };
  // One look at a setting bounds all its memory choices. Where that is no more than the dearest of
  // the kPricedOfPlace least ones needs, the choice's own layers say more.
  std::map<StatePlace, std::vector<Bounded>> rough;
  Node node{.bound = {}, .mesh = mesh};
  for (const std::int16_t s : first_settings(mesh)) {
    node.setting = s;
    node.memory = 0;
    const Plan plain = tree_.plan_of(node);
    constexpr std::int64_t kAnyBytes = std::int64_t{1} << 60;
    const std::vector<PlanBounds> by_choice =
        bounds_.by_choice(plain, schedule_of(plain, tree_.problem.workload), tree_.ways, kAnyBytes,
                          kAnyTime);
    for (std::size_t m = 0; m < tree_.choices.size(); ++m) {
      node.memory = static_cast<std::int16_t>(m);
      if (tree_.by_stage(node) || tree_.memory_repeats_another(node)) continue;
      if (tree_.broken_rule(tree_.plan_of(node)) != nullptr) continue;
      const std::size_t order = m * tree_.settings.size() + static_cast<std::size_t>(s);
      rough[tree_.choices[m].state].push_back({by_choice[m].peak_bytes, node, order});
    }
  }
  std::map<StatePlace, std::vector<Bounded>> of_place;
  for (auto& [place, all] : rough) {
    std::ranges::sort(all, {}, &Bounded::key);
    std::vector<Bounded>& list = of_place[place];
    for (const Bounded& r : all) {
      if (list.size() == kPricedOfPlace && r.peak > list.back().peak) break;
      const Bounded own{bounds_.peak_of_family(tree_.plan_of(r.node)), r.node, r.order};
      list.insert(std::ranges::upper_bound(list, own.key(), {}, &Bounded::key), own);
      if (list.size() > kPricedOfPlace) list.pop_back();
    }
  }
  std::optional<Candidate> best;
  for (auto& [place, list] : of_place) {
    for (const Bounded& b : list) {
      if (best && b.peak >= best->estimate.peak_bytes()) break;
      Plan plan = tree_.plan_of(b.node);
      StepEstimate estimate = estimator_(plan);
      if (best && estimate.peak_bytes() >= best->estimate.peak_bytes()) continue;
      best = Candidate{std::move(plan), std::move(estimate)};
    }
  }
  return best;
}

}  // namespace pleat
