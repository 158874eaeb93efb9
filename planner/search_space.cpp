// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/search_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "core/plan/layout.hpp"
#include "core/program/pipeline_order.hpp"
#include "planner/stage_balance.hpp"

namespace pleat {
namespace {

std::vector<int> divisors(std::int64_t n, std::int64_t limit) {
  std::vector<int> list;
  for (std::int64_t d = 1; d <= std::min(n, limit); ++d) {
    if (n % d == 0) list.push_back(static_cast<int>(d));
  }
  return list;
}

std::vector<int> powers_of_two(std::int64_t limit) {
  std::vector<int> list;
  for (std::int64_t v = 1; v <= limit; v *= 2) list.push_back(static_cast<int>(v));
  return list;
}

// Chunks per stage worth trying: powers of two, and counts that split the layers evenly with or
// without embedding and loss counted as a layer each.
std::vector<int> chunk_counts(const ModelSpec& model, int pp) {
  std::vector<int> list{1};
  if (pp == 1) return list;
  for (int v = 2; static_cast<std::int64_t>(v) * pp <= model.layers + 2; ++v) {
    const std::int64_t stages = static_cast<std::int64_t>(v) * pp;
    const bool power = (v & (v - 1)) == 0;
    if (power || model.layers % stages == 0 || (model.layers + 2) % stages == 0) list.push_back(v);
  }
  return list;
}

const std::vector<int>& pinned_or(const std::vector<int>& pins, const std::vector<int>& all) {
  return pins.empty() ? all : pins;
}

class Enumerator {
 public:
  Enumerator(const ModelSpec& model, const ClusterSpec& cluster, const WorkloadSpec& workload,
             const SearchConfig& config)
      : model_(model),
        cluster_(cluster),
        workload_(workload),
        config_(config),
        recompute_(recompute_choices(model, config.recompute)) {
    base_.precision = config.precision;
    base_.sharding = config.sharding.value_or(config.gpus > 1 ? Sharding::zero1 : Sharding::none);
    base_.dispatcher = dispatcher_for(model, cluster, config.runtime);
  }

  SearchSpace run() {
    const int domain = cluster_.tiers.empty() || cluster_.tiers.front().size == 0
                           ? config_.gpus
                           : cluster_.tiers.front().size;
    const std::vector<int> all_tp = divisors(config_.gpus, domain);
    const std::vector<int> all_cp = divisors(config_.gpus, 16);
    const std::vector<int> all_pp = divisors(config_.gpus, model_.layers + 2);
    for (int tp : pinned_or(config_.tp, all_tp)) {
      for (int cp : pinned_or(config_.cp, all_cp)) {
        for (int pp : pinned_or(config_.pp, all_pp)) {
          Plan plan = base_;
          plan.attention = {.tp = tp, .cp = cp, .dp = 1, .pp = pp};
          plan.sequence_parallel = tp > 1;
          attention_grid(plan);
        }
      }
    }
    return std::move(space_);
  }

 private:
  void attention_grid(Plan plan) {
    const AttentionMapping& a = plan.attention;
    const std::int64_t model_ranks = std::int64_t{a.tp} * a.cp * a.pp;
    plan.attention.dp = static_cast<int>(std::max<std::int64_t>(1, config_.gpus / model_ranks));
    if (model_ranks * plan.attention.dp != config_.gpus) {  // the whole sub-tree is void
      plan.expert = {.etp = 1, .ep = 1, .edp = std::max(1, config_.gpus / a.pp)};
      reject(plan);
      return;
    }
    const std::int64_t stage_ranks = config_.gpus / a.pp;
    const std::vector<int> one{1}, all_vpp = chunk_counts(model_, a.pp);
    const std::vector<int> all_ep = model_.moe ? divisors(model_.moe->experts, stage_ranks) : one;
    const std::vector<int> all_etp = model_.moe ? divisors(a.tp, stage_ranks) : one;
    for (int etp : pinned_or(config_.etp, all_etp)) {
      for (int ep : pinned_or(config_.ep, all_ep)) {
        const std::int64_t expert_ranks = std::int64_t{etp} * ep;
        plan.expert = {
            .etp = etp,
            .ep = ep,
            .edp = static_cast<int>(std::max<std::int64_t>(1, stage_ranks / expert_ranks))};
        if (expert_ranks * plan.expert.edp != stage_ranks) {
          reject(plan);
          continue;
        }
        for (int vpp : pinned_or(config_.vpp, all_vpp)) {
          plan.vpp = vpp;
          microbatches(plan);
        }
      }
    }
  }

