// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/search/good_plans.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <ranges>

namespace pleat {
namespace {

constexpr std::size_t kSample = 3072;  // meshes
constexpr std::size_t kOwnSetting = 768;  // of them, each with a setting
constexpr std::size_t kFitting = 256;     // of these, bounded by the choices that fit
constexpr std::size_t kMeshes = 48;       // of either, with all memory choices
// Plans priced: of the meshes at first, of the best one's settings, of the others' settings, and of
// a mesh's memory choices.
constexpr std::size_t kFirst = 32, kOfBest = 32, kFavourites = 6, kChoices = 6;
constexpr int kOfMesh = 2, kOfDegrees = 4;  // of the first
constexpr int kRounds = 2;  // of settings and memory choices in turn
constexpr Seconds kAny{std::numeric_limits<double>::infinity()};

struct Bounded {
  Node node;
  PlanBounds bounds;
};

void sort_by_time(std::vector<Bounded>& list) {
  std::ranges::sort(list, [](const Bounded& a, const Bounded& b) {
    return a.bounds.step != b.bounds.step ? a.bounds.step < b.bounds.step
                                          : a.node.place() < b.node.place();
  });
}

class GoodPlans {
 public:
  GoodPlans(const PlanTree& tree, NodeOpener& opener, Workers& workers, std::int64_t usable)
      : tree_(tree), opener_(opener), workers_(workers), usable_(usable) {}

  [[nodiscard]] std::int64_t priced() const { return priced_; }

  std::vector<GoodPlan> find(std::size_t many) {
    const std::vector<Bounded> list = meshes({});
    price_first(first_of(list), false);
    const std::vector<Bounded> fitting = by_what_fits(list);
    price_first(fitting, false);
    if (best_.empty()) price_first(fitting, true);
    for (int round = 0; round < kRounds && !best_.empty(); ++round) {
      const auto before = best_.front().node.place();
      const std::vector<std::int16_t> favourites = price_settings(many);
      price_first(first_of(meshes(favourites)), false);
      price_choices(many);
      if (best_.front().node.place() == before) break;
    }
    return std::move(best_);
  }

 private:
  // The settings of the best mesh, by their bounds. Those that turn out best, which it returns, on
  // the other meshes.
  std::vector<std::int16_t> price_settings(std::size_t many) {
    const std::vector<Bounded> list = techniques(best_.front().node);
    std::vector<std::pair<Seconds, std::int16_t>> priced;
    for (const auto& [node, value] : price(list, kOfBest)) {
      priced.emplace_back(value, node.setting);
    }
    std::ranges::sort(priced);
    std::vector<std::int16_t> favourites;
    for (const auto& [value, setting] : priced | std::views::take(kFavourites)) {
      favourites.push_back(setting);
    }
    std::vector<Bounded> others;
    for (std::size_t i = 1; i < std::min(many, best_.size()); ++i) {
      for (const std::int16_t setting : favourites) {
        const Node& of = best_[i].node;
        const Node node = node_of(of.mesh, setting, of.memory);
        if (useful(setting, of) && valid(node)) others.push_back({node, {}});
      }
    }
    price(others, others.size());
    return favourites;
  }

  void price_first(const std::vector<Bounded>& meshes, bool leanest) {
    price(some_of_each(fitting_choices(meshes, leanest, 4 * kOfMesh), kOfMesh, kOfDegrees), kFirst);
  }

  void price_choices(std::size_t many) {
    std::vector<Bounded> list;
    for (std::size_t i = 0; i < std::min(many, best_.size()); ++i) {
      std::vector<Bounded> own = fitting_choices({{best_[i].node, {}}}, false, 4 * kChoices);
      if (own.size() > kChoices) own.resize(kChoices);
      std::ranges::move(own, std::back_inserter(list));
    }
    price(list, list.size());
  }

  [[nodiscard]] Node node_of(std::int32_t mesh, std::int16_t setting, std::int16_t memory) const {
    Node node{.bound = {}, .mesh = mesh, .setting = setting, .memory = memory};
    node.level = Level::setting;
    node.stage = kBounded;
    return node;
  }

  [[nodiscard]] bool valid(const Node& node) const {
    return !tree_.by_stage(node) && !tree_.memory_repeats_another(node) &&
           tree_.broken_rule(tree_.plan_of(node)) == nullptr;
  }

