// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which pin empties a space.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "core/diagnostics.hpp"
#include "planner/mesh_space.hpp"

namespace pleat {
namespace {

struct Pin {
  const char* name;
  std::string text;
  std::function<void(SearchConfig&)> drop;
};

std::string words(bool on) { return on ? "on" : "off"; }

std::vector<Pin> pins_of(const SearchConfig& config) {
  std::vector<Pin> pins;
  const auto add = [&](const char* name, std::vector<int> SearchConfig::*field) {
    if ((config.*field).empty()) return;
    pins.push_back({name, fmt::format("{}", fmt::join(config.*field, ",")),
                    [field](SearchConfig& c) { (c.*field).clear(); }});
  };
  add("tp", &SearchConfig::tp);
  add("cp", &SearchConfig::cp);
  add("dp", &SearchConfig::dp);
  add("pp", &SearchConfig::pp);
  add("vpp", &SearchConfig::vpp);
  add("ep", &SearchConfig::ep);
  add("etp", &SearchConfig::etp);
  add("micro-batch", &SearchConfig::micro_batch);
  if (!config.layout.empty()) {
    pins.push_back({"layout", fmt::format("{}", fmt::join(config.layout, " and ")),
                    [](SearchConfig& c) { c.layout.clear(); }});
  }
  add("microbatch-group", &SearchConfig::microbatch_group);
  if (!config.schedule.empty()) {
    std::string names;
    for (const PipelineSchedule s : config.schedule) {
      names += (names.empty() ? "" : ",") + name_of(s);
    }
    pins.push_back({"schedule", names, [](SearchConfig& c) { c.schedule.clear(); }});
  }
  const auto add_choice = [&](const char* name, auto field) {
    if (config.*field) {
      pins.push_back({name, words(*(config.*field)), [field](SearchConfig& c) { (c.*field).reset(); }});
    }
  };
  const auto add_list = [&](const char* name, auto field) {
    std::string names;
    for (const auto value : (config.*field).values) {
      names += (names.empty() ? "" : ",") + name_of(value);
    }
    if (names.empty()) return;
    pins.push_back({name, names, [field](SearchConfig& c) { (c.*field).reset(); }});
  };
  add_list("sharding", &SearchConfig::sharding);
  add_list("dispatcher", &SearchConfig::dispatcher);
  add_list("cuda-graph", &SearchConfig::cuda_graph);
  add_list("cp-comm", &SearchConfig::cp_comm);
  add("cp-a2a", &SearchConfig::cp_a2a);
  add_choice("hybrid-sharding", &SearchConfig::hybrid_sharding);
  add_choice("ep-overlap", &SearchConfig::ep_overlap);
  add_choice("delay-wgrad", &SearchConfig::delay_wgrad);
  add_choice("tp-overlap", &SearchConfig::tp_overlap);
  add_choice("shared-expert-overlap", &SearchConfig::shared_overlap);
  if (std::ranges::find(config.tile_overlap, true) != config.tile_overlap.end()) {
    pins.push_back({"tile-overlap", "on", [](SearchConfig& c) { c.tile_overlap.clear(); }});
  }
  if (config.paged_stash.buffer > 0) {
    pins.push_back({"paged-stash", fmt::format("{}", config.paged_stash.buffer),
                    [](SearchConfig& c) { c.paged_stash = {}; }});
  }
  if (config.optimizer_offload.values.size() == 1) {
    pins.push_back({"optimizer-offload", config.optimizer_offload.only(true) ? "on" : "off",
                    [](SearchConfig& c) { c.optimizer_offload.reset(); }});
  }
  add_choice("cpu-optimizer", &SearchConfig::cpu_optimizer);
  return pins;
}

}  // namespace

MeshSpace non_empty_meshes(const ModelSpec& model, const ClusterSpec& cluster,
                           const WorkloadSpec& workload, const SearchConfig& config) {
  MeshSpace space = enumerate_meshes(model, cluster, workload, config);
  if (!space.meshes.empty()) return space;

  const auto worst =
      std::max_element(space.rejected.begin(), space.rejected.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  // Grids that the GPUs do not fill say nothing where a pin left out those that they fill.
  const bool left_out = space.example.contains(kLeftOut) &&
                        (worst == space.rejected.end() || worst->first == "world");
  PLEAT_ASSERT(left_out || worst != space.rejected.end());
  const Violation& why = space.example[left_out ? kLeftOut : worst->first];
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
    const MeshSpace without = enumerate_meshes(model, cluster, workload, relaxed);
    if (without.meshes.empty()) continue;
    problems.error(ExitCode::bad_request, "--" + std::string(pin.name), why.path,
                   fmt::format("{} {} leaves no valid plan: {}", pin.name, pin.text, reason),
                   fmt::format("without this pin {} meshes are valid", without.meshes.size()));
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
