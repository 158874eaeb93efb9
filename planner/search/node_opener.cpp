// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/search/node_opener.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "planner/search/best_list.hpp"
#include "planner/search/stage_choice.hpp"
#include "simulator/layer_library.hpp"
#include "simulator/step_timeline.hpp"

namespace pleat {
namespace {

// A plan that gives up more may take as long but for the rounding of its sums.
constexpr double kRounding = 1 - 1e-9;

}  // namespace

NodeOpener::NodeOpener(const PlanTree& tree, PlanPrices& prices, const ClusterSpec& cluster,
                       std::int64_t usable)
    : tree_(tree),
      estimator_(prices.estimator),
      bounds_(prices.bounds),
      of_(tree, prices.bounds, usable),
      below_(tree, of_, usable),
      usable_(usable),
      host_(static_cast<std::int64_t>(cluster.host_memory.base())),
      gpus_per_node_(cluster.gpus_per_node) {}

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
    const PlanBounds bounds = of_.mesh(mesh - 1, cutoff);
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
  if (node.stage < kBounded) {
    Node& refined = opened.children.emplace_back(node);
    refined.bound = std::max(node.bound, node.stage == 0 ? of_.whole_mesh(node, cutoff)
                                                         : of_.exchanges(node, cutoff));
    refined.stage = node.stage == 0 ? std::int8_t{1} : kBounded;
    return opened;
  }
  const std::int64_t least = of_.least_peak_of_mesh(node);
  if (least > usable_) return no_memory(node, least);
  const Plan mesh_plan = tree_.mesh_plan(node);
  for (std::size_t e = 0; e < tree_.exchanges.size(); ++e) {
    Node child = node;
    child.level = Level::exchange;
    child.exchange = static_cast<std::int16_t>(e);
    child.setting = tree_.exchanges[e].families.front();
    child.memory = 0;
    child.stage = 0;
    if (const char* rule = tree_.left_out(mesh_plan, node, e)) {
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
  refined.bound = std::max(node.bound, of_.exchange(node, cutoff));
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
    if (tree_.setting_repeats_another(first, mesh)) {
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
    if (child.settings == 0) continue;
    if (const std::int64_t least = of_.least_state(child); least > usable_) {
      opened.note_peak(least);
      opened.rejected.push_back({"memory", tree_.plans_of(child)});
      continue;
    }
    opened.children.push_back(child);
  }
  return opened;
}

// Computes the next tighter bound of a family: first the family bound with the reference's layers,
// then the smallest bound of its settings with their references' layers, last the bound with its
// own layers. Most families are cut off before the last.
Opened NodeOpener::refine_family(const Node& node, Seconds cutoff) {
  Opened opened;
  Node& refined = opened.children.emplace_back(node);
  ++refined.stage;
  Seconds bound;
  if (node.stage == 0) {
    bound = of_.family_by_reference(node, cutoff);
    if (of_.is_reference(node)) refined.stage = kBounded;
  } else if (node.stage == 1) {
    bound = of_.members_by_references(node, cutoff);
  } else {
    refined.stage = kBounded;
    const PlanBounds own = of_.family(node, cutoff);
    bound = own.step;
    if (own.peak_bytes > usable_) {
      const Seconds least = of_.least_that_fits(node, cutoff);
      if (std::isinf(least.base())) return no_memory(node, of_.least_of_family(node, cutoff));
      bound = std::max(bound, least);
    }
  }
  refined.bound = std::max(node.bound, bound);
  return opened;
}

Opened NodeOpener::open_family(const Node& node, Seconds cutoff) {
  Opened opened;
  // refine_family has checked the memory of all other families.
  const bool by_stage = tree_.choices_by_stage && tree_.mesh_of(node).attention.pp > 1;
  if (by_stage || of_.is_reference(node)) {
    const std::int64_t least = of_.least_of_family(node, cutoff);
    if (least > usable_) return no_memory(node, least);
  }
  of_.for_each_setting(node, [&](std::size_t s) {  // invalid settings were counted before
    Node child = node;
    child.level = Level::setting;
    child.setting = static_cast<std::int16_t>(s);
    child.settings = 1;
    child.stage = 0;
    opened.children.push_back(child);
  });
  return opened;
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
      below_.open(node, cutoff, opened);
      return opened;
    }
    if (tree_.by_stage(node)) {  // no faster than the plan that gives up nothing
      refined.bound = std::max(node.bound, of_.own(node, cutoff).step);
      refined.stage = kBounded;
    } else if (node.memory > 0 && !below_.bounds_offload(node.memory)) {
      // The bound of the first choice is that of the setting above.
      const PlanBounds family = of_.family_with_choice(node, cutoff);
      refined.bound = std::max(node.bound, family.step);
      if (family.peak_bytes > usable_) {
        does_not_fit(refined, family.peak_bytes, cutoff, opened);
        return opened;
      }
    }
    if (refined.stage < kBounded && of_.is_reference(node)) ++refined.stage;
  } else if (node.stage == 1) {
    refined.bound = std::max(node.bound, of_.by_reference(node, cutoff));
  } else {
    const PlanBounds own = of_.own(node, cutoff);
    refined.bound = std::max(node.bound, own.step);
    const bool fits = own.peak_bytes <= usable_;
    if (node.memory == 0 && !fits && refined.bound <= cutoff) {
      const Seconds least = below_.least(node, cutoff, refined.bound);
      if (std::isfinite(least.base())) refined.bound = std::max(refined.bound, least);
    }
    if (!fits && refined.bound <= cutoff && !below_.worth_a_price(refined, cutoff)) {
      does_not_fit(refined, own.peak_bytes, cutoff, opened);
      return opened;
    }
  }
  opened.children.push_back(refined);
  return opened;
}

