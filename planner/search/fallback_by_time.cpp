// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/search/fallback_by_time.hpp"
#include "planner/search/search.hpp"

#include <algorithm>
#include <limits>
#include <map>

namespace pleat {
namespace {

constexpr std::size_t kSample = 3072;  // meshes
constexpr std::size_t kMeshes = 48;    // of them, with all memory choices
constexpr std::size_t kPlansPriced = 32;    // in each of the two steps
constexpr int kOfMesh = 2;                  // of them in the first step
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

class GoodPlan {
 public:
  GoodPlan(const PlanTree& tree, NodeOpener& opener, Workers& workers, std::int64_t usable)
      : tree_(tree), opener_(opener), workers_(workers), usable_(usable) {}

  [[nodiscard]] std::int64_t priced() const { return priced_; }

  std::optional<Candidate> find() {
    const std::vector<Bounded> chosen = meshes();
    price(fitting_choices(chosen, false));
    if (!best_) price(fitting_choices(chosen, true));
    if (best_) price(techniques(best_node_));
    return std::move(best_);
  }

 private:
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

  // The meshes with the smallest bounds whose state fits, each with its usual setting.
  std::vector<Bounded> meshes() {
    const std::size_t all = tree_.space.meshes.size(), count = std::min(kSample, all);
    std::vector<Node> nodes(count);
    workers_.for_each(count, [&](std::size_t i) {
      const auto mesh = static_cast<std::int32_t>(i * all / count);
      nodes[i] = node_of(mesh, -1, 0);
      if (opener_.bounds().mesh(mesh).peak_bytes > usable_) return;
      nodes[i] = node_of(mesh, usual_setting(tree_, nodes[i]), 0);
    });
    std::erase_if(nodes, [](const Node& n) { return n.setting < 0; });
    std::vector<Bounded> list = bounded(nodes, false);
    if (list.size() > kMeshes) list.resize(kMeshes);
    return list;
  }

  // Of each mesh and way to recompute the first choice that fits, going by bounds, or the one that
  // needs least memory.
  std::vector<Bounded> fitting_choices(const std::vector<Bounded>& meshes, bool leanest) {
    std::vector<Node> nodes;
    for (const Bounded& mesh : meshes) {
      std::map<std::pair<std::size_t, StatePlace>, int> choices;
      collect(0, *opener_.bounds().by_choice(mesh.node, kAny), choices);
      for (auto& [way, m] : choices) {
        const int most = tree_.ways_as_needed.choices[static_cast<std::size_t>(m)].most;
        if (leanest && most >= 0) m = most;
        const Node node =
            node_of(mesh.node.mesh, mesh.node.setting, static_cast<std::int16_t>(m));
        if (valid(node)) nodes.push_back(node);
      }
    }
    return some_of_each_mesh(bounded(nodes, true));
  }

  // Bounds do not know all that offload costs, so that one mesh's choices could be all there are.
  static std::vector<Bounded> some_of_each_mesh(const std::vector<Bounded>& sorted) {
    std::map<std::int32_t, int> taken;
    std::vector<Bounded> list;
    for (const Bounded& b : sorted) {
      if (taken[b.node.mesh]++ < kOfMesh) list.push_back(b);
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

  std::vector<Bounded> techniques(const Node& of) {
    std::vector<Node> nodes;
    const Mesh& mesh = tree_.mesh_of(of);
    for (std::size_t s = 0; s < tree_.settings.size(); ++s) {
      const Setting& setting = tree_.settings[s];
      if (tree_.setting_repeats_another(s, mesh) || setting.void_on(mesh) != nullptr)
        continue;
      const Node node = node_of(of.mesh, static_cast<std::int16_t>(s), of.memory);
      if (valid(node)) nodes.push_back(node);
    }
    return bounded(nodes, true);
  }

  // Prices the first nodes and keeps the best plan that fits.
  void price(const std::vector<Bounded>& list) {
    std::vector<Opened> opened(std::min(kPlansPriced, list.size()));
    workers_.for_each(opened.size(),
                      [&](std::size_t i) { opened[i] = opener_.open(list[i].node, kAny); });
    priced_ += static_cast<std::int64_t>(opened.size());
    const bool robust = tree_.config.robust;
    for (std::size_t i = 0; i < opened.size(); ++i) {
      Priced& priced = opened[i].priced.front();
      if (!priced.fits) continue;
      if (best_ && value_of(priced.estimate, robust) >= value_of(best_->estimate, robust)) {
        continue;
      }
      best_node_ = list[i].node;
      best_ = Candidate{tree_.plan_of(best_node_), std::move(priced.estimate)};
    }
  }

  const PlanTree& tree_;
  NodeOpener& opener_;
  Workers& workers_;
  std::int64_t usable_;
  std::optional<Candidate> best_;
  Node best_node_;
  std::int64_t priced_ = 0;
};

}  // namespace

std::optional<Candidate> fallback_by_time(const PlanTree& tree, NodeOpener& opener,
                                          Workers& workers, std::int64_t usable,
                                          std::int64_t& priced) {
  GoodPlan search(tree, opener, workers, usable);
  std::optional<Candidate> found = search.find();
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
