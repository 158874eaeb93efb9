// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/space/plan_tree.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "planner/space/runtime_rules.hpp"
#include "simulator/uncertainty.hpp"

namespace pleat {
namespace {

// They look at the mesh, the kind of CP and the overlap of tensor-parallel exchanges alone.
constexpr std::string_view kExchangeRules[] = {"tp-overlap", "cp-heads", "cp-groups",
                                               "cp-selected-keys"};

std::vector<MemoryChoice> most_saving(const std::vector<MemoryChoice>& choices,
                                      const ChoiceWays& ways) {
  std::vector<MemoryChoice> list;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const int most = ways.choices[i].most;
    const bool is_most = most < 0 || static_cast<std::size_t>(most) == i;
    if (is_most && !choices[i].by_stage) list.push_back(choices[i]);
  }
  return list;
}

}  // namespace

PlanTree::PlanTree(const Problem& p, const SearchConfig& c)
    : problem(p),
      config(c),
      space(non_empty_meshes(p, c)),
      settings(pleat::settings(p.model, p.cluster, c)),
      choices(memory_choices(p.model, p.cluster, c)),
      memory(choices),
      ways(choices),
      ways_as_needed(choices, memory),
      ways_of_most(most_saving(choices, ways_as_needed)),
      least_work(pleat::least_work(settings, c.runtime)) {
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const MemoryChoice& choice = choices[i];
    const RecomputeChoice& r = choice.recompute;
    choices_by_stage = choices_by_stage || choice.by_stage;
    least_place_ = std::max(least_place_, choice.state);
    if (r.full && r.layers == 0 && r.unit == 1) least_memory = static_cast<std::int16_t>(i);
    // A unit of layers keeps the input of one layer; an offloaded layer keeps nothing.
    const auto all = static_cast<double>(p.model.layers);
    least_saved = std::min({least_saved, 1.0 / r.unit, (all - choice.offload_layers) / all});
  }
  for (std::size_t i = 0; i < choices.size(); ++i) {
    MemoryChoice bare = choices[i];
    bare.state = StatePlace::device;
    bare.share = 1;
    const bool end =
        bare == MemoryChoice{} || bare == choices[static_cast<std::size_t>(least_memory)];
    if (end) ends.push_back(static_cast<std::int16_t>(i));
  }
  for (const Constraint& rule : constraints()) {
    if (rule.of_mesh) continue;
    rules_.push_back(&rule);
    const bool known = std::ranges::find(kExchangeRules, rule.name) != std::end(kExchangeRules);
    if (known) exchange_rules_.push_back(&rule);
  }
  end_of_family_.assign(settings.size(), settings.size());
  for (std::size_t i = settings.size(); i-- > 1;) {
    const bool same = settings[i].same_family(settings[i - 1]);
    end_of_family_[i - 1] = same ? end_of_family_[i] : i;
  }
  for (std::size_t first = 0; first < settings.size(); first = end_of_family_[first]) {
    family_of_.resize(end_of_family_[first], static_cast<std::int16_t>(first));
    const auto known = std::ranges::find_if(exchanges, [&](const Exchange& e) {
      return settings[static_cast<std::size_t>(e.families.front())].same_exchanges(settings[first]);
    });
    Exchange& exchange = known == exchanges.end() ? exchanges.emplace_back() : *known;
    exchange.families.push_back(static_cast<std::int16_t>(first));
    exchange.settings += static_cast<std::int64_t>(end_of_family_[first] - first);
  }
  for (const Setting& s : settings) {
    first_alike_.push_back(static_cast<std::size_t>(&s.first_alike(settings) - settings.data()));
  }
  const bool tiles = std::ranges::any_of(
      settings, [](const Setting& s) { return s.overlap.tile_level; });
  gather_undercuts_ = c.runtime == Runtime::megatron && p.workload.capacity_factor == 0 &&
                      !tiles && space.plan(space.meshes.front(), c).fusions.permute;
  state_ = find_state_choices(false);
  state_of_pipelines_ = find_state_choices(true);
  // A plan without token exchange and sharded weights has the narrowest band.
  if (config.robust) least_weight_ = 1 + relative_band(problem.model, Plan{}, problem.profile);
}

std::int64_t PlanTree::plans_of_mesh() const {
  return static_cast<std::int64_t>(settings.size() * choices.size());
}

std::vector<Node> PlanTree::grids() const {
  std::vector<Node> list;
  const auto same = [](const Mesh& a, const Mesh& b) {
    return a.attention == b.attention && a.expert == b.expert && a.micro_batch == b.micro_batch &&
           a.schedule == b.schedule;
  };
  for (std::size_t i = 0; i < space.meshes.size(); ++i) {
    constexpr int kMost = std::numeric_limits<decltype(Node::meshes)>::max();
    if (i > 0 && list.back().meshes < kMost && same(space.meshes[i - 1], space.meshes[i])) {
      ++list.back().meshes;
    } else {
      list.push_back({.bound = {}, .mesh = static_cast<std::int32_t>(i), .level = Level::grid});
    }
  }
  return list;
}

bool PlanTree::has_larger_group(std::int32_t mesh) const {
  const auto next = static_cast<std::size_t>(mesh) + 1;
  return config.pin<"microbatch-group">().empty() && next < space.meshes.size() &&
         space.meshes[next].group > space.meshes[next - 1].group;
}