  // The nodes by their bounds, fastest first. `must_fit`: leaves out those whose memory bound does
  // not fit.
  std::vector<Bounded> bounded(const std::vector<Node>& nodes, bool must_fit) {
    std::vector<Bounded> list(nodes.size());
    workers_.for_each(nodes.size(), [&](std::size_t i) {
      list[i] = {nodes[i], opener_.bounds().family(nodes[i])};
    });
    if (must_fit) {
      std::erase_if(list, [&](const Bounded& b) { return b.bounds.peak_bytes > usable_; });
    }
    sort_by_time(list);
    return list;
  }

  // The first of the favourites that the mesh makes use of, else its usual setting.
  [[nodiscard]] std::int16_t setting_of(const Node& mesh,
                                        const std::vector<std::int16_t>& favourites) const {
    for (const std::int16_t s : favourites) {
      if (useful(s, mesh) && valid(node_of(mesh.mesh, s, 0))) return s;
    }
    return usual_setting(tree_, mesh);
  }

  // The meshes with the smallest bounds whose state fits, each with one setting, fastest first.
  std::vector<Bounded> meshes(const std::vector<std::int16_t>& favourites) {
    const std::size_t all = tree_.space.meshes.size(), count = std::min(kSample, all);
    std::vector<Bounded> sample(count);
    workers_.for_each(count, [&](std::size_t i) {
      const auto mesh = static_cast<std::int32_t>(i * all / count);
      sample[i] = {node_of(mesh, -1, 0), opener_.bounds().mesh(mesh)};
    });
    std::erase_if(sample, [&](const Bounded& b) { return b.bounds.peak_bytes > usable_; });
    sort_by_time(sample);
    if (sample.size() > kOwnSetting) sample.resize(kOwnSetting);
    std::vector<Node> nodes(sample.size());
    workers_.for_each(sample.size(), [&](std::size_t i) {
      const Node& mesh = sample[i].node;
      nodes[i] = node_of(mesh.mesh, setting_of(mesh, favourites), 0);
    });
    std::erase_if(nodes, [](const Node& n) { return n.setting < 0; });
    std::vector<Bounded> list = some_of_each(bounded(nodes, false), 1, kOfDegrees);
    return list;
  }

  static std::vector<Bounded> first_of(std::vector<Bounded> list) {
    if (list.size() > kMeshes) list.resize(kMeshes);
    return list;
  }

  // Of the first of these meshes those with the smallest bounds of choices that fit.
  std::vector<Bounded> by_what_fits(std::vector<Bounded> list) {
    if (list.size() > kFitting) list.resize(kFitting);
    workers_.for_each(list.size(), [&](std::size_t i) {
      if (list[i].bounds.peak_bytes <= usable_) return;
      list[i].bounds.step = opener_.bounds().least_that_fits(list[i].node, kAny);
    });
    std::erase_if(list, [](const Bounded& b) { return std::isinf(b.bounds.step.base()); });
    sort_by_time(list);
    return first_of(std::move(list));
  }

  // Of each mesh and way to recompute the first choice that fits, going by bounds, or the one that
  // needs least memory; of each mesh the first `most` by the bounds of all choices at once.
  std::vector<Bounded> fitting_choices(const std::vector<Bounded>& meshes, bool leanest,
                                       std::size_t most) {
    std::vector<Node> nodes;
    for (const Bounded& mesh : meshes) {
      std::map<std::pair<std::size_t, StatePlace>, int> choices;
      const auto bounds = opener_.bounds().by_choice(mesh.node, kAny);
      collect(0, *bounds, choices);
      std::vector<Bounded> own;
      for (auto& [way, m] : choices) {
        const int leanest_of_way = tree_.ways_as_needed.choices[static_cast<std::size_t>(m)].most;
        if (leanest && leanest_of_way >= 0) m = leanest_of_way;
        const Node node =
            node_of(mesh.node.mesh, mesh.node.setting, static_cast<std::int16_t>(m));
        if (valid(node)) own.push_back({node, (*bounds)[static_cast<std::size_t>(m)]});
      }
      sort_by_time(own);
      for (const Bounded& b : own | std::views::take(most)) nodes.push_back(b.node);
    }
    return bounded(nodes, true);
  }

