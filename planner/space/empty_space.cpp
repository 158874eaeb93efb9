// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Error messages for a space without plans: which pin is at fault.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <tuple>

#include "core/diagnostics.hpp"
#include "planner/space/mesh_space.hpp"

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

// How closely a violation is about a pin: 2 if it is of the pinned field and there is one value,
// which then breaks the rule by itself; 1 if there are several values, or the message names the
// degree; else 0.
int aboutness(const Violation& v, const Pin& pin) {
  std::string field = pin.name, degree = pin.name;
  std::ranges::replace(field, '-', '_');
  for (char& c : degree) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (v.path == field || v.path.ends_with("." + field))
    return pin.text.find(',') == std::string::npos ? 2 : 1;
  const auto in_word = [&](std::size_t i) {
    return i < v.message.size() && std::isalnum(static_cast<unsigned char>(v.message[i])) != 0;
  };
  for (auto at = v.message.find(degree); at != std::string::npos; at = v.message.find(degree, at + 1)) {
    if ((at == 0 || !in_word(at - 1)) && !in_word(at + degree.size())) return 1;
  }
  return 0;
}

// Whether the rule is broken by many trials anyway: free degrees are also tried in products other
// than the number of GPUs. Such a rule explains an empty space only if no other is broken.
bool of_trial(const std::string& rule, const SearchConfig& config) {
  if (rule == "world") return true;
  return rule == "expert-grid" && config.ep.empty() && config.etp.empty();
}

// The broken rule to name: the one most closely about a pin, and among equals the one that rejects
// the most.
const Violation& why_empty(const MeshSpace& space, const SearchConfig& config,
                           const std::vector<Pin>& pins) {
  const auto rank = [&](const auto& rejected) {
    const Violation& v = space.example.at(rejected.first);
    int about = 0;
    for (const Pin& p : pins) about = std::max(about, aboutness(v, p));
    return std::tuple(!of_trial(rejected.first, config), about, rejected.second);
  };
  const auto worst =
      std::max_element(space.rejected.begin(), space.rejected.end(),
                       [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  // That no grid fits the GPUs explains nothing if a pin has left out the grids that would.
  const bool left_out = space.example.contains(kLeftOut) &&
                        (worst == space.rejected.end() || of_trial(worst->first, config));
  PLEAT_ASSERT(left_out || worst != space.rejected.end());
  return space.example.at(left_out ? kLeftOut : worst->first);
}

std::string words(const Violation& v) { return fmt::format("{} ({})", v.message, v.rule); }

}  // namespace

MeshSpace non_empty_meshes(const Problem& problem, const SearchConfig& config) {
  MeshSpace space = enumerate_meshes(problem, config);
  if (!space.meshes.empty()) return space;

  const std::vector<Pin> pins = pins_of(config);
  const Violation& why = why_empty(space, config, pins);
  const std::string reason = words(why);
  if (pins.empty()) {
    throw_config_error(ExitCode::bad_request, "plan", why.path,
                       fmt::format("no valid plan on {} GPUs: {}", config.gpus, reason), why.hint);
  }
  Diagnostics problems;
  for (const Pin& pin : pins) {
    SearchConfig relaxed = config;
    pin.drop(relaxed);
    const MeshSpace without = enumerate_meshes(problem, relaxed);
    if (without.meshes.empty()) continue;
    const Violation& own = why_empty(space, config, {pin});
    problems.error(ExitCode::bad_request, "--" + std::string(pin.name), own.path,
                   fmt::format("{} {} leaves no valid plan: {}", pin.name, pin.text, words(own)),
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
