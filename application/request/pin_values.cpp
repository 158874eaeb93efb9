// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/request/pin_values.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "application/request/plan_values.hpp"
#include "core/diagnostics.hpp"
#include "core/plan/layout_text.hpp"

namespace pleat {
namespace {

template <class T>
void add_once(std::vector<T>& list, T value) {
  if (std::ranges::find(list, value) == list.end()) list.push_back(value);
}

}  // namespace

bool parse_switch(const std::string& word, const std::string& flag) {
  if (word == "on" || word.empty()) return true;
  if (word == "off") return false;
  throw_config_error(ExitCode::bad_request, "", flag, "'" + word + "' is neither on nor off",
                     "`pleat plan --help` says what is tried without the flag");
}

std::vector<bool> parse_switches(const std::vector<std::string>& words, const std::string& flag) {
  std::vector<bool> values;
  for (const std::string& word : words) {
    if (word == "any") {
      add_once(values, false);
      add_once(values, true);
    } else {
      add_once(values, parse_switch(word, flag));
    }
  }
  return values;
}

std::vector<RecomputeChoice> parse_recompute_sets(const std::vector<std::string>& words,
                                                  const std::vector<int>& layers,
                                                  const std::vector<int>& units) {
  std::vector<RecomputeChoice> sets;
  const std::vector<int> counts = layers.empty() ? std::vector<int>{0} : layers;
  const std::vector<int> lengths = units.empty() ? std::vector<int>{1} : units;
  for (const std::string& word : words) {
    const Recompute what = parse_recompute(word, "--recompute");
    RecomputeChoice choice{.modules = what.modules, .full = what.full, .layers = what.layers};
    const bool free = what.full && what.layers == 0;
    for (const int count : free ? counts : std::vector<int>{what.layers}) {
      choice.layers = count;
      const bool in_units = what.full && count == 0;
      for (const int unit : in_units ? lengths : std::vector<int>{1}) {
        choice.unit = unit;
        add_once(sets, choice);
      }
    }
  }
  return sets;
}

std::vector<std::set<Offload>> parse_offload_sets(const std::vector<std::string>& words) {
  std::vector<std::set<Offload>> sets;
  for (const std::string& word : words) add_once(sets, parse_offload(word, "--offload"));
  return sets;
}

void require_layouts(const std::vector<std::string>& layouts) {
  for (const std::string& layout : layouts) {
    const LayoutSyntax syntax = check_layout_syntax(layout);
    if (layout.empty()) {
      throw_config_error(ExitCode::bad_request, "", "--layout", "is empty",
                         "for example \"Et*4|t*4|t*4|t*4L\"");
    }
    if (syntax.problem == nullptr) continue;
    throw_config_error(syntax.code, "", "--layout",
                       fmt::format("{} at position {}", syntax.problem, syntax.position + 1));
  }
}

}  // namespace pleat