std::int64_t PlanTree::plans_of(const Node& node) const {
  switch (node.level) {
    case Level::grid:
    case Level::mesh: return node.meshes * plans_of_mesh();
    case Level::exchange:
      return node.meshes * exchanges[static_cast<std::size_t>(node.exchange)].settings *
             static_cast<std::int64_t>(choices.size());
    case Level::family:
      return node.meshes * node.settings * static_cast<std::int64_t>(choices.size());
    case Level::setting: return node.meshes * memory.plans_below(node.memory);
  }
  return 0;
}

double PlanTree::stage_ways() const {
  double ways = 0;
  for (const MemoryChoice& all : choices) {
    if (!all.by_stage) continue;
    const auto of_stage = static_cast<double>(std::ranges::count_if(choices, [&](const auto& c) {
      return c.state == all.state && !c.by_stage && c.offload_layers == 0;
    }));
    for (const Mesh& mesh : space.meshes) {
      if (mesh.attention.pp == 1) continue;
      ways += static_cast<double>(settings.size()) * std::pow(of_stage, mesh.attention.pp);
    }
  }
  return ways;
}

const Mesh& PlanTree::mesh_of(const Node& node) const {
  return space.meshes[static_cast<std::size_t>(node.mesh)];
}

Plan PlanTree::mesh_plan(const Node& node) const { return space.plan(mesh_of(node), config); }

Plan PlanTree::plan_of(const Node& node) const {
  Plan plan = mesh_plan(node);
  settings[static_cast<std::size_t>(node.setting)].put_into(plan);
  choices[static_cast<std::size_t>(node.memory)].put_into(plan);
  return plan;
}

bool PlanTree::same_mesh(const Node& a, const Node& b) const {
  const Mesh &x = mesh_of(a), &y = mesh_of(b);
  return x.attention == y.attention && x.expert == y.expert && x.vpp == y.vpp &&
         x.schedule == y.schedule && x.micro_batch == y.micro_batch;
}

bool PlanTree::memory_repeats_another(const Node& node) const {
  const auto layout = static_cast<std::size_t>(mesh_of(node).layout);
  return choices[static_cast<std::size_t>(node.memory)].repeats_another(space.most_layers[layout],
                                                             mesh_of(node).attention.pp);
}

bool PlanTree::needs_least_work(const Setting& setting, const Mesh& mesh) const {
  const auto gathers = [&](const Setting& s) {
    return s.is_tried_gather() && !s.exchanges_too_far_on(mesh);
  };
  if (setting.exchanges_as_another(mesh, least_work.front())) return false;
  if (setting.exchanges_too_far_on(mesh)) return false;
  const bool others = mesh.expert.ep == 1 || !gather_undercuts_ ||
                      mesh.expert.ep * mesh.expert.etp > kRanksOfLeastGather ||
                      std::ranges::none_of(least_work, gathers);
  return others || gathers(setting);
}

void PlanTree::put_least_work(const Setting& setting, Plan& plan) const {
  setting.put_into(plan);
  if (plan.overlap.tile_level) plan.overlap.tile_level = broken_rule(plan) == nullptr;
}

const char* PlanTree::broken_rule(const Plan& plan) const {
  const PlanContext context{problem.model, problem.workload, plan, config.gpus};
  for (const Constraint* rule : rules_) {
    if (!rule->holds(context)) return rule->name;
  }
  return refused_by(config.runtime, problem.model, problem.workload, plan, problem.cluster.gpu);
}

const char* PlanTree::left_out(const Plan& mesh_plan, const Node& node,
                               std::size_t exchange) const {
  const auto first = static_cast<std::size_t>(exchanges[exchange].families.front());
  const Mesh& mesh = mesh_of(node);
  if (settings[first].exchanges_as_another(mesh, settings.front())) return "no-effect";
  return void_exchange(mesh_plan, mesh, settings[first]);
}

const char* PlanTree::void_exchange(const Plan& mesh_plan, const Mesh& mesh,
                                    const Setting& setting) const {
  if (const char* rule = setting.void_on(mesh)) return rule;
  Plan plan = mesh_plan;
  setting.put_into(plan);
  const PlanContext context{problem.model, problem.workload, plan, config.gpus};
  for (const Constraint* rule : exchange_rules_) {
    if (!rule->holds(context)) return rule->name;
  }
  return nullptr;
}

double PlanTree::weight(const Node& node) const {
  if (!config.robust || node.setting < 0) return least_weight_;
  return 1 + relative_band(problem.model, plan_of(node),
                           problem.profile);  // a family shares what it depends on
}

StateChoices PlanTree::find_state_choices(bool pipeline) const {
  StateChoices state{{}, {}, least_place(), config.host_share};
  const auto add = [](auto& list, auto value) {
    if (std::ranges::find(list, value) == list.end()) list.push_back(value);
  };
  for (const Setting& s : settings) {
    if (s.sharding > Sharding::zero1 && pipeline) continue;
    add(state.shardings, s.sharding);
    add(state.domains, s.shard_domain);
  }
  if (state.shardings.empty()) state.shardings.push_back(settings.front().sharding);
  if (state.domains.empty()) state.domains.push_back(settings.front().shard_domain);
  std::ranges::sort(state.shardings);
  return state;
}

}  // namespace pleat
