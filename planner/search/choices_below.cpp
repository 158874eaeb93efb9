// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/search/choices_below.hpp"

#include <algorithm>
#include <cmath>

#include "planner/space/runtime_rules.hpp"

namespace pleat {
namespace {

// Nodes that are cut off together if the bound, or the price, of a plan that does not fit is above
// the cutoff.
constexpr int kWorthABound = 4, kWorthAPrice = 16;

}  // namespace

ChoicesBelow::ChoicesBelow(const PlanTree& tree, NodeBounds& bounds, std::int64_t usable)
    : tree_(tree), of_(bounds), usable_(usable) {
  for (std::size_t c = 0; c < tree.choices.size(); ++c) {
    const MemoryChoice& choice = tree.choices[c];
    const bool recomputes = choice.offload.empty() && !choice.by_stage &&
                            choice.recompute != RecomputeChoice{};
    bounds_offload_.push_back(
        recomputes && std::ranges::any_of(tree.memory.below(static_cast<int>(c)), [&](int m) {
          return !tree.choices[static_cast<std::size_t>(m)].offload.empty();
        }));
  }
}

ChoicesBelow::Known ChoicesBelow::known_of(const Node& node, Seconds cutoff) {
  return {of_.by_choice(node, cutoff), of_.steps_of_choices(node, cutoff), cutoff};
}

int ChoicesBelow::count(int choice, const BoundsByChoice& by_choice, Seconds cutoff,
                        int enough) const {
  int count = 0;
  for (const std::int16_t m : tree_.memory.below(choice)) {
    const PlanBounds& bounds = by_choice[static_cast<std::size_t>(m)];
    if (bounds.step > cutoff) continue;
    const bool fits = bounds.peak_bytes <= usable_;
    count += fits ? 1 : this->count(m, by_choice, cutoff, enough - count);
    if (count >= enough) break;
  }
  return count;
}

bool ChoicesBelow::worth_a_price(const Node& node, Seconds cutoff) {
  return std::isfinite(cutoff.base()) && !tree_.memory.below(node.memory).empty() &&
         count(node.memory, *of_.by_choice(node, cutoff), cutoff, kWorthAPrice) == kWorthAPrice;
}

Seconds ChoicesBelow::least(const Node& node, Seconds cutoff, Seconds enough) {
  Known known = known_of(node, cutoff);
  return least(node, known, enough);
}

Seconds ChoicesBelow::least(const Node& node, Known& known, Seconds enough) const {
  Seconds least = kAnyTime;
  for (const std::int16_t m : tree_.memory.below(node.memory)) {
    const PlanBounds& bounds = (*known.bounds)[static_cast<std::size_t>(m)];
    if (bounds.step >= least) continue;
    Node child = node;
    child.memory = m;
    const bool fits = bounds.peak_bytes <= usable_;
    least = std::min(least, fits ? std::max(bounds.step, known.steps(m))
                                 : this->least(child, known, enough));
    if (least <= enough) break;
  }
  return least;
}

void ChoicesBelow::open(const Node& node, Seconds cutoff, Opened& opened) {
  if (tree_.memory.below(node.memory).empty()) return;
  Known known = known_of(node, cutoff);
  open(node, known, opened);
}

void ChoicesBelow::open(const Node& node, Known& known, Opened& opened) const {
  for (const std::int16_t m : tree_.memory.below(node.memory)) {
    const PlanBounds& bounds = (*known.bounds)[static_cast<std::size_t>(m)];
    Node child = node;
    child.memory = m;
    child.stage = 0;
    if (bounds.peak_bytes == kStepRefused) {  // nor is one below it run
      const char* const rule = refused_cpu_step(tree_.config.runtime, tree_.plan_of(child));
      opened.rejected.push_back({rule, node.meshes * tree_.memory.plans_below(m)});
      continue;
    }
    child.bound = std::max(node.bound, bounds.step);
    const bool fits = bounds.peak_bytes <= usable_;
    const bool of_use =
        fits || (bounds_offload(m) &&
                 count(m, *known.bounds, known.cutoff, kWorthABound) == kWorthABound);
    if (of_use && !tree_.memory_repeats_another(child)) {
      if (child.bound <= known.cutoff) child.bound = std::max(child.bound, known.steps(m));
      opened.children.push_back(child);
      continue;
    }
    const bool host_full = bounds.peak_bytes == kHostIsFull;
    const char* const rule = fits ? "no-effect" : host_full ? "host-memory" : "memory";
    opened.rejected.push_back({rule, node.meshes});
    if (!fits && !host_full) opened.note_peak(bounds.peak_bytes);
    open(child, known, opened);
  }
}

}  // namespace pleat
