// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/request/given_numerics.hpp"

#include <algorithm>

#include "core/diagnostics.hpp"
#include "planner/space/runtime_rules.hpp"

namespace pleat {
namespace {

// Each of the numerics so far with each of the values.
template <std::size_t I>
void combine(std::vector<Numerics>& all, const NumericsWords& given) {
  if (given.by_row[I].empty()) return;
  std::vector<Numerics> combined;
  for (const Numerics& n : all) {
    for (const auto& value : values_of<I>(given)) {
      kPlanField<I>.in_numerics(combined.emplace_back(n)) = value;
    }
  }
  all = std::move(combined);
}

}  // namespace

bool asks_for_narrow(const NumericsWords& given) {
  return is_only_on<&Plan::fp8_attention>(given) || is_only_on<&Plan::fp8_head>(given);
}

void require_narrow(const NumericsWords& given, const std::vector<Numerics>& all) {
  const bool narrow =
      std::ranges::any_of(all, [](const Numerics& n) { return has_narrow_operands(n.precision); });
  for (const auto& [words, flag] : {std::pair{&given.of<&Plan::fp8_attention>(), "--fp8-attention"},
                                    std::pair{&given.of<&Plan::fp8_head>(), "--fp8-head"}}) {
    const std::vector<bool> values = parse_switches(*words, flag);
    if (narrow || std::ranges::find(values, true) == values.end()) continue;
    throw_config_error(ExitCode::bad_request, "", flag,
                       "has no effect with --precision " + name_of(all.front().precision),
                       "leave it out, or --precision fp8, mxfp8, ...");
  }
}

// Of equally good plans the first one's numerics are taken: switches vary slowest. Weights that are
// not kept in 8 bits anyway are one choice, and so is what only narrow operands have.
std::vector<Numerics> with_fields(const NumericsWords& given, std::vector<Numerics> all) {
  for (const bool switches : {true, false}) {
    for_each_numerics_field([&](auto i) {
      constexpr const auto& field = kPlanField<i>;
      if (kIsSwitch<decltype(field)> != switches || field.path == "precision") return;
      combine<i>(all, given);
    });
  }
  std::vector<Numerics> distinct;
  for (Numerics& n : all) {
    if (!has_narrow_operands(n.precision)) n.fp8_attention = n.fp8_head = false;
    Plan plan;
    n.put_into(plan);
    plan.fp8_params = true;
    if (!keeps_fp8_weights(plan) && n.precision != Precision::fp8_block) n.fp8_params = true;
    add_distinct(n, distinct);
  }
  return distinct;
}

void add_distinct(const Numerics& numerics, std::vector<Numerics>& all) {
  if (std::ranges::find(all, numerics) == all.end()) all.push_back(numerics);
}

}  // namespace pleat