// The plan of each group of microbatches. Choices below are tried for those that do not fit.
Opened NodeOpener::price(const Node& node, Seconds cutoff) {
  if (tree_.by_stage(node)) return price_by_stage(node, cutoff);
  Opened opened;
  const std::int64_t below = tree_.memory.plans_below(node.memory) - 1;
  Node unfit = node;  // those that follow one another; no plan that gives up more is faster
  unfit.meshes = 0;
  const auto try_below = [&] {
    if (unfit.meshes > 0) below_.open(unfit, cutoff, opened);
    unfit.meshes = 0;
  };
  const auto give_up = [&](const Node& one, const char* rule) {
    opened.rejected.push_back({rule, 1});
    unfit.bound = unfit.meshes == 0 ? one.bound : std::min(unfit.bound, one.bound);
    if (unfit.meshes++ == 0) unfit.mesh = one.mesh;
  };
  CompiledLayers compiled;
  for (std::int32_t i = 0; i < node.meshes; ++i) {
    Node one = of_one_mesh(node, node.mesh + i);
    const Plan plan = tree_.plan_of(one);
    one.bound = std::max(one.bound, bounds_.own_step(plan, cutoff, compiled));
    std::int64_t peak = 0;
    if (one.bound <= cutoff) peak = bounds_.own_peak(plan);
    if (peak > usable_ && below_.worth_a_price(one, cutoff)) {
      one.bound = std::max(one.bound, estimator_.step_at(plan, kClockSteps) * kRounding);
    }
    if (one.bound > cutoff) {  // which may have sunk since the node was bounded
      opened.children.push_back(one);
      try_below();
      continue;
    }
    if (peak > usable_) {
      opened.note_peak(peak);
      give_up(one, "memory");
      continue;
    }
    Estimator::Limited price = estimator_.up_to(cutoff * (1 + kSpareValue), plan);
    one.bound = std::max(one.bound, price.least * kRounding);
    if (!price.estimate) {  // nor is one below it any faster
      opened.children.push_back(one);
      try_below();
      continue;
    }
    opened.priced.push_back(with_estimate(one, std::move(*price.estimate)));
    const Priced& priced = opened.priced.back();
    if (priced.fits) {
      if (below > 0) opened.rejected.push_back({"over-saving", below});
      try_below();
      continue;
    }
    peak = priced.estimate.peak_bytes();
    if (peak > usable_) opened.note_peak(peak);
    give_up(one, peak <= usable_ ? "host-memory" : "memory");
  }
  try_below();
  estimator_.parts(tree_.plan_of(node)).library->forget(true);  // they are priced once
  return opened;
}

Priced NodeOpener::with_estimate(const Node& node, StepEstimate estimate) const {
  const bool host_full = host_ > 0 && estimate.host_bytes > host_;
  const bool fits = estimate.peak_bytes() <= usable_ && !host_full;
  return {.node = node, .estimate = std::move(estimate), .fits = fits};
}

Priced NodeOpener::price_one(const Node& node) {
  const Plan plan = tree_.plan_of(node);
  StepEstimate estimate = estimator_(plan);
  estimator_.parts(plan).library->forget(true);
  return with_estimate(node, std::move(estimate));
}

Opened NodeOpener::price_by_stage(const Node& node, Seconds cutoff) {
  Opened opened;
  for (std::int32_t i = 0; i < node.meshes; ++i) {
    Node one = of_one_mesh(node, node.mesh + i);
    ChosenByStage chosen = choose_by_stage(tree_, estimator_, bounds_, one, cutoff, usable_, host_,
                                           gpus_per_node_);
    opened.stage_choices += chosen.compiled;
    opened.cut = opened.cut || chosen.cut;
    const auto wait_for_cutoff = [&](Seconds least) {  // which may rise again
      one.bound = std::max(one.bound, least);
      opened.children.push_back(one);
    };
    if (!chosen.fits && chosen.rule == nullptr) {
      wait_for_cutoff(chosen.left_out);
      continue;
    }
    if (!chosen.fits) {
      if (chosen.rule == std::string_view("memory")) opened.note_peak(chosen.least_peak);
      opened.rejected.push_back({chosen.rule, 1});
      continue;
    }
    Plan plan = tree_.plan_of(one);
    plan.stages = std::move(chosen.stages);
    StepEstimate estimate = estimator_(plan);
    if (estimate.step > cutoff && std::isfinite(chosen.left_out.base())) {
      wait_for_cutoff(std::min(chosen.left_out, estimate.step));
      continue;
    }
    Priced& priced = opened.priced.emplace_back(one, std::move(estimate));
    priced.fits = true;
    priced.stages = std::move(plan.stages);
  }
  return opened;
}

void NodeOpener::does_not_fit(const Node& node, std::int64_t peak, Seconds cutoff,
                              Opened& opened) {
  opened.note_peak(peak);
  opened.rejected.push_back({"memory", node.meshes});
  below_.open(node, cutoff, opened);
}

}  // namespace pleat
