// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/search/good_plans.hpp"

#include <algorithm>
#include <map>
#include <ranges>

namespace pleat {
namespace {

constexpr std::size_t kMeshes = 48;  // of a list, with all memory choices
// Plans priced: of the meshes at first, of the best one's settings, of the others' settings, and of
// a mesh's memory choices.
constexpr std::size_t kFirst = 32, kOfBest = 32, kFavourites = 6, kChoices = 6;
constexpr int kOfMesh = 2, kOfDegrees = 4;  // of the first
constexpr int kAttempts = 3;                // with memory choices of the same meshes
constexpr int kRounds = 2;                  // of settings and memory choices in turn
constexpr int kNearRounds = 3;  // of meshes near the best plans
constexpr std::size_t kNearTo = 4;  // so many of them

std::vector<BoundedNode> first_of(std::vector<BoundedNode> list) {
  if (list.size() > kMeshes) list.resize(kMeshes);
  return list;
}

}  // namespace

GoodPlans::GoodPlans(const PlanTree& tree, NodeOpener& opener, Workers& workers,
                     std::int64_t usable, std::size_t many)
    : tree_(tree),
      opener_(opener),
      workers_(workers),
      meshes_(tree, opener, workers, usable),
      usable_(usable),
      many_(many) {}

void GoodPlans::look() {
  const std::vector<std::int32_t> all = meshes_.all();
  const std::vector<BoundedNode> list = meshes_.with_usual_settings(all, {});
  price_meshes(list);
  const std::vector<BoundedNode> fitting = meshes_.by_what_fits(list, false);
  price_meshes(fitting);
  if (found_.empty()) price_meshes(fitting, true);
  for (int round = 0; round < kRounds && !found_.empty(); ++round) {
    const auto before = found_.front().node.place();
    const Settings favourites = price_settings();
    price_meshes(meshes_.with_usual_settings(all, favourites));
    price_choices();
    if (found_.front().node.place() == before) break;
  }
}

void GoodPlans::look_closer(const std::function<bool()>& goes_on) {
  closer_ = true;
  Settings favourites = found_.empty() ? Settings{} : price_settings();
  std::vector<std::int32_t> around = meshes_.all();
  for (int round = 0; round <= kNearRounds; ++round) {
    const std::vector<BoundedNode> list = meshes_.with_own_settings(around, favourites);
    const auto before = found_.empty() ? Node{}.place() : found_.front().node.place();
    if (!goes_on()) return;
    price_meshes(list);
    if (!goes_on()) return;
    price_meshes(meshes_.by_what_fits(list, true));
    if (found_.empty() || !goes_on()) return;
    favourites = price_settings();
    price_choices();
    if (round > 0 && found_.front().node.place() == before) return;
    std::vector<Node> best;
    for (const GoodPlan& good : found_ | std::views::take(kNearTo)) best.push_back(good.node);
    around = meshes_.near(best);
  }
}

// The settings of the best mesh, by their bounds. Those that turn out best, which it returns, on
// the other meshes.
GoodPlans::Settings GoodPlans::price_settings() {
  const std::vector<BoundedNode> list = settings_of(found_.front().node);
  std::vector<std::pair<Seconds, std::int16_t>> priced;
  for (const auto& [node, value] : price(list, kOfBest)) {
    priced.emplace_back(value, node.setting);
  }
  std::ranges::sort(priced);
  Settings favourites;
  for (const auto& [value, setting] : priced | std::views::take(kFavourites)) {
    favourites.push_back(setting);
  }
  std::vector<BoundedNode> others;
  for (std::size_t i = 1; i < std::min(many_, found_.size()); ++i) {
    for (const std::int16_t setting : favourites) {
      const Node& of = found_[i].node;
      const Node node = setting_node(of.mesh, setting, of.memory);
      const bool useful = useful_setting(tree_, setting, tree_.mesh_of(of));
      if (useful && valid_plan(tree_, node)) others.push_back({node, {}});
    }
  }
  price(others, others.size());
  return favourites;
}

// Where bounds let choices through that do not fit, leaner ones of the same meshes are tried.
void GoodPlans::price_meshes(const std::vector<BoundedNode>& meshes, bool leanest) {
  std::vector<BoundedNode> left = first_of(meshes);
  for (int attempt = 0; attempt < kAttempts && !left.empty(); ++attempt) {
    std::vector<std::int64_t> usable_before;
    for (const BoundedNode& b : left) usable_before.push_back(usable_of(b.node.mesh));
    const auto fitting = price(some_of_each(tree_, fitting_choices(left, leanest, 4 * kOfMesh),
                                            kOfMesh, kOfDegrees),
                               kFirst);
    std::vector<BoundedNode> again;  // what has become known of them allows leaner choices
    for (std::size_t i = 0; i < left.size(); ++i) {
      const std::int32_t mesh = left[i].node.mesh;
      const bool fits =
          std::ranges::any_of(fitting, [&](const auto& f) { return f.first.mesh == mesh; });
      if (!fits && usable_of(mesh) < usable_before[i]) again.push_back(left[i]);
    }
    left = std::move(again);
  }
}

void GoodPlans::price_choices() {
  std::vector<BoundedNode> list;
  for (std::size_t i = 0; i < std::min(many_, found_.size()); ++i) {
    std::vector<BoundedNode> own = fitting_choices({{found_[i].node, {}}}, false, 4 * kChoices);
    if (own.size() > kChoices) own.resize(kChoices);
    std::ranges::move(own, std::back_inserter(list));
  }
  price(list, list.size());
}

std::vector<BoundedNode> GoodPlans::settings_of(const Node& of) {
  std::vector<Node> nodes;
  for (std::size_t s = 0; s < tree_.settings.size(); ++s) {
    const auto setting = static_cast<std::int16_t>(s);
    if (!useful_setting(tree_, setting, tree_.mesh_of(of))) continue;
    const Node node = setting_node(of.mesh, setting, of.memory);
    if (valid_plan(tree_, node)) nodes.push_back(node);
  }
  return those_that_fit(nodes);
}

// Those whose memory bound fits, fastest first.
std::vector<BoundedNode> GoodPlans::those_that_fit(const std::vector<Node>& nodes) {
  std::vector<BoundedNode> list(nodes.size());
  workers_.for_each(nodes.size(), [&](std::size_t i) {
    NodeBounds& bounds = opener_.bounds();
    list[i] = {nodes[i], bounds.family(nodes[i])};
    if (closer_ && list[i].bounds.peak_bytes <= usable_) {
      const PlanBounds own = bounds.own(nodes[i], kAnyTime);
      list[i].bounds = {std::max(list[i].bounds.step, own.step), own.peak_bytes};
    }
  });
  std::erase_if(list, [&](const BoundedNode& b) {
    return b.bounds.peak_bytes > usable_of(b.node.mesh);
  });
  sort_by_time(list);
  return list;
}

// Of each mesh and way to recompute the first choice that fits, going by bounds, or the one that
// needs least memory; of each mesh the first `most` by the bounds of all choices at once.
std::vector<BoundedNode> GoodPlans::fitting_choices(const std::vector<BoundedNode>& meshes,
                                                    bool leanest, std::size_t most) {
  std::vector<std::vector<BoundedNode>> of_mesh(meshes.size());
  workers_.for_each(meshes.size(), [&](std::size_t i) {
    const Node& mesh = meshes[i].node;
    const auto bounds = opener_.bounds().by_choice(mesh, kAnyTime);
    Choices choices;
    collect(0, *bounds, usable_of(mesh.mesh), choices);
    for (auto& [way, m] : choices) {
      const int leanest_of_way = tree_.ways_as_needed.choices[static_cast<std::size_t>(m)].most;
      if (leanest && leanest_of_way >= 0) m = leanest_of_way;
      const Node node = setting_node(mesh.mesh, mesh.setting, static_cast<std::int16_t>(m));
      if (!valid_plan(tree_, node)) continue;
      of_mesh[i].push_back({node, (*bounds)[static_cast<std::size_t>(m)]});
    }
    sort_by_time(of_mesh[i]);
  });
  std::vector<Node> nodes;
  for (const std::vector<BoundedNode>& own : of_mesh) {
    for (const BoundedNode& b : own | std::views::take(most)) nodes.push_back(b.node);
  }
  return those_that_fit(nodes);
}

// The first choices that fit, of each way to recompute and place of the optimizer's state.
void GoodPlans::collect(int choice, const BoundsByChoice& bounds, std::int64_t usable,
                        Choices& found) const {
  if (bounds[static_cast<std::size_t>(choice)].peak_bytes > usable) {
    for (const std::int16_t m : tree_.memory.below(choice)) collect(m, bounds, usable, found);
    return;
  }
  const auto& way = tree_.ways_as_needed.choices[static_cast<std::size_t>(choice)];
  found.try_emplace({way.recompute, way.state}, choice);
}

// Prices the first `most` nodes. Returns those that fit, with their values.
std::vector<std::pair<Node, Seconds>> GoodPlans::price(const std::vector<BoundedNode>& list,
                                                       std::size_t most) {
  std::vector<Priced> all(std::min(most, list.size()));
  workers_.for_each(all.size(), [&](std::size_t i) { all[i] = opener_.price_one(list[i].node); });
  priced_ += static_cast<std::int64_t>(all.size());
  std::vector<std::pair<Node, Seconds>> fitting;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Priced& priced = all[i];
    if (!priced.fits) {
      if (const std::int64_t bound = list[i].bounds.peak_bytes; bound > 0) {
        std::int64_t& excess = excess_[priced.node.mesh];
        excess = std::max(excess, priced.estimate.peak_bytes() - bound);
      }
      continue;
    }
    fitting.emplace_back(priced.node, value_of(priced.estimate, tree_.config.robust));
    enter({priced.node, std::move(priced.estimate)});
  }
  std::ranges::stable_sort(found_, {}, [&](const GoodPlan& g) { return value(g); });
  return fitting;
}

void GoodPlans::enter(GoodPlan plan) {
  const auto known = std::ranges::find_if(
      found_, [&](const GoodPlan& g) { return tree_.same_mesh(g.node, plan.node); });
  if (known == found_.end()) found_.push_back(std::move(plan));
  else if (value(plan) < value(*known)) *known = std::move(plan);
}

}  // namespace pleat
