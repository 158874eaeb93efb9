// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/search/node_opener.hpp"

#include <algorithm>
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

PlanBounds NodeOpener::mesh_bounds(std::int32_t mesh) {
  Plan plan = tree_.mesh_plan({.bound = {}, .mesh = mesh});
  std::optional<PlanBounds> least;
  for (const Setting& s : tree_.least_work) {
    s.put_into(plan);
    const PlanBounds b = bounds_.mesh(plan, tree_.state_choices(plan));
    if (!least) least = b;
    *least = {std::min(least->step, b.step), std::min(least->peak_bytes, b.peak_bytes)};
  }
  return *least;
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
    case Level::mesh: return open_mesh(node);
    case Level::graph: return open_graph(node);
    case Level::family:
      return node.stage == kBounded ? open_family(node) : refine_family(node, cutoff);
    case Level::setting:
      return node.stage == kBounded ? price(node) : refine_setting(node, cutoff);
  }
  return {};
}

Opened NodeOpener::open_mesh(const Node& node) {
  Opened opened;
  Plan plan = tree_.mesh_plan(node);
  tree_.least_work.front().put_into(plan);
  const StateChoices state = tree_.state_choices(plan);
  const auto least_of = [&](const auto& bound) {
    auto least = bound();
    for (std::size_t i = 1; i < tree_.least_work.size(); ++i) {
      plan.dispatcher = tree_.least_work[i].dispatcher;
      least = std::min(least, bound());
    }
    plan.dispatcher = tree_.least_work.front().dispatcher;
    return least;
  };
  if (node.stage < kBounded) {
    Node& refined = opened.children.emplace_back(node);
    refined.bound = std::max(node.bound, least_of([&] { return bounds_.whole_mesh(plan, state); }));
    refined.stage = kBounded;
    return opened;
  }
  if (tree_.least_memory > 0) {
    tree_.choices[static_cast<std::size_t>(tree_.least_memory)].put_into(plan);
    const std::int64_t least = least_of([&] {
      return bounds_.least_peak(plan, state.shardings.back(), tree_.least_saved);
    });
    MemoryChoice{}.put_into(plan);
    if (least > usable_) return no_memory(node, least);
  }
  for (std::size_t g = 0; g < kGraphModes; ++g) {
    if (tree_.plans_of_graph[g] == 0) continue;
    Node child = node;
    child.graph = static_cast<std::int8_t>(g);
    child.level = Level::graph;
    child.stage = 0;
    child.bound = std::max(node.bound, least_of([&] {
      return bounds_.graph(plan, static_cast<CudaGraph>(g), state);
    }));
    opened.children.push_back(child);
  }
  return opened;
}

Opened NodeOpener::no_memory(const Node& node, std::int64_t least) const {
  Opened opened;
  opened.least_peak = least;
  opened.rejected.push_back({"memory", tree_.plans_of(node)});
  return opened;
}

// Makes a node for each family of settings, with the bound of the graph mode: a bound of its own
// needs prices of layers.
Opened NodeOpener::open_graph(const Node& node) {
  Opened opened;
  const auto all = static_cast<std::int64_t>(tree_.choices.size());
  const Mesh& mesh = tree_.mesh_of(node);
  Plan plan = tree_.mesh_plan(node);
  for (std::size_t first = 0, end = 0; first < tree_.settings.size(); first = end) {
    end = tree_.end_of_family(first);
    if (static_cast<std::int8_t>(tree_.settings[first].graph) != node.graph) continue;
    const auto count = static_cast<std::int64_t>(end - first);
    if (tree_.settings[first].repeats_another(mesh, tree_.settings)) {
      opened.rejected.push_back({"moot", count * all});
      continue;
    }
    if (const char* rule = tree_.settings[first].void_on(mesh)) {
      opened.rejected.push_back({rule, count * all});
      continue;
    }
    Node child = node;
    child.level = Level::family;
    child.setting = static_cast<std::int16_t>(first);
    child.memory = 0;
    child.settings = 0;
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
    for_each_setting(node, [&](std::size_t s) {
      tree_.settings[s].put_into(member);
      bound = std::min(bound, bounds_.by_reference(reference_of(member), member, cutoff));
    });
  } else {
    bound = bounds_.family(plan, cutoff).step;
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

std::int64_t NodeOpener::least_of_family(const Node& family) {
  const std::int64_t state = bounds_.least_state(tree_.plan_of(family), tree_.least_place());
  if (state > usable_) return state;
  const auto peak = [&](std::size_t memory) {
    Node node = family;
    node.memory = static_cast<std::int16_t>(memory);
    return bounds_.peak_of_family(tree_.plan_of(node));
  };
  if (tree_.choices_by_stage && tree_.mesh_of(family).attention.pp > 1) {
    return least_of_stages(family);
  }
  std::int64_t least = peak(0);
  if (least > usable_) least = std::min(least, peak(static_cast<std::size_t>(tree_.least_memory)));
  for (std::size_t m = 1; m < tree_.choices.size() && least > usable_; ++m) {
    least = std::min(least, peak(m));
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
    const char* const repeated = tree_.memory_repeats_another(node) ? "moot" : nullptr;
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
      const PlanBounds family = bounds_.family(plan, cutoff);
      refined.bound = std::max(node.bound, family.step);
      if (family.peak_bytes > usable_) {
        does_not_fit(refined, family.peak_bytes, opened);
        return opened;
      }
    }
    if (refined.stage < kBounded && reference_of(plan) == plan) ++refined.stage;
  } else if (node.stage == 1) {
    refined.bound = std::max(node.bound, bounds_.by_reference(reference_of(plan), plan, cutoff));
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
    if (below > 0) opened.rejected.push_back({"needless", below});
  } else {
    does_not_fit(node, peak, opened);
  }
  return opened;
}

Opened NodeOpener::price_by_stage(const Node& node) {
  Opened opened;
  ChosenByStage chosen =
      choose_by_stage(tree_, estimator_, node, usable_, host_, gpus_per_node_);
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

void NodeOpener::does_not_fit(const Node& node, std::int64_t peak, Opened& opened) const {
  opened.least_peak = peak;
  opened.rejected.push_back({"memory", 1});
  open_below(node, opened);
}

void NodeOpener::open_below(const Node& node, Opened& opened) const {
  for (const std::int16_t m : tree_.memory.below(node.memory)) {
    Node child = node;
    child.memory = m;
    child.stage = 0;
    opened.children.push_back(child);
  }
}

}  // namespace pleat
