// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/search/node_bounds.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "core/program/compile_stage.hpp"
#include "planner/bounds/one_choice_bounds.hpp"

namespace pleat {
namespace {

// A time as part of a key: equal times, and no others, have equal bits.
std::pair<std::int32_t, std::int32_t> bits_of(Seconds time) {
  const auto bits = std::bit_cast<std::uint64_t>(time.base());
  return {static_cast<std::int32_t>(bits), static_cast<std::int32_t>(bits >> 32)};
}

// At most 0.4% more. What holds for plans within that holds for those within the cutoff, and bounds
// need not be worked out again for every new cutoff.
Seconds rounded_up(Seconds cutoff) {
  if (!std::isfinite(cutoff.base())) return cutoff;
  int exponent = 0;
  const double mantissa = std::frexp(cutoff.base(), &exponent);  // 0.5 to 1
  return Seconds(std::ldexp(std::ceil(mantissa * 512) / 512, exponent));
}

}  // namespace

NodeBounds::NodeBounds(const PlanTree& tree, BoundTable& bounds, std::int64_t usable)
    : tree_(tree), bounds_(bounds), usable_(usable) {}

// Settings that mean the same on the mesh are visited once.
template <class Visit>
void NodeBounds::for_each_least_work(const Node& node, const Visit& visit) const {
  Plan plan = tree_.mesh_plan(node);
  for (const Setting& s : tree_.least_work) {
    if (!tree_.needs_least_work(s, tree_.mesh_of(node))) continue;
    tree_.put_least_work(s, plan);
    visit(plan);
  }
}

Seconds NodeBounds::grid(const Node& grid) {
  Seconds least = kAnyTime;
  for_each_least_work(grid, [&](const Plan& plan) { least = std::min(least, bounds_.grid(plan)); });
  return least;
}

PlanBounds NodeBounds::mesh(std::int32_t mesh, Seconds cutoff) {
  std::optional<PlanBounds> least;
  for_each_least_work({.bound = {}, .mesh = mesh}, [&](const Plan& plan) {
    const PlanBounds b = bounds_.mesh(plan, tree_.state_choices(plan), cutoff);
    if (!least) least = b;
    *least = {std::min(least->step, b.step), std::min(least->peak_bytes, b.peak_bytes)};
  });
  return *least;
}

Seconds NodeBounds::whole_mesh(const Node& node, Seconds cutoff) {
  Seconds least = kAnyTime;
  for_each_least_work(with_largest_group(node), [&](const Plan& plan) {
    least = std::min(least, bounds_.whole_mesh(plan, tree_.state_choices(plan), cutoff));
  });
  return least;
}

Seconds NodeBounds::exchanges(const Node& mesh, Seconds cutoff) {
  constexpr std::size_t kBits = 64;  // of Exchanges::which
  if (tree_.exchanges.size() > kBits) return mesh.bound;
  const Node node = with_largest_group(mesh);
  BoundTable::Exchanges all{.which = 0,
                            .graph = tree_.least_work.front().graph,
                            .references = {}};
  std::vector<std::int16_t> settings;
  const Plan mesh_plan = tree_.mesh_plan(mesh);
  for (std::size_t e = 0; e < tree_.exchanges.size(); ++e) {
    if (tree_.left_out(mesh_plan, mesh, e) != nullptr) continue;
    all.which |= std::uint64_t{1} << e;
    settings.push_back(tree_.exchanges[e].families.front());
  }
  if (settings.empty()) return mesh.bound;
  all.references = [&] {
    std::vector<Plan> plans;
    for (const std::int16_t setting : settings) {
      Node one = node;
      one.setting = setting;
      one.memory = 0;
      plans.push_back(reference_of(tree_.plan_of(one)));
    }
    return plans;
  };
  Seconds least = kAnyTime;
  for_each_least_work(node, [&](const Plan& plan) {
    least = std::min(least, bounds_.exchanges(plan, all, tree_.state_choices(plan), cutoff));
  });
  return least;
}

std::int64_t NodeBounds::least_peak_of_mesh(const Node& node) {
  if (tree_.least_memory <= 0) return 0;
  const MemoryChoice& all = tree_.choices[static_cast<std::size_t>(tree_.least_memory)];
  std::int64_t least = kNoPeak;
  for_each_least_work(node, [&](Plan plan) {
    all.put_into(plan);
    const Sharding most = tree_.state_choices(plan).shardings.back();
    least = std::min(least, bounds_.least_peak(plan, most, tree_.least_saved));
  });
  return least;
}

Plan NodeBounds::reference_of(Plan plan) const {
  put_shards(std::min(plan.sharding, Sharding::zero1), 0, plan);
  plan.cuda_graph = tree_.least_work.front().graph;
  return plan;
}

bool NodeBounds::is_reference(const Node& node) const {
  const Plan plan = tree_.plan_of(node);
  return reference_of(plan) == plan;
}

Seconds NodeBounds::exchange(const Node& node, Seconds cutoff) {
  const Plan reference = reference_of(tree_.plan_of(with_largest_group(node)));
  return bounds_.exchange(reference, tree_.state_choices(reference), cutoff);
}

Seconds NodeBounds::family_by_reference(const Node& node, Seconds cutoff) {
  const Plan plan = tree_.plan_of(with_largest_group(node));
  return bounds_.family_by_reference(reference_of(plan), plan, cutoff);
}

Seconds NodeBounds::members_by_references(const Node& node, Seconds cutoff) {
  Seconds least = kAnyTime;
  CompiledLayers compiled;  // members that differ in the order of pairs share them
  Node member = node;
  for_each_setting(node, [&](std::size_t s) {
    member.setting = static_cast<std::int16_t>(s);
    least = std::min(least, by_reference(member, cutoff, compiled));
  });
  return least;
}

PlanBounds NodeBounds::family(const Node& node, Seconds cutoff) {
  PlanBounds bounds = bounds_.family(tree_.plan_of(with_largest_group(node)), cutoff);
  if (node.meshes > 1 && bounds.step <= cutoff) {
    bounds.peak_bytes = bounds_.peak_of_family(tree_.plan_of(node));
  }
  return bounds;
}

PlanBounds NodeBounds::family_with_choice(Node node, Seconds cutoff) {
  cutoff = rounded_up(cutoff);
  node.setting = tree_.family_of(node.setting);
  const auto bits = bits_of(cutoff);
  return *with_choice_.get(
      {{node.mesh, node.meshes, node.setting, node.memory, bits.first, bits.second}},
      [&] { return std::make_shared<const PlanBounds>(family(node, cutoff)); },
      [](const PlanBounds&) { return std::size_t{1}; });
}

Seconds NodeBounds::least_that_fits(const Node& family, Seconds cutoff) {
  Seconds least = kAnyTime;
  const auto choices = by_choice(family, cutoff);
  for (const PlanBounds& b : choices->different()) {
    if (b.peak_bytes <= usable_) least = std::min(least, b.step);
  }
  return least;
}

Seconds NodeBounds::least_own_that_fits(const Node& setting, Seconds cutoff) {
  const auto choices = by_choice(setting, cutoff);
  ChoiceSteps own = steps_of_choices(setting, cutoff);
  Seconds least = kAnyTime;
  for (std::size_t m = 0; m < choices->choices(); ++m) {
    const PlanBounds& b = (*choices)[m];
    if (b.peak_bytes > usable_ || b.step >= least) continue;
    least = std::min(least, std::max(b.step, own(static_cast<int>(m))));
  }
  return least;
}

std::int64_t NodeBounds::least_state(const Node& family) {
  Plan of_mesh = tree_.mesh_plan(with_largest_group(family));
  tree_.put_least_work(tree_.least_work.front(), of_mesh);
  const Plan plan = tree_.plan_of(family);
  return bounds_.least_state(of_mesh, plan, tree_.state_choices(plan));
}

std::int64_t NodeBounds::least_of_family(const Node& family, Seconds cutoff) {
  if (tree_.choices_by_stage && tree_.mesh_of(family).attention.pp > 1) {
    return least_of_stages(family);
  }
  const std::int64_t plain = bounds_.peak_of_family(tree_.plan_of(family));
  if (plain <= usable_) return plain;
  std::int64_t least = plain;
  const auto choices = by_choice(family, cutoff);
  for (const PlanBounds& b : choices->different()) {
    if (b.peak_bytes > 0) least = std::min(least, b.peak_bytes);
  }
  return least;
}

// The least bytes where stages may choose for themselves: each has the choice that needs the least.
std::int64_t NodeBounds::least_of_stages(const Node& family) {
  Node node = family;
  node.memory = 0;
  const Plan plain = tree_.plan_of(node);
  OneChoiceBounds bounds(bounds_, plain, schedule_of(plain, tree_.problem.workload), tree_.ways,
                         kAnyTime);
  std::vector<std::int64_t> least(static_cast<std::size_t>(plain.attention.pp), kNoPeak);
  for (const ChoiceWays::Choice& choice : tree_.ways.choices) {
    if (choice.by_stage) continue;
    bounds.set(choice);
    for (std::size_t s = 0; s < least.size(); ++s) {
      least[s] = std::min(least[s], bounds.bytes_of_stage(s));
    }
    if (std::ranges::max(least) <= usable_) break;
  }
  return std::ranges::max(least);
}

// A larger group has more slots that are not paired, so none of the groups has the smallest bound.
template <class BoundOf>
Seconds NodeBounds::least_of_groups(const Node& node, const BoundOf& bound_of) const {
  Seconds least = kAnyTime;
  for (std::int32_t i = 0; i < node.meshes; ++i) {
    least = std::min(least, bound_of(tree_.plan_of(of_one_mesh(node, node.mesh + i))));
  }
  return least;
}

Seconds NodeBounds::by_reference(const Node& node, Seconds cutoff, CompiledLayers& compiled) {
  return least_of_groups(node, [&](const Plan& plan) {
    return bounds_.by_reference(reference_of(plan), plan, cutoff, compiled);
  });
}

PlanBounds NodeBounds::own(const Node& node, Seconds cutoff) {
  CompiledLayers compiled;
  PlanBounds bounds{least_of_groups(
      node, [&](const Plan& plan) { return bounds_.own_step(plan, cutoff, compiled); })};
  if (bounds.step <= cutoff) bounds.peak_bytes = bounds_.own_peak(tree_.plan_of(node));
  return bounds;
}

std::shared_ptr<const BoundsByChoice> NodeBounds::by_choice(Node node, Seconds cutoff) {
  cutoff = rounded_up(cutoff);
  node.memory = 0;
  // Without split backward passes no stage holds less for running its passes in pairs.
  if (!splits_backward(tree_.mesh_of(node).schedule)) node.setting = tree_.family_of(node.setting);
  const auto bits = bits_of(cutoff);
  return by_choice_.get(
      {{node.mesh, node.meshes, node.setting, bits.first, bits.second}},
      [&] {
        const Schedule smallest = schedule_of(tree_.plan_of(node), tree_.problem.workload);
        return std::make_shared<const BoundsByChoice>(
            bounds_.by_choice(tree_.plan_of(with_largest_group(node)), smallest,
                              tree_.ways_as_needed, usable_, cutoff));
      },
      [](const BoundsByChoice& bounds) { return bounds.bytes(); });
}

ChoiceSteps NodeBounds::steps_of_choices(Node node, Seconds cutoff) {
  cutoff = rounded_up(cutoff);
  node.memory = 0;
  const auto bits = bits_of(cutoff);
  auto times = times_of_choices_.get(
      {{node.mesh, node.meshes, node.setting, bits.first, bits.second}},
      [&] {
        std::vector<ChoiceTimes> list;
        const bool known = !splits_backward(tree_.mesh_of(node).schedule);
        for (std::int32_t i = 0; known && i < node.meshes; ++i) {
          const Plan plan = tree_.plan_of(of_one_mesh(node, node.mesh + i));
          list.push_back(bounds_.times_of_choices(plan, tree_.ways_as_needed, cutoff));
        }
        return std::make_shared<const std::vector<ChoiceTimes>>(std::move(list));
      },
      [](const std::vector<ChoiceTimes>& list) { return list.size(); });
  return {std::move(times), tree_.ways_as_needed};
}

ChoiceSteps::ChoiceSteps(std::shared_ptr<const std::vector<ChoiceTimes>> times,
                         const ChoiceWays& ways)
    : times_(std::move(times)), ways_(ways) {
  for (const ChoiceTimes& of_mesh : *times_) bytes_.emplace_back(of_mesh.chunks, ways);
}

Seconds ChoiceSteps::operator()(int choice) {
  if (times_->empty()) return {};
  const ChoiceWays::Choice& c = ways_.choices[static_cast<std::size_t>(choice)];
  Seconds least = kAnyTime;
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    bytes_[i].set(c);
    least = std::min(least, (*times_)[i].step(c, &bytes_[i].copies()));
  }
  return least;
}

}  // namespace pleat