  void microbatches(Plan plan) {
    static const std::vector<int> all = powers_of_two(8);
    const std::vector<int>& tried = pinned_or(config_.micro_batch, all);
    for (const std::string& layout : layouts(plan.attention.pp, plan.vpp)) {
      plan.layout = layout;
      for (int micro_batch : tried) {
        const std::int64_t multiple = std::int64_t{plan.attention.dp} * micro_batch;
        // Larger microbatches that do not divide are no alternatives; the smallest one explains.
        if (micro_batch > tried.front() && workload_.global_batch % multiple != 0) continue;
        plan.micro_batch = micro_batch;
        techniques(plan);
      }
    }
  }

  // Recompute sets and overlap on one mesh. A mesh that fails bare counts as one rejected plan.
  void techniques(Plan plan) {
    if (!accept(plan)) return;
    for (const RecomputeChoice& choice : recompute_) {
      for (const bool overlap : {false, true}) {
        if (overlap && (config_.runtime != Runtime::megatron || !can_overlap(plan))) continue;
        if (!overlap && choice.modules.empty() && !choice.full) continue;  // the bare mesh
        plan.recompute = choice.modules;
        plan.recompute_full = choice.full;
        plan.overlap.expert_parallel = overlap;
        accept(plan);
      }
    }
  }

  // Overlap pairs the forward pass of one microbatch with the backward pass of another: there must
  // be such pairs on the first stage too, whose warm-up is the longest.
  bool can_overlap(const Plan& plan) const {
    if (plan.expert.ep == 1) return false;
    const std::int64_t m = plan.microbatches(workload_.global_batch);
    const Schedule schedule{.pp = plan.attention.pp,
                            .vpp = plan.vpp,
                            .microbatches = static_cast<int>(m),
                            .group = plan.microbatch_group,
                            .paired = true};
    return warmup_slots(schedule, Stage{0}) < m * plan.vpp;
  }

  const Constraint* broken_rule(const Plan& plan) const {
    const PlanContext context{model_, workload_, plan, config_.gpus};
    for (const Constraint& rule : constraints()) {
      if (!rule.holds(context)) return &rule;
    }
    return nullptr;
  }

  bool accept(const Plan& plan) {
    if (const Constraint* rule = broken_rule(plan)) {
      count(plan, *rule);
      return false;
    }
    ++space_.enumerated;
    space_.plans.push_back(plan);
    return true;
  }

  void reject(const Plan& plan) {
    const Constraint* rule = broken_rule(plan);
    PLEAT_ASSERT(rule != nullptr);
    count(plan, *rule);
  }

  void count(const Plan& plan, const Constraint& rule) {
    ++space_.enumerated;
    if (++space_.rejected[rule.name] == 1) {
      space_.example[rule.name] = rule.explain({model_, workload_, plan, config_.gpus});
    }
  }

  const std::vector<std::string>& layouts(int pp, int vpp) {
    auto [entry, is_new] = layouts_.try_emplace({pp, vpp});
    if (is_new) entry->second = layout_choices(model_, workload_.seq_len, pp, vpp);
    return entry->second;
  }

