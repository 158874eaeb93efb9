// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/search/node_opener.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string_view>

#include "core/program/compile_stage.hpp"
#include "planner/search/stage_choice.hpp"
#include "simulator/layer_library.hpp"

namespace pleat {

namespace {

// For keys.
std::pair<std::int32_t, std::int32_t> bits_of(Seconds time) {
  const auto bits = std::bit_cast<std::uint64_t>(time.base());
  return {static_cast<std::int32_t>(bits), static_cast<std::int32_t>(bits >> 32)};
}

}  // namespace

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

PlanBounds NodeOpener::mesh_bounds(std::int32_t mesh, Seconds cutoff) {
  std::optional<PlanBounds> least;
  for_each_least_work({.bound = {}, .mesh = mesh}, [&](const Plan& plan) {
    const PlanBounds b = bounds_.mesh(plan, tree_.state_choices(plan), cutoff);
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
    const bool alone = opened.rejected.empty() && opened.priced.empty();
    if (opened.children.size() != 1 || !alone) return false;
    const Node& child = opened.children.front();
    return child.level == node.level && child.memory == node.memory &&
           child.meshes == node.meshes && child.stage > node.stage &&
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
    case Level::grid: return open_grid(node, cutoff);
    case Level::mesh: return open_mesh(node, cutoff);
    case Level::exchange:
      return node.stage == kBounded ? open_exchange(node) : refine_exchange(node, cutoff);
    case Level::family:
      return node.stage == kBounded ? open_family(node, cutoff) : refine_family(node, cutoff);
    case Level::setting:
      return node.stage == kBounded ? price(node, cutoff) : refine_setting(node, cutoff);
  }
  return {};
}

Opened NodeOpener::open_grid(const Node& node, Seconds cutoff) {
  Opened opened;
  const std::int32_t end = node.mesh + node.meshes;
  for (std::int32_t mesh = node.mesh; mesh < end;) {
    Node child{.bound = node.bound, .mesh = mesh};
    while (tree_.has_larger_group(mesh++)) ++child.meshes;
    const PlanBounds bounds = mesh_bounds(mesh - 1, cutoff);
    if (bounds.peak_bytes > usable_) {
      opened.rejected.push_back({"memory", tree_.plans_of(child)});
      opened.too_large.emplace_back(child.mesh, bounds.peak_bytes);
      continue;
    }
    child.bound = std::max(node.bound, bounds.step);
    opened.children.push_back(child);
  }
  return opened;
}

Opened NodeOpener::open_mesh(const Node& node, Seconds cutoff) {
  Opened opened;
  const Plan mesh_plan = tree_.mesh_plan(node);
  const StateChoices& state = tree_.state_choices(mesh_plan);
  Seconds bound(std::numeric_limits<double>::infinity());
  if (node.stage < kBounded) {
    for_each_least_work(with_largest_group(node), [&](const Plan& plan) {
      bound = std::min(bound, bounds_.whole_mesh(plan, state, cutoff));
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
  for_each_least_work(with_largest_group(node), [&](const Plan& plan) {
    bound = std::min(bound, bounds_.graph(plan, graph, state, cutoff));
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
  const Plan reference = reference_of(tree_.plan_of(with_largest_group(node)));
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
  Plan plan = tree_.mesh_plan(node);  // settings are valid with all groups or none
  const auto exchange = static_cast<std::size_t>(node.exchange);
  for (const std::int16_t family : tree_.exchanges[exchange].families) {
    const auto first = static_cast<std::size_t>(family);
    const std::size_t end = tree_.end_of_family(first);
    const auto count = static_cast<std::int64_t>(end - first);
    if (tree_.settings[first].repeats_another(mesh, tree_.settings)) {
      opened.rejected.push_back({"no-effect", node.meshes * count * all});
      continue;
    }
    if (const char* rule = tree_.settings[first].void_on(mesh)) {
      opened.rejected.push_back({rule, node.meshes * count * all});
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
        opened.rejected.push_back({rule, node.meshes * all});
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
  const Node fastest = with_largest_group(node);
  const Plan plan = tree_.plan_of(fastest), reference = reference_of(plan);
  ++refined.stage;
  Seconds bound;
  if (node.stage == 0) {
    bound = bounds_.family_by_reference(reference, plan, cutoff);
    if (reference == plan) refined.stage = kBounded;
  } else if (node.stage == 1) {
    bound = Seconds(std::numeric_limits<double>::infinity());
    CompiledLayers compiled;  // members that differ in the order of pairs share them
    Node one = node;
    for_each_setting(node, [&](std::size_t s) {
      one.setting = static_cast<std::int16_t>(s);
      bound = std::min(bound, bound_by_reference(one, cutoff, compiled));
    });
  } else {
    const PlanBounds own = family_bounds(node, cutoff);
    bound = own.step;
    if (own.peak_bytes > usable_) {
      const Seconds least = least_that_fits(node, cutoff);
      if (std::isfinite(least.base())) bound = std::max(bound, least);
    }
  }
  refined.bound = std::max(node.bound, bound);
  return opened;
}

Opened NodeOpener::open_family(const Node& node, Seconds cutoff) {
  Opened opened;
  if (const std::int64_t least = least_of_family(node, cutoff); least > usable_) {
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

Seconds NodeOpener::least_that_fits(const Node& family, Seconds cutoff) {
  Seconds least(std::numeric_limits<double>::infinity());
  for (const PlanBounds& b : *bounds_by_choice(family, cutoff)) {
    if (b.peak_bytes <= usable_) least = std::min(least, b.step);
  }
  return least;
}

std::int64_t NodeOpener::least_of_family(const Node& family, Seconds cutoff) {
  const std::int64_t state = bounds_.least_state(tree_.plan_of(family), tree_.least_place());
  if (state > usable_) return state;
  if (tree_.choices_by_stage && tree_.mesh_of(family).attention.pp > 1) {
    return least_of_stages(family);
  }
  const std::int64_t plain = bounds_.peak_of_family(tree_.plan_of(family));
  if (plain <= usable_) return plain;
  std::int64_t least = plain;
  for (const PlanBounds& b : *bounds_by_choice(family, cutoff)) {
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

PlanBounds NodeOpener::family_bounds(const Node& node, Seconds cutoff) {
  PlanBounds bounds = bounds_.family(tree_.plan_of(with_largest_group(node)), cutoff);
  if (node.meshes > 1 && bounds.step <= cutoff) {
    bounds.peak_bytes = bounds_.peak_of_family(tree_.plan_of(node));
  }
  return bounds;
}

// A larger group has more slots that are not paired, so none of the groups has the smallest bound.
template <class BoundOf>
Seconds NodeOpener::least_of_groups(const Node& node, const BoundOf& bound_of) const {
  Seconds least = kAnyTime;
  for (std::int32_t i = 0; i < node.meshes; ++i) {
    least = std::min(least, bound_of(tree_.plan_of(of_one_mesh(node, node.mesh + i))));
  }
  return least;
}

Seconds NodeOpener::bound_by_reference(const Node& node, Seconds cutoff,
                                       CompiledLayers& compiled) {
  return least_of_groups(node, [&](const Plan& plan) {
    return bounds_.by_reference(reference_of(plan), plan, cutoff, compiled);
  });
}

PlanBounds NodeOpener::own_bounds(const Node& node, Seconds cutoff) {
  if (node.meshes == 1) return bounds_.own(tree_.plan_of(node), cutoff);
  CompiledLayers compiled;
  PlanBounds bounds{least_of_groups(node, [&](const Plan& plan) {
    return bounds_.own_step(plan, cutoff, compiled);
  })};
  if (bounds.step <= cutoff) bounds.peak_bytes = bounds_.own_peak(tree_.plan_of(node));
  return bounds;
}

// The next tighter bound of a setting: its family's memory, then the reference's layers, then its
// own layers.
Opened NodeOpener::refine_setting(const Node& node, Seconds cutoff) {
  Opened opened;
  const Plan plan = tree_.plan_of(node);
  Node refined = node;
  ++refined.stage;
  if (node.stage == 0) {
    const bool repeated = node.memory == 0 && tree_.memory_repeats_another(node);
    if (const char* rule = repeated ? "no-effect" : tree_.broken_rule(plan)) {
      // Of this memory choice, perhaps not of those below.
      opened.rejected.push_back({rule, node.meshes});
      open_below(node, cutoff, opened);
      return opened;
    }
    if (tree_.by_stage(node)) {  // no faster than the plan that gives up nothing
      refined.bound = std::max(node.bound, own_bounds(node, cutoff).step);
      refined.stage = kBounded;
    } else if (node.memory > 0) {  // the bound of the first choice is that of the setting above
      const PlanBounds family = family_with_choice(node, cutoff);
      refined.bound = std::max(node.bound, family.step);
      if (family.peak_bytes > usable_) {
        does_not_fit(refined, family.peak_bytes, cutoff, opened);
        return opened;
      }
    }
    if (refined.stage < kBounded && reference_of(plan) == plan) ++refined.stage;
  } else if (node.stage == 1) {
    CompiledLayers compiled;
    refined.bound = std::max(node.bound, bound_by_reference(node, cutoff, compiled));
  } else {
    const PlanBounds own = own_bounds(node, cutoff);
    refined.bound = std::max(node.bound, own.step);
    if (own.peak_bytes > usable_) {
      does_not_fit(refined, own.peak_bytes, cutoff, opened);
      return opened;
    }
  }
  opened.children.push_back(refined);
  return opened;
}

// The plan of each group of microbatches. Choices below are tried for those that do not fit.
Opened NodeOpener::price(const Node& node, Seconds cutoff) {
  if (tree_.by_stage(node)) return price_by_stage(node);
  Opened opened;
  const std::int64_t below = tree_.memory.plans_below(node.memory) - 1;
  Node unfit = node;  // those that follow one another
  unfit.meshes = 0;
  const auto try_below = [&] {
    if (unfit.meshes > 0) open_below(unfit, cutoff, opened);
    unfit.meshes = 0;
  };
  CompiledLayers compiled;
  for (std::int32_t i = 0; i < node.meshes; ++i) {
    Node one = of_one_mesh(node, node.mesh + i);
    const Plan plan = tree_.plan_of(one);
    one.bound = std::max(one.bound, bounds_.own_step(plan, cutoff, compiled));
    if (one.bound > cutoff) {  // which may have sunk since the node was bounded
      opened.children.push_back(one);
      try_below();
      continue;
    }
    if (i > 0 && bounds_.own_peak(plan) > usable_) {
      opened.rejected.push_back({"memory", 1});
      if (unfit.meshes++ == 0) unfit.mesh = one.mesh;
      continue;
    }
    Priced& priced = opened.priced.emplace_back(one, estimator_(plan));
    const std::int64_t peak = priced.estimate.peak_bytes();
    const bool host_full = host_ > 0 && priced.estimate.host_bytes > host_;
    priced.fits = peak <= usable_ && !host_full;
    if (priced.fits) {
      if (below > 0) opened.rejected.push_back({"over-saving", below});
      try_below();
      continue;
    }
    if (peak > usable_) note_peak(peak, opened);
    opened.rejected.push_back({peak <= usable_ ? "host-memory" : "memory", 1});
    if (unfit.meshes++ == 0) unfit.mesh = one.mesh;
  }
  try_below();
  estimator_.parts(tree_.plan_of(node)).library->forget(true);  // they are priced once
  return opened;
}

Opened NodeOpener::price_by_stage(const Node& node) {
  Opened opened;
  for (std::int32_t i = 0; i < node.meshes; ++i) {
    const Node one = of_one_mesh(node, node.mesh + i);
    ChosenByStage chosen = choose_by_stage(tree_, estimator_, one, usable_, host_, gpus_per_node_);
    opened.cut = opened.cut || chosen.cut;
    if (!chosen.fits) {
      if (chosen.rule == std::string_view("memory")) note_peak(chosen.least_peak, opened);
      opened.rejected.push_back({chosen.rule, 1});
      continue;
    }
    Plan plan = tree_.plan_of(one);
    plan.stages = std::move(chosen.stages);
    Priced& priced = opened.priced.emplace_back(one, estimator_(plan));
    priced.fits = true;
    priced.stages = std::move(plan.stages);
  }
  return opened;
}

void NodeOpener::note_peak(std::int64_t peak, Opened& opened) {
  opened.least_peak = opened.least_peak > 0 ? std::min(opened.least_peak, peak) : peak;
}

void NodeOpener::does_not_fit(const Node& node, std::int64_t peak, Seconds cutoff,
                              Opened& opened) {
  note_peak(peak, opened);
  opened.rejected.push_back({"memory", node.meshes});
  open_below(node, cutoff, opened);
}

void NodeOpener::open_below(const Node& node, Seconds cutoff, Opened& opened) {
  if (tree_.memory.below(node.memory).empty()) return;
  open_fitting(node, *bounds_by_choice(node, cutoff), opened);
}

// All settings of a family ask for the same bounds.
PlanBounds NodeOpener::family_with_choice(Node node, Seconds cutoff) {
  node.setting = tree_.family_of(node.setting);
  const auto bits = bits_of(cutoff);
  return *with_choice_.get(
      {{node.mesh, node.meshes, node.setting, node.memory, bits.first, bits.second}},
      [&] { return std::make_shared<const PlanBounds>(family_bounds(node, cutoff)); },
      [](const PlanBounds&) { return std::size_t{1}; });
}

// All choices below a setting ask for the same bounds.
std::shared_ptr<const std::vector<PlanBounds>> NodeOpener::bounds_by_choice(Node node,
                                                                        Seconds cutoff) {
  node.memory = 0;
  const auto bits = bits_of(cutoff);
  return by_choice_.get(
      {{node.mesh, node.meshes, node.setting, bits.first, bits.second}},
      [&] {
        const Schedule smallest =
            schedule_of(tree_.plan_of(node), tree_.problem.workload);
        return std::make_shared<const std::vector<PlanBounds>>(
            bounds_.by_choice(tree_.plan_of(with_largest_group(node)), smallest, tree_.ways,
                              usable_, cutoff));
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
    const bool fits = bounds.peak_bytes <= usable_;
    if (fits && !tree_.memory_repeats_another(child)) {
      opened.children.push_back(child);
      continue;
    }
    opened.rejected.push_back({fits ? "no-effect" : "memory", node.meshes});
    if (!fits) note_peak(bounds.peak_bytes, opened);
    open_fitting(child, by_choice, opened);
  }
}

}  // namespace pleat
