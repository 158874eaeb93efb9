// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/options/search_numerics.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/gpu_formats.hpp"
#include "cli/idle_shape.hpp"
#include "cli/plan_values.hpp"
#include "core/diagnostics.hpp"
#include "planner/space/runtime_rules.hpp"

namespace pleat::cli {
namespace {

std::vector<Precision> precisions(const SearchOptions& o, Target& target) {
  if (o.precision.empty()) {
    const Precision assumed = default_precision(target.runtime);
    target.assumed.push_back("--precision " + name_of(assumed));
    return {assumed};
  }
  std::vector<Precision> list;
  for (const std::string& word : o.precision) {
    if (word == "any") {
      for (const Precision p : supported_precisions(target.cluster)) list.push_back(p);
    } else {
      list.push_back(parse_precision(word, "--precision"));
      require_format(target, list.back(), "--precision");
    }
  }
  return list;
}

// Each of the numerics so far with each of the values.
template <class Parse, class Put>
void combine(std::vector<Numerics>& all, const std::vector<std::string>& words, const char* flag,
             Parse parse, Put put) {
  if (words.empty()) return;
  std::vector<Numerics> combined;
  for (const Numerics& n : all) {
    for (const std::string& word : words) {
      combined.push_back(n);
      put(combined.back(), parse(word, flag));
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
  const auto onoff = [&](const std::vector<std::string>& words, const char* flag,
                         bool Numerics::*field) {
    if (words.empty()) return;
    std::vector<Numerics> combined;
    for (const Numerics& n : all) {
      for (const bool value : parse_switches(words, flag)) combined.emplace_back(n).*field = value;
    }
    all = std::move(combined);
  };
  const bool narrow = std::ranges::any_of(
      all, [](const Numerics& n) { return has_narrow_operands(n.precision); });
  for (const auto& [words, flag] : {std::pair{&o.fp8_attention, "--fp8-attention"},
                                    std::pair{&o.fp8_head, "--fp8-head"}}) {
    const std::vector<bool> values = parse_switches(*words, flag);
    if (narrow || std::ranges::find(values, true) == values.end()) continue;
    throw_config_error(ExitCode::bad_request, "", flag,
                       "says nothing to --precision " + name_of(all.front().precision),
                       "leave it out, or --precision fp8, mxfp8, ...");
  }
  onoff(o.fp8_attention, "--fp8-attention", &Numerics::fp8_attention);
  onoff(o.fp8_head, "--fp8-head", &Numerics::fp8_head);
  onoff(o.fp8_dispatch, "--fp8-dispatch", &Numerics::fp8_dispatch);
  onoff(o.fp8_combine, "--fp8-combine", &Numerics::fp8_combine);
  onoff(o.fp8_params, "--fp8-params", &Numerics::fp8_params);
  const auto state = [&](const std::vector<std::string>& words, const char* flag, auto field) {
    combine(all, words, flag, parse_state_type,
            [field](Numerics& n, DType t) { n.optimizer.*field = t; });
  };
  state(o.main_grads, "--main-grads-dtype", &OptimizerPlan::main_grads);
  state(o.main_params, "--main-params-dtype", &OptimizerPlan::main_params);
  state(o.exp_avg, "--exp-avg-dtype", &OptimizerPlan::exp_avg);
  state(o.exp_avg_sq, "--exp-avg-sq-dtype", &OptimizerPlan::exp_avg_sq);
  state(o.grad_reduce, "--grad-reduce-dtype", &OptimizerPlan::grad_reduce);
  combine(all, o.optimizer, "--optimizer", parse_optimizer,
          [](Numerics& n, OptimizerKind k) { n.optimizer.kind = k; });
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
