// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/search/node_opener.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "planner/search/stage_choice.hpp"
#include "simulator/layer_library.hpp"

namespace pleat {

NodeOpener::NodeOpener(const PlanTree& tree, PlanPrices& prices, const ClusterSpec& cluster,
                       std::int64_t usable)
    : tree_(tree),
      estimator_(prices.estimator),
      bounds_(prices.bounds),
      usable_(usable),
      host_(static_cast<std::int64_t>(cluster.host_memory.base())),
      gpus_per_node_(cluster.gpus_per_node) {}

template <class Visit>
void NodeOpener::for_each_setting(const Node& family, const Visit& visit) const {
  Plan plan = tree_.mesh_plan(family);
  const auto first = static_cast<std::size_t>(family.setting);
  for (std::size_t s = first; s < tree_.end_of_family(first); ++s) {
    tree_.settings[s].put_into(plan);
    if (tree_.broken_rule(plan) == nullptr) visit(s);
  }
}

// Those that mean the same on the mesh are visited once.
template <class Visit>
void NodeOpener::for_each_least_work(const Node& node, const Visit& visit) const {
  Plan plan = tree_.mesh_plan(node);
  const Setting& first = tree_.least_work.front();
  for (const Setting& s : tree_.least_work) {
    if (s.exchanges_as_another(tree_.mesh_of(node), first)) continue;
    tree_.put_least_work(s, plan);
    visit(plan);
  }
}

PlanBounds NodeOpener::mesh_bounds(std::int32_t mesh) {
  std::optional<PlanBounds> least;
  for_each_least_work({.bound = {}, .mesh = mesh}, [&](const Plan& plan) {
    const PlanBounds b = bounds_.mesh(plan, tree_.state_choices(plan));
    if (!least) least = b;
    *least = {std::min(least->step, b.step), std::min(least->peak_bytes, b.peak_bytes)};
  });
  return *least;
}

Seconds NodeOpener::grid_bound(const Node& grid) {
  Seconds least(std::numeric_limits<double>::infinity());
  for_each_least_work(grid, [&](const Plan& plan) { least = std::min(least, bounds_.grid(plan)); });
  return least;
}

// A node whose bound did not rise would come out of the queue next: refine it further at once.
Opened NodeOpener::open(const Node& node, Seconds cutoff) {
  Opened opened = open_once(node, cutoff);
  const auto refined_in_vain = [&] {
    if (opened.children.size() != 1 || !opened.rejected.empty() || opened.estimate) return false;
    const Node& child = opened.children.front();
    return child.level == node.level && child.memory == node.memory && child.stage > node.stage &&
           child.stage < kBounded && child.bound == node.bound;
  };
  while (refined_in_vain()) {
    const Node refined = opened.children.front();
    opened = open_once(refined, cutoff);
  }
  return opened;
}

Opened NodeOpener::open_once(const Node& node, Seconds cutoff) {
  switch (node.level) {
    case Level::grid: return open_grid(node);
    case Level::mesh: return open_mesh(node);
    case Level::exchange:
      return node.stage == kBounded ? open_exchange(node) : refine_exchange(node, cutoff);
    case Level::family:
      return node.stage == kBounded ? open_family(node) : refine_family(node, cutoff);
    case Level::setting:
      return node.stage == kBounded ? price(node) : refine_setting(node, cutoff);
  }
  return {};
}

// Meshes that differ in the group of microbatches follow one another: the largest group's bound
// holds for all of them.
Opened NodeOpener::open_grid(const Node& node) {
  Opened opened;
  PlanBounds bounds;
  for (std::int32_t mesh = node.mesh + node.meshes; mesh-- > node.mesh;) {
    if (!tree_.has_larger_group(mesh)) bounds = mesh_bounds(mesh);
    if (bounds.peak_bytes > usable_) {
      opened.rejected.push_back({"memory", tree_.plans_of_mesh()});
      opened.too_large.emplace_back(mesh, bounds.peak_bytes);
      continue;
    }
    opened.children.push_back({.bound = std::max(node.bound, bounds.step), .mesh = mesh});
  }
  std::ranges::reverse(opened.children);
  return opened;
}

Opened NodeOpener::open_mesh(const Node& node) {
  Opened opened;
  const Plan mesh_plan = tree_.mesh_plan(node);
  const StateChoices& state = tree_.state_choices(mesh_plan);
  Seconds bound(std::numeric_limits<double>::infinity());
  if (node.stage < kBounded) {
    for_each_least_work(node, [&](const Plan& plan) {
      bound = std::min(bound, bounds_.whole_mesh(plan, state));
    });
    Node& refined = opened.children.emplace_back(node);
    refined.bound = std::max(node.bound, bound);
    refined.stage = kBounded;
    return opened;
  }
  if (tree_.least_memory > 0) {
    const MemoryChoice& all = tree_.choices[static_cast<std::size_t>(tree_.least_memory)];
    std::int64_t least = kNoPeak;
    for_each_least_work(node, [&](Plan plan) {
      all.put_into(plan);
      least = std::min(least, bounds_.least_peak(plan, state.shardings.back(), tree_.least_saved));
    });
    if (least > usable_) return no_memory(node, least);
  }
  // The host's launches are added, of the graphs that leave the fewest.
  const CudaGraph graph = tree_.least_work.front().graph;
  for_each_least_work(node, [&](const Plan& plan) {
    bound = std::min(bound, bounds_.graph(plan, graph, state));
  });
  bound = std::max(node.bound, bound);
  for (std::size_t e = 0; e < tree_.exchanges.size(); ++e) {
    Node child = node;
    child.bound = bound;
    child.level = Level::exchange;
    child.exchange = static_cast<std::int16_t>(e);
    child.setting = tree_.exchanges[e].families.front();
    child.memory = 0;
    child.stage = 0;
    const Setting& first = tree_.settings[static_cast<std::size_t>(child.setting)];
    const Mesh& mesh = tree_.mesh_of(node);
    const bool repeats = first.exchanges_as_another(mesh, tree_.settings.front());
    if (const char* rule = repeats ? "no-effect" : tree_.void_exchange(mesh_plan, mesh, first)) {
      opened.rejected.push_back({rule, tree_.plans_of(child)});
    } else {
      opened.children.push_back(child);
    }
  }
  return opened;
}

Opened NodeOpener::refine_exchange(const Node& node, Seconds cutoff) {
  Opened opened;
  Node& refined = opened.children.emplace_back(node);
  const Plan reference = reference_of(tree_.plan_of(node));
  refined.bound =
      std::max(node.bound, bounds_.exchange(reference, tree_.state_choices(reference), cutoff));
  refined.stage = kBounded;
  return opened;
}

Opened NodeOpener::no_memory(const Node& node, std::int64_t least) const {
  Opened opened;
  opened.least_peak = least;
  opened.rejected.push_back({"memory", tree_.plans_of(node)});
  return opened;
}

// Makes a node for each family of settings, with the bound of them all: a bound of its own needs
// prices of layers.
Opened NodeOpener::open_exchange(const Node& node) {
  Opened opened;
  const auto all = static_cast<std::int64_t>(tree_.choices.size());
  const Mesh& mesh = tree_.mesh_of(node);
  Plan plan = tree_.mesh_plan(node);
  const auto exchange = static_cast<std::size_t>(node.exchange);
  for (const std::int16_t family : tree_.exchanges[exchange].families) {
    const auto first = static_cast<std::size_t>(family);
    const std::size_t end = tree_.end_of_family(first);
    const auto count = static_cast<std::int64_t>(end - first);
    if (tree_.settings[first].repeats_another(mesh, tree_.settings)) {
      opened.rejected.push_back({"no-effect", count * all});
      continue;
    }
    if (const char* rule = tree_.settings[first].void_on(mesh)) {
      opened.rejected.push_back({rule, count * all});
      continue;
    }
    Node child = node;
    child.level = Level::family;
    child.setting = family;
    child.memory = 0;
    child.settings = 0;
    child.stage = 0;
    for (std::size_t s = first; s < end; ++s) {
      tree_.settings[s].put_into(plan);
      if (const char* rule = tree_.broken_rule(plan)) {
        opened.rejected.push_back({rule, all});
      } else {
        ++child.settings;
      }
    }
    if (child.settings > 0) opened.children.push_back(child);
  }
  return opened;
}

Plan NodeOpener::reference_of(Plan plan) const {
  put_shards(std::min(plan.sharding, Sharding::zero1), 0, plan);
  plan.cuda_graph = tree_.least_work.front().graph;
  return plan;
}

// Computes the next tighter bound of a family: first the family bound with the reference's layers,
// then the smallest bound of its settings with their references' layers, last the bound with its
// own layers. Most families are cut off before the last.
Opened NodeOpener::refine_family(const Node& node, Seconds cutoff) {
  Opened opened;
  Node& refined = opened.children.emplace_back(node);
  const Plan plan = tree_.plan_of(node), reference = reference_of(plan);
  ++refined.stage;
  Seconds bound;
  if (node.stage == 0) {
    bound = bounds_.family_by_reference(reference, plan, cutoff);
    if (reference == plan) refined.stage = kBounded;
  } else if (node.stage == 1) {
    bound = Seconds(std::numeric_limits<double>::infinity());
    Plan member = tree_.mesh_plan(node);
    CompiledLayers compiled;  // members that differ in the order of pairs share them
    for_each_setting(node, [&](std::size_t s) {
      tree_.settings[s].put_into(member);
      bound = std::min(bound, bounds_.by_reference(reference_of(member), member, cutoff, compiled));
    });
  } else {
    const PlanBounds own = bounds_.family(plan, cutoff);
    bound = own.step;
    if (own.peak_bytes > usable_) {
      const Seconds least = least_that_fits(node);
      if (std::isfinite(least.base())) bound = std::max(bound, least);
    }
  }
  refined.bound = std::max(node.bound, bound);
  return opened;
}

Opened NodeOpener::open_family(const Node& node) {
  Opened opened;
  if (const std::int64_t least = least_of_family(node); least > usable_) {
    return no_memory(node, least);
  }
  for_each_setting(node, [&](std::size_t s) {  // invalid settings were counted before
    Node child = node;
    child.level = Level::setting;
    child.setting = static_cast<std::int16_t>(s);
    child.settings = 1;
    child.stage = 0;
    opened.children.push_back(child);
  });
  return opened;
}

Seconds NodeOpener::least_that_fits(const Node& family) {
  Seconds least(std::numeric_limits<double>::infinity());
  for (const PlanBounds& b : *bounds_by_choice(family)) {
    if (b.peak_bytes <= usable_) least = std::min(least, b.step);
  }
  return least;
}

std::int64_t NodeOpener::least_of_family(const Node& family) {
  const std::int64_t state = bounds_.least_state(tree_.plan_of(family), tree_.least_place());
  if (state > usable_) return state;
  if (tree_.choices_by_stage && tree_.mesh_of(family).attention.pp > 1) {
    return least_of_stages(family);
  }
  const std::int64_t plain = bounds_.peak_of_family(tree_.plan_of(family));
  if (plain <= usable_) return plain;
  std::int64_t least = plain;
  for (const PlanBounds& b : *bounds_by_choice(family)) {
    if (b.peak_bytes > 0) least = std::min(least, b.peak_bytes);
  }
  return least;
}

// Where stages may choose for themselves, each can have the choice that needs the least.
std::int64_t NodeOpener::least_of_stages(const Node& family) {
  std::vector<std::int64_t> least;
  Node node = family;
  for (std::size_t m = 0; m < tree_.choices.size(); ++m) {
    node.memory = static_cast<std::int16_t>(m);
    if (tree_.by_stage(node)) continue;
    const std::vector<std::int64_t> peaks = bounds_.peaks_of_family(tree_.plan_of(node));
    if (least.empty()) least = peaks;
    for (std::size_t s = 0; s < peaks.size(); ++s) least[s] = std::min(least[s], peaks[s]);
    if (*std::ranges::max_element(least) <= usable_) break;
  }
  return *std::ranges::max_element(least);
}

// The next tighter bound of a setting: its family's memory, then the reference's layers, then its
// own layers.
Opened NodeOpener::refine_setting(const Node& node, Seconds cutoff) {
  Opened opened;
  const Plan plan = tree_.plan_of(node);
  Node refined = node;
  ++refined.stage;
  if (node.stage == 0) {
    const char* const repeated = tree_.memory_repeats_another(node) ? "no-effect" : nullptr;
    if (const char* rule =
            repeated
                ? repeated
                : tree_.broken_rule(plan)) {  // of this memory choice, perhaps not of those below
      opened.rejected.push_back({rule, 1});
      open_below(node, opened);
      return opened;
    }
    if (tree_.by_stage(node)) {  // no faster than the plan that gives up nothing
      refined.bound = std::max(node.bound, bounds_.own(plan, cutoff).step);
      refined.stage = kBounded;
    } else if (node.memory > 0) {  // the bound of the first choice is that of the setting above
      const PlanBounds family = family_with_choice(node);
      refined.bound = std::max(node.bound, family.step);
      if (family.peak_bytes > usable_) {
        does_not_fit(refined, family.peak_bytes, opened);
        return opened;
      }
    }
    if (refined.stage < kBounded && reference_of(plan) == plan) ++refined.stage;
  } else if (node.stage == 1) {
    CompiledLayers compiled;
    refined.bound = std::max(
        node.bound, bounds_.by_reference(reference_of(plan), plan, cutoff, compiled));
  } else {
    const PlanBounds own = bounds_.own(plan, cutoff);
    refined.bound = std::max(node.bound, own.step);
    if (own.peak_bytes > usable_) {
      does_not_fit(refined, own.peak_bytes, opened);
      return opened;
    }
  }
  opened.children.push_back(refined);
  return opened;
}

Opened NodeOpener::price(const Node& node) {
  if (tree_.by_stage(node)) return price_by_stage(node);
  Opened opened;
  const Plan plan = tree_.plan_of(node);
  opened.estimate = estimator_(plan);
  estimator_.parts(plan).library->forget(true);  // it is priced once
  const std::int64_t peak = opened.estimate->peak_bytes();
  const bool host_full = host_ > 0 && opened.estimate->host_bytes > host_;
  opened.fits = peak <= usable_ && !host_full;
  if (peak <= usable_ && host_full) {
    opened.rejected.push_back({"host-memory", 1});
    open_below(node, opened);
  } else if (opened.fits) {
    const std::int64_t below = tree_.memory.plans_below(node.memory) - 1;
    if (below > 0) opened.rejected.push_back({"over-saving", below});
  } else {
    does_not_fit(node, peak, opened);
  }
  return opened;
}

Opened NodeOpener::price_by_stage(const Node& node) {
  Opened opened;
  ChosenByStage chosen = choose_by_stage(tree_, estimator_, node, usable_, host_, gpus_per_node_);
  opened.cut = chosen.cut;
  if (!chosen.fits) {
    if (chosen.rule == std::string_view("memory")) opened.least_peak = chosen.least_peak;
    opened.rejected.push_back({chosen.rule, 1});
    return opened;
  }
  Plan plan = tree_.plan_of(node);
  plan.stages = std::move(chosen.stages);
  opened.estimate = estimator_(plan);
  opened.fits = true;
  opened.stages = std::move(plan.stages);
  return opened;
}

void NodeOpener::does_not_fit(const Node& node, std::int64_t peak, Opened& opened) {
  opened.least_peak = peak;
  opened.rejected.push_back({"memory", 1});
  open_below(node, opened);
}

void NodeOpener::open_below(const Node& node, Opened& opened) {
  if (tree_.memory.below(node.memory).empty()) return;
  open_fitting(node, *bounds_by_choice(node), opened);
}

// All settings of a family ask for the same bounds.
PlanBounds NodeOpener::family_with_choice(Node node) {
  node.setting = tree_.family_of(node.setting);
  return *with_choice_.get(
      {{node.mesh, node.setting, node.memory}},
      [&] { return std::make_shared<const PlanBounds>(family_bounds(tree_.plan_of(node))); },
      [](const PlanBounds&) { return std::size_t{1}; });
}

// All choices below a setting ask for the same bounds.
std::shared_ptr<const std::vector<PlanBounds>> NodeOpener::bounds_by_choice(Node node) {
  node.memory = 0;
  return by_choice_.get(
      {{node.mesh, node.setting}},
      [&] {
        return std::make_shared<const std::vector<PlanBounds>>(
            bounds_.by_choice(tree_.plan_of(node), tree_.ways, usable_));
      },
      [](const std::vector<PlanBounds>& bounds) { return bounds.size(); });
}

void NodeOpener::open_fitting(const Node& node, const std::vector<PlanBounds>& by_choice,
                              Opened& opened) const {
  for (const std::int16_t m : tree_.memory.below(node.memory)) {
    const PlanBounds& bounds = by_choice[static_cast<std::size_t>(m)];
    Node child = node;
    child.memory = m;
    child.stage = 0;
    child.bound = std::max(node.bound, bounds.step);
    if (bounds.peak_bytes <= usable_) {
      opened.children.push_back(child);
      continue;
    }
    opened.rejected.push_back({"memory", 1});
    opened.least_peak =
        opened.least_peak > 0 ? std::min(opened.least_peak, bounds.peak_bytes) : bounds.peak_bytes;
    open_fitting(child, by_choice, opened);
  }
}

}  // namespace pleat
