// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Error messages for a space without plans: which pin is at fault.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <set>
#include <tuple>
#include <type_traits>

#include "core/diagnostics.hpp"
#include "planner/space/mesh_space.hpp"

namespace pleat {
namespace {

struct Pin {
  std::string name;
  std::string text;
  std::function<void(SearchConfig&)> drop;
  // "1, 2, 4": the values in valid meshes without the pin; empty where they are no numbers or many.
  std::function<std::string(const MeshSpace&, const SearchConfig&)> valid = {};
};

constexpr std::size_t kMostNamed = 16;  // valid values

template <std::size_t Row>
std::string valid_numbers(const MeshSpace& space, const SearchConfig& config) {
  std::set<int> values;
  for (const Mesh& mesh : space.meshes) {
    values.insert(kPlanField<Row>.in(space.plan(mesh, config)));
    if (values.size() > kMostNamed) return "";
  }
  return values.size() < 2 ? "" : fmt::format("{}", fmt::join(values, ", "));
}

std::string words(bool on) { return on ? "on" : "off"; }
std::string words(int number) { return std::to_string(number); }
std::string words(const std::string& text) { return text; }
template <class Enum>
requires std::is_enum_v<Enum> std::string words(Enum choice) { return name_of(choice); }

// The pins of a plan's fields that meshes and settings must keep to.
void add_fields(const SearchConfig& config, std::vector<Pin>& pins) {
  for_each_pin([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    using Value = typename std::remove_cvref_t<decltype(field)>::Value;
    const auto& pin = std::get<i>(config.pins.by_row);
    // A pin of SMs that allows the profile's own number leaves the search a choice.
    const bool chosen = i == kPinRow<"dispatcher-sms">;
    if (field.pinned.of_memory || (chosen && std::ranges::find(pin, Value()) != pin.end())) return;
    std::vector<std::string> names;
    for (const Value& value : pin) {
      // A search does not change a fixed field, so to name the value it has is no pin.
      if (field.chosen_by == ChosenBy::fixed && value == field.in(Plan())) continue;
      names.push_back(words(value));
    }
    if (names.empty()) return;
    const char* const between = std::is_same_v<Value, std::string> ? " and " : ",";
    pins.push_back({std::string(field.pin_flag()), fmt::format("{}", fmt::join(names, between)),
                    [i](SearchConfig& c) { std::get<i>(c.pins.by_row).reset(); }});
    if constexpr (std::is_same_v<Value, int>) pins.back().valid = valid_numbers<i>;
  });
}

std::vector<Pin> pins_of(const SearchConfig& config) {
  std::vector<Pin> pins;
  add_fields(config, pins);
  const auto add_switch = [&](const char* name, auto field) {
    if (!(config.*field)) return;
    pins.push_back(
        {name, words(*(config.*field)), [field](SearchConfig& c) { (c.*field).reset(); }});
  };
  add_switch("hybrid-sharding", &SearchConfig::hybrid_sharding);
  if (config.paged_stash.buffer > 0) {
    pins.push_back({"paged-stash", fmt::format("{}", config.paged_stash.buffer),
                    [](SearchConfig& c) { c.paged_stash = {}; }});
  }
  if (config.optimizer_offload.values.size() == 1) {
    pins.push_back({"optimizer-offload", words(config.optimizer_offload.only(true)),
                    [](SearchConfig& c) { c.optimizer_offload.reset(); }});
  }
  add_switch("cpu-optimizer", &SearchConfig::cpu_optimizer);
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
  for (auto at = v.message.find(degree); at != std::string::npos;
       at = v.message.find(degree, at + 1)) {
    if ((at == 0 || !in_word(at - 1)) && !in_word(at + degree.size())) return 1;
  }
  return 0;
}

// Whether the rule is broken by many trials anyway: free degrees are also tried in products other
// than the number of GPUs. Such a rule explains an empty space only if no other is broken.
bool of_trial(const std::string& rule, const SearchConfig& config) {
  if (rule == "world") return true;
  return rule == "expert-grid" && config.pin<"ep">().empty() && config.pin<"etp">().empty();
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

// "56 or 64 GPUs have plans": the next smaller and the next larger size, if they are near.
std::string nearest_sizes(const Problem& problem, const SearchConfig& config) {
  constexpr int kFarthest = 64;
  const auto has_plans = [&](int gpus) {
    SearchConfig other = config;
    other.gpus = gpus;
    return gpus > 0 && (problem.cluster.max_gpus == 0 || gpus <= problem.cluster.max_gpus) &&
           !enumerate_meshes(problem, other).meshes.empty();
  };
  std::vector<int> found;
  for (const int step : {-1, 1}) {
    for (int away = 1; away <= kFarthest; ++away) {
      if (!has_plans(config.gpus + step * away)) continue;
      found.push_back(config.gpus + step * away);
      break;
    }
  }
  if (found.empty()) return "";
  return fmt::format("{} GPUs have plans", fmt::join(found, " or "));
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
    const std::string sizes = nearest_sizes(problem, config);
    throw_config_error(ExitCode::bad_request, "plan", why.path,
                       fmt::format("no valid plan on {} GPUs: {}", config.gpus, reason),
                       sizes.empty() ? why.hint : sizes);
  }
  Diagnostics problems;
  for (const Pin& pin : pins) {
    SearchConfig relaxed = config;
    pin.drop(relaxed);
    const MeshSpace without = enumerate_meshes(problem, relaxed);
    if (without.meshes.empty()) continue;
    const Violation& own = why_empty(space, config, {pin});
    const std::string valid = pin.valid ? pin.valid(without, relaxed) : "";
    problems.error(ExitCode::bad_request, "--" + pin.name, own.path,
                   fmt::format("{} {} leaves no valid plan: {}", pin.name, pin.text, words(own)),
                   fmt::format("{}without this pin {} meshes are valid",
                               valid.empty() ? "" : fmt::format("valid: {}; ", valid),
                               without.meshes.size()));
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
