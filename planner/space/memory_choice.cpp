// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/space/memory_choice.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/diagnostics.hpp"
#include "planner/space/runtime_rules.hpp"

namespace pleat {
namespace {

constexpr int kUnits = 5;  // units of recompute are the powers of two below

// The pinned numbers without 0, or else 1, 2, 4 … below `end`.
std::vector<int> numbers(const Pinned<int>& pins, std::int64_t end) {
  std::vector<int> list;
  if (pins.empty()) {
    for (int n = 1; n < end; n *= 2) list.push_back(n);
  } else {
    std::ranges::copy_if(pins, std::back_inserter(list), [](int n) { return n > 0; });
    std::ranges::sort(list);
  }
  return list;
}

// The sets of modules, then whole layers: the first few of each chunk, all, and all in units.
std::vector<RecomputeChoice> all_recompute_choices(const ModelSpec& model,
                                                   const SearchConfig& config) {
  if (!config.recompute_sets.empty()) return config.recompute_sets;
  std::vector<RecomputeChoice> choices = recompute_choices(model, config.recompute);
  if (!config.recompute) return choices;
  choices.pop_back();  // all layers
  RecomputeChoice whole{.modules = {}, .full = true};
  for (const int n : numbers(config.pin<"recompute-layers">(), model.layers)) {
    whole.layers = n;
    choices.push_back(whole);
  }
  whole.layers = 0;
  const auto& pins = config.pin<"recompute-layers">();
  if (!pins.empty() && std::ranges::find(pins, 0) == pins.end()) return choices;
  for (const int unit : numbers(config.pin<"recompute-unit">(), kUnits)) {
    whole.unit = unit;
    choices.push_back(whole);
  }
  return choices;
}

// Whether whole layers may be offloaded although sets of modules are pinned.
bool takes_layers(const SearchConfig& c) {
  const bool plain =
      c.recompute_sets.empty() ||
      std::ranges::find(c.recompute_sets, RecomputeChoice{}) != c.recompute_sets.end();
  return plain && (c.offload_sets.empty() || !c.pin<"offload-layers">().empty());
}

// A step on the CPU is taken to be slower than any on the GPU if the CPU's memory is slower.
bool host_steps_slower(const ClusterSpec& cluster) {
  const BytesPerSecond host = cluster.host_memory_bandwidth > BytesPerSecond(0)
                                  ? cluster.host_memory_bandwidth / cluster.gpus_per_node
                                  : cluster.gpu.host_link;
  return host < cluster.gpu.memory_bandwidth;
}

// Whether the CPU may step any of the number formats. This place comes last, so that leaving it out
// does not change the order of the others.
bool cpu_may_step(const SearchConfig& config) {
  return std::ranges::any_of(config.numerics, [&](const Numerics& n) {
    Plan plan;
    n.put_into(plan);
    return cpu_may_step(config.runtime, plan);
  });
}

std::vector<StatePlace> places(const ClusterSpec& cluster, const SearchConfig& config) {
  const bool host = config.optimizer_offload.only(true);
  const bool stepped = config.cpu_optimizer.value_or(false);
  PLEAT_ASSERT(!host || !stepped);
  if (host) return {StatePlace::host};
  if (stepped) return {StatePlace::host_stepped};
  std::vector<StatePlace> all{StatePlace::device};
  if (config.optimizer_offload.values.size() > 1) all.push_back(StatePlace::host);
  if (!config.offload) return all;
  if (!config.cpu_optimizer && cpu_may_step(config) && host_steps_slower(cluster)) {
    all.push_back(StatePlace::host_stepped);
  }
  return all;
}

}  // namespace

bool by_stage(const SearchConfig& config) {
  return config.by_stage.value_or(config.runtime == Runtime::pleat);
}

void put_state(StatePlace place, double share, Plan& plan) {
  plan.optimizer.state_offload = place == StatePlace::host ? share : 0;
  plan.optimizer.cpu_offload = place == StatePlace::host_stepped ? share : 0;
  plan.optimizer.cpu_offload_overlapped = place == StatePlace::host_stepped;
}

void MemoryChoice::put_into(Plan& plan) const {
  plan.recompute = recompute.modules;
  plan.recompute_full = recompute.full;
  plan.recompute_layers = recompute.layers;
  plan.recompute_unit = recompute.unit;
  plan.offload = offload;
  plan.offload_layers = offload_layers;
  plan.stages.clear();
  put_state(state, share, plan);
}

bool MemoryChoice::keeps_activations() const {
  return recompute == RecomputeChoice{} && offload.empty() && offload_layers == 0 && !by_stage;
}

bool MemoryChoice::repeats_another(int most_layers, int stages) const {
  return only_bounds || (by_stage && stages == 1) || recompute.layers >= most_layers ||
         (recompute.unit > 1 && recompute.unit / 2 >= most_layers);
}

std::vector<RecomputeChoice> recompute_choices(const ModelSpec& model, bool allowed) {
  std::vector<RecomputeChoice> choices{{}};
  if (!allowed) return choices;
  const auto add = [&](Module module) {  // to every set so far
    for (std::size_t i = 0, end = choices.size(); i < end; ++i) {
      RecomputeChoice with = choices[i];
      with.modules.insert(module);
      choices.push_back(std::move(with));
    }
  };
  bool dense = false;
  for (std::int64_t l = 0; l < model.layers; ++l) dense = dense || !model.is_moe(l);
  if (model.moe) add(Module::moe_act);
  if (model.moe && model.moe->shared_ffn > 0) add(Module::shared_experts);
  add(Module::layernorm);
  if (model.attention.kind == AttentionKind::mla) add(Module::mla_up_proj);
  if (dense) add(Module::mlp);
  add(Module::core_attn);
  if (model.moe) {  // which contains its parts
    std::vector<RecomputeChoice> whole;
    for (RecomputeChoice c : choices) {
      const bool has_part =
          c.modules.contains(Module::moe_act) || c.modules.contains(Module::shared_experts);
      if (has_part) continue;
      c.modules.insert(Module::moe);
      whole.push_back(std::move(c));
    }
    std::ranges::move(whole, std::back_inserter(choices));
  }
  std::ranges::stable_sort(choices, {}, [](const RecomputeChoice& c) { return c.modules.size(); });
  choices.emplace_back().full = true;
  return choices;
}

std::vector<std::set<Offload>> offload_sets(const ModelSpec& model) {
  std::vector<std::set<Offload>> list{{}};
  for (const Offload module : kOffloads) {
    const bool of_experts = module == Offload::expert_fc1 || module == Offload::moe_act;
    if (of_experts && !model.moe) continue;
    for (std::size_t i = 0, end = list.size(); i < end; ++i) {
      // Its input is the output of the attention core.
      if (module == Offload::attn_proj && !list[i].contains(Offload::core_attn)) continue;
      list.push_back(list[i]);
      list.back().insert(module);
    }
  }
  std::ranges::stable_sort(list, {}, [](const std::set<Offload>& set) { return set.size(); });
  return list;
}

std::set<Offload> sent_first(std::set<Offload> set, const RecomputeChoice& recompute,
                             const ModelSpec& model) {
  // What the first products read: the norm's output, and nothing else.
  bool one_input = model.attention.kind != AttentionKind::mla;
  for (std::int64_t l = 0; l < model.layers; ++l) {
    const LayerTraits traits = model.traits(l);
    if (traits.mixer == Mixer::none || !traits.mlp) return set;  // one norm instead of two
    one_input = one_input && !traits.sparse && traits.compression == 0;
  }
  const bool norms_again = recompute.modules.contains(Module::layernorm);
  if (one_input && norms_again) set.erase(Offload::qkv_linear);
  if (set.contains(Offload::mlp_norm) && !set.contains(Offload::attn_norm)) {
    set.erase(Offload::mlp_norm);
    set.insert(Offload::attn_norm);
  }
  return set;
}

std::vector<MemoryChoice> memory_choices(const ModelSpec& model, const ClusterSpec& cluster,
                                         const SearchConfig& config) {
  std::vector<std::set<Offload>> offloads{{}};
  const bool pinned = !config.offload_sets.empty();
  if (pinned) {
    offloads = config.offload_sets;
    std::ranges::stable_sort(offloads, {}, [](const std::set<Offload>& set) { return set.size(); });
  } else if (config.offload) {
    offloads = offload_sets(model);
  }
  std::vector<MemoryChoice> choices;
  for (const StatePlace state : places(cluster, config)) {
    const double share = state == StatePlace::device ? 1 : config.host_share;
    for (const RecomputeChoice& recompute : all_recompute_choices(model, config)) {
      for (const auto& offload : offloads) {
        // With all modules recomputed little is left to offload.
        if (recompute.full && !offload.empty() && !pinned) continue;
        if (!pinned && sent_first(offload, recompute, model) != offload) continue;
        choices.push_back({recompute, offload, 0, state, share});
      }
    }
    // Pinned sets hold for all stages alike.
    const bool free = !pinned && config.recompute_sets.empty();
    const bool alone = offloads.size() == 1 && !config.recompute;
    if (by_stage(config) && free && !alone) {
      choices.push_back({{}, {}, 0, state, share, true});
    }
    if (!config.offload || !takes_layers(config)) continue;
    for (const int layers : numbers(config.pin<"offload-layers">(), model.layers)) {
      choices.push_back({{}, {}, layers, state, share});
    }
  }
  const StatePlace place = choices.front().state;
  const auto first = std::ranges::find_if(choices, [&](const MemoryChoice& c) {
    return c.keeps_activations() && c.state == place;
  });
  if (first != choices.end()) {
    std::rotate(choices.begin(), first, std::next(first));
  } else {
    MemoryChoice least;
    least.state = place;
    least.share = choices.front().share;
    least.only_bounds = true;
    choices.insert(choices.begin(), std::move(least));
  }
  return choices;
}

}  // namespace pleat
