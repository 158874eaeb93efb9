// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/options/search_numerics.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/gpu_formats.hpp"
#include "cli/options/ineffective_plan_options.hpp"
#include "cli/typed_fields.hpp"
#include "core/diagnostics.hpp"
#include "planner/space/runtime_rules.hpp"

namespace pleat::cli {
namespace {

std::vector<Precision> precisions(const SearchOptions& o, Target& target) {
  const std::vector<std::string>& words = o.numerics.of<&Plan::precision>();
  if (words.empty()) {
    const Precision assumed = default_precision(target.runtime);
    target.assumed.push_back("--precision " + name_of(assumed));
    return {assumed};
  }
  std::vector<Precision> list;
  for (const std::string& word : words) {
    if (word == "any") {
      for (const Precision p : supported_precisions(target.cluster)) list.push_back(p);
    } else {
      list.push_back(parse_precision(word, "--precision"));
      require_format(target, list.back(), "--precision");
    }
  }
  return list;
}

// The values of one row that words stand for, in their order.
template <std::size_t I>
auto values_of(const std::vector<std::string>& words) {
  constexpr const auto& field = kPlanField<I>;
  using Value = typename std::remove_cvref_t<decltype(field)>::Value;
  const std::string flag = "--" + std::string(field.typed.flag);
  std::vector<Value> values;
  if constexpr (std::is_same_v<Value, bool>) {
    values = parse_switches(words, flag.c_str());
  } else {
    for (const std::string& word : words) parse_value(word, flag, values.emplace_back());
  }
  return values;
}

// Each of the numerics so far with each of the values.
template <std::size_t I>
void combine(std::vector<Numerics>& all, const std::vector<std::string>& words) {
  if (words.empty()) return;
  std::vector<Numerics> combined;
  for (const Numerics& n : all) {
    for (const auto& value : values_of<I>(words)) {
      kPlanField<I>.in_numerics(combined.emplace_back(n)) = value;
    }
  }
  all = std::move(combined);
}

}  // namespace

std::vector<Numerics> numerics_choices(const SearchOptions& o, Target& target) {
  std::vector<Numerics> all;
  for (const Precision p : precisions(o, target)) {
    Numerics& n = all.emplace_back();
    n.precision = p;
  }
  const bool narrow = std::ranges::any_of(
      all, [](const Numerics& n) { return has_narrow_operands(n.precision); });
  for (const auto& [words, flag] :
       {std::pair{&o.numerics.of<&Plan::fp8_attention>(), "--fp8-attention"},
        std::pair{&o.numerics.of<&Plan::fp8_head>(), "--fp8-head"}}) {
    const std::vector<bool> values = parse_switches(*words, flag);
    if (narrow || std::ranges::find(values, true) == values.end()) continue;
    throw_config_error(ExitCode::bad_request, "", flag,
                       "says nothing to --precision " + name_of(all.front().precision),
                       "leave it out, or --precision fp8, mxfp8, ...");
  }
  // Of equally good plans the first one's numerics are taken: switches vary slowest.
  for (const bool switches : {true, false}) {
    for_each_numerics_field([&](auto i) {
      constexpr const auto& field = kPlanField<i>;
      if (kIsSwitch<decltype(field)> != switches || field.path == "precision") return;
      combine<i>(all, o.numerics.by_row[i]);
    });
  }
  // Weights that are not kept in 8 bits anyway are one choice, and so is what only narrow operands have.
  std::vector<Numerics> distinct;
  for (Numerics& n : all) {
    if (!has_narrow_operands(n.precision)) n.fp8_attention = n.fp8_head = false;
    Plan plan;
    n.put_into(plan);
    plan.fp8_params = true;
    if (!keeps_fp8_weights(plan) && n.precision != Precision::fp8_block) n.fp8_params = true;
    if (std::ranges::find(distinct, n) == distinct.end()) distinct.push_back(n);
  }
  all = std::move(distinct);
  if (all.size() > kMostNumerics) {
    throw_config_error(ExitCode::bad_request, "", "--precision, --*-dtype",
                       fmt::format("{} combinations of number formats", all.size()),
                       fmt::format("name fewer values: at most {} combinations", kMostNumerics));
  }
  return all;
}

}  // namespace pleat::cli