  // The first of each mesh, and of all meshes of the same degrees. Bounds do not know all that
  // offload and large microbatches cost: else one mesh's choices could be all there are.
  std::vector<Bounded> some_of_each(const std::vector<Bounded>& sorted, int of_mesh,
                                    int of_degrees) const {
    std::map<std::int32_t, int> meshes;
    std::map<std::array<int, 7>, int> degrees;
    std::vector<Bounded> list;
    for (const Bounded& b : sorted) {
      const auto& [a, e] = std::tie(tree_.mesh_of(b.node).attention, tree_.mesh_of(b.node).expert);
      int& same = degrees[{a.tp, a.cp, a.dp, a.pp, e.etp, e.ep, e.edp}];
      int& own = meshes[b.node.mesh];
      if (same == of_degrees || own == of_mesh) continue;
      ++same, ++own;
      list.push_back(b);
    }
    return list;
  }

  void collect(int choice, const std::vector<PlanBounds>& bounds,
               std::map<std::pair<std::size_t, StatePlace>, int>& found) const {
    if (bounds[static_cast<std::size_t>(choice)].peak_bytes > usable_) {
      for (const std::int16_t m : tree_.memory.below(choice)) collect(m, bounds, found);
      return;
    }
    const auto& way = tree_.ways_as_needed.choices[static_cast<std::size_t>(choice)];
    found.try_emplace({way.recompute, way.state}, choice);
  }

  [[nodiscard]] bool useful(std::int16_t setting, const Node& of) const {
    const Mesh& mesh = tree_.mesh_of(of);
    const auto s = static_cast<std::size_t>(setting);
    return !tree_.setting_repeats_another(s, mesh) && tree_.settings[s].void_on(mesh) == nullptr;
  }

  std::vector<Bounded> techniques(const Node& of) {
    std::vector<Node> nodes;
    for (std::size_t s = 0; s < tree_.settings.size(); ++s) {
      const auto setting = static_cast<std::int16_t>(s);
      if (!useful(setting, of)) continue;
      const Node node = node_of(of.mesh, setting, of.memory);
      if (valid(node)) nodes.push_back(node);
    }
    return bounded(nodes, true);
  }

  // Prices the first `most` nodes. Returns those that fit, with their values.
  std::vector<std::pair<Node, Seconds>> price(const std::vector<Bounded>& list, std::size_t most) {
    std::vector<Priced> all(std::min(most, list.size()));
    workers_.for_each(all.size(), [&](std::size_t i) { all[i] = opener_.price_one(list[i].node); });
    priced_ += static_cast<std::int64_t>(all.size());
    std::vector<std::pair<Node, Seconds>> fitting;
    for (Priced& priced : all) {
      if (!priced.fits) continue;
      fitting.emplace_back(priced.node, value(priced.estimate));
      enter({priced.node, std::move(priced.estimate)});
    }
    std::ranges::stable_sort(best_, {}, [&](const GoodPlan& g) { return value(g.estimate); });
    return fitting;
  }

  [[nodiscard]] Seconds value(const StepEstimate& e) const {
    return value_of(e, tree_.config.robust);
  }

  void enter(GoodPlan plan) {
    const auto known = std::ranges::find_if(
        best_, [&](const GoodPlan& g) { return tree_.same_mesh(g.node, plan.node); });
    if (known == best_.end()) best_.push_back(std::move(plan));
    else if (value(plan.estimate) < value(known->estimate)) *known = std::move(plan);
  }

  const PlanTree& tree_;
  NodeOpener& opener_;
  Workers& workers_;
  std::int64_t usable_;
  std::vector<GoodPlan> best_;  // of each mesh, best first
  std::int64_t priced_ = 0;
};

}  // namespace

std::vector<GoodPlan> good_plans(const PlanTree& tree, NodeOpener& opener, Workers& workers,
                                 std::int64_t usable, std::size_t many, std::int64_t& priced) {
  GoodPlans search(tree, opener, workers, usable);
  std::vector<GoodPlan> found = search.find(many);
  priced += search.priced();
  return found;
}

std::int16_t usual_setting(const PlanTree& tree, Node node) {
  std::int16_t first = -1;
  for (std::size_t s = 0; s < tree.settings.size(); ++s) {
    const Setting& setting = tree.settings[s];
    const Mesh& mesh = tree.mesh_of(node);
    if (tree.setting_repeats_another(s, mesh) || setting.void_on(mesh) != nullptr) continue;
    node.setting = static_cast<std::int16_t>(s);
    if (tree.broken_rule(tree.plan_of(node)) != nullptr) continue;
    if (setting.sharding >= Sharding::zero1) return node.setting;
    if (first < 0) first = node.setting;
  }
  return first;
}

}  // namespace pleat