  const ModelSpec& model_;
  const ClusterSpec& cluster_;
  const WorkloadSpec& workload_;
  const SearchConfig& config_;
  std::vector<RecomputeChoice> recompute_;
  Plan base_;
  std::map<std::pair<int, int>, std::vector<std::string>> layouts_;
  SearchSpace space_;
};

struct Pin {
  const char* name;
  std::string text;
  std::function<void(SearchConfig&)> drop;
};

std::vector<Pin> pins_of(const SearchConfig& config) {
  std::vector<Pin> pins;
  const auto add = [&](const char* name, std::vector<int> SearchConfig::*field) {
    if ((config.*field).empty()) return;
    pins.push_back({name, fmt::format("{}", fmt::join(config.*field, ",")),
                    [field](SearchConfig& c) { (c.*field).clear(); }});
  };
  add("tp", &SearchConfig::tp);
  add("cp", &SearchConfig::cp);
  add("pp", &SearchConfig::pp);
  add("vpp", &SearchConfig::vpp);
  add("ep", &SearchConfig::ep);
  add("etp", &SearchConfig::etp);
  add("micro-batch", &SearchConfig::micro_batch);
  if (config.sharding) {
    pins.push_back(
        {"sharding", name_of(*config.sharding), [](SearchConfig& c) { c.sharding.reset(); }});
  }
  return pins;
}

}  // namespace

std::vector<RecomputeChoice> recompute_choices(const ModelSpec& model, bool allowed) {
  std::vector<RecomputeChoice> choices{{}};
  if (!allowed) return choices;
  std::set<Module> light;
  if (model.moe) {
    choices.push_back({.modules = {Module::moe_act}, .full = false});
    light.insert(Module::moe_act);
  }
  light.insert(Module::layernorm);
  choices.push_back({.modules = light, .full = false});
  if (model.attention.kind == AttentionKind::mla) {
    light.insert(Module::mla_up_proj);
    choices.push_back({.modules = light, .full = false});
  }
  choices.push_back({.modules = {Module::core_attn}, .full = false});
  choices.push_back({.modules = {}, .full = true});
  return choices;
}

Dispatcher dispatcher_for(const ModelSpec& model, const ClusterSpec& cluster, Runtime runtime) {
  if (!model.moe) return Dispatcher::alltoall;  // nothing is dispatched
  if (runtime != Runtime::megatron || cluster.shared_cores > 0) return Dispatcher::alltoall;
  if (cluster.tiers.empty()) return Dispatcher::alltoall;
  // An NVLink domain of more than 8 GPUs is a rack (NVL72); DeepEP's kernels need Hopper (fp8).
  if (cluster.tiers.front().size > 8) return Dispatcher::hybridep;
  return cluster.gpu.peak_fp8.base() > 0 ? Dispatcher::deepep : Dispatcher::alltoall;
}

std::vector<std::string> layout_choices(const ModelSpec& model, std::int64_t seq_len, int pp,
                                        int vpp) {
  const std::int64_t stages = std::int64_t{pp} * vpp;
  // Where nothing can be balanced, the even split stands and its rule says what is wrong.
  if (pp < 1 || vpp < 1 || stages == 1 || stages > model.layers) return {""};
  const ForwardFlops flops = forward_flops(model, seq_len);
  const auto even = even_layout(model.layers, model.mtp_layers > 0, pp, vpp);
  const auto balanced = balanced_layout(model, seq_len, pp, vpp);
  const bool divides = model.layers % stages == 0 || (model.layers + 2) % stages == 0;
  std::vector<std::string> choices{divides ? "" : to_layout_string(even)};
  if (bottleneck(balanced, model, flops) < bottleneck(even, model, flops)) {
    choices.push_back(to_layout_string(balanced));
  }
  return choices;
}

SearchSpace enumerate_plans(const ModelSpec& model, const ClusterSpec& cluster,
                            const WorkloadSpec& workload, const SearchConfig& config) {
  return Enumerator(model, cluster, workload, config).run();
}

SearchSpace non_empty_space(const ModelSpec& model, const ClusterSpec& cluster,
                            const WorkloadSpec& workload, const SearchConfig& config) {
  SearchSpace space = enumerate_plans(model, cluster, workload, config);
  if (!space.plans.empty()) return space;

  const auto worst =
      std::max_element(space.rejected.begin(), space.rejected.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  PLEAT_ASSERT(worst != space.rejected.end());
  const Violation& why = space.example[worst->first];
  const std::string reason = fmt::format("{} ({})", why.message, why.rule);

  const std::vector<Pin> pins = pins_of(config);
  if (pins.empty()) {
    throw_config_error(ExitCode::bad_request, "plan", why.path,
                       fmt::format("no valid plan on {} GPUs: {}", config.gpus, reason), why.hint);
  }
  Diagnostics problems;
  for (const Pin& pin : pins) {
    SearchConfig relaxed = config;
    pin.drop(relaxed);
    const SearchSpace without = enumerate_plans(model, cluster, workload, relaxed);
    if (without.plans.empty()) continue;
    problems.error(ExitCode::bad_request, "--" + std::string(pin.name), why.path,
                   fmt::format("{} {} leaves no valid plan: {}", pin.name, pin.text, reason),
                   fmt::format("without this pin {} plans are valid", without.plans.size()));
  }
  problems.throw_if_errors();
  std::string all;
  for (const Pin& pin : pins)
    all += fmt::format("{}{} {}", all.empty() ? "" : ", ", pin.name, pin.text);
  throw_config_error(ExitCode::bad_request, "plan", why.path,
                     fmt::format("the pins {} together leave no valid plan: {}", all, reason),
                     why.hint.empty() ? "dropping any one of them is not enough" : why.hint);
}

}  // namespace pleat
