// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/request/stage_values.hpp"

#include <algorithm>
#include <charconv>

#include "application/request/plan_values.hpp"
#include "core/diagnostics.hpp"
#include "core/plan/stage_override.hpp"

namespace pleat {
namespace {

struct StageRange {
  int first = 0, last = 0;
};

[[noreturn]] void refuse(const std::string& part, const std::string& flag) {
  throw_config_error(ExitCode::bad_request, flag, "",
                     "'" + part + "' does not say what which stages do",
                     "a stage or a range of stages, =, and what they do: 0=full/1-2=none");
}

// "3" or "3-5".
StageRange parse_range(const std::string& text, const std::string& part, const std::string& flag) {
  StageRange range;
  const char* const end = text.data() + text.size();
  auto parsed = std::from_chars(text.data(), end, range.first);
  range.last = range.first;
  if (parsed.ec == std::errc() && parsed.ptr != end && *parsed.ptr == '-') {
    parsed = std::from_chars(parsed.ptr + 1, end, range.last);
  }
  const bool whole = parsed.ec == std::errc() && parsed.ptr == end;
  constexpr int kMostStages = 4096;
  if (!whole || range.first < 0 || range.last < range.first || range.last > kMostStages) {
    refuse(part, flag);
  }
  return range;
}

StageOverride& override_for(Plan& plan, int stage) {
  const auto at = std::ranges::lower_bound(plan.stages, stage, {}, &StageOverride::stage);
  if (at != plan.stages.end() && at->stage == stage) return *at;
  return *plan.stages.insert(at, override_of(plan, Stage{stage}));
}

// Calls set(override, what the stage does) for every stage that is named.
template <class Set>
void for_each_stage(const std::string& words, const std::string& flag, Plan& plan,
                    const Set& set) {
  std::vector<int> named;
  for (std::size_t begin = 0; begin <= words.size();) {
    const std::size_t end = std::min(words.find('/', begin), words.size());
    const std::string part = words.substr(begin, end - begin);
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) refuse(part, flag);
    const StageRange range = parse_range(part.substr(0, equals), part, flag);
    for (int stage = range.first; stage <= range.last; ++stage) {
      if (std::ranges::find(named, stage) != named.end()) {
        throw_config_error(ExitCode::bad_request, flag, "",
                           "stage " + std::to_string(stage) + " is named twice");
      }
      named.push_back(stage);
      set(override_for(plan, stage), part.substr(equals + 1));
    }
    begin = end + 1;
  }
}

}  // namespace

void put_stage_recompute(const std::string& words, const std::string& flag, Plan& plan) {
  const int unit = plan.recompute_unit;
  for_each_stage(words, flag, plan, [&](StageOverride& stage, const std::string& what) {
    Recompute recompute = parse_recompute(what, flag);
    stage.recompute = std::move(recompute.modules);
    stage.recompute_full = recompute.full;
    stage.recompute_layers = recompute.layers;
    stage.recompute_unit = recompute.full && recompute.layers == 0 ? unit : 1;
  });
}

void put_stage_offload(const std::string& words, const std::string& flag, Plan& plan) {
  for_each_stage(words, flag, plan, [&](StageOverride& stage, const std::string& what) {
    stage.offload = parse_offload(what, flag);
  });
}

}  // namespace pleat
