// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/request/searched_plan.hpp"

#include <optional>

#include "application/request/request.hpp"
#include "core/json/text_file.hpp"
#include "core/plan/constraints.hpp"
#include "core/plan/numerics_rows.hpp"

namespace pleat {
namespace {

template <class Value>
std::optional<std::string> format_word(const Value& value) {
  if constexpr (std::is_same_v<Value, bool>)
    return value ? "on" : "off";
  else if constexpr (std::is_same_v<Value, std::optional<DType>>)
    return value ? std::optional(std::string(name_of(*value))) : std::nullopt;
  else
    return std::string(name_of(value));
}

// Those that are not usual, row by row, where no flag names any.
void take_formats(const Plan& plan, NumericsRequest& request) {
  const Plan usual;
  for_each_numerics_field([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    std::vector<std::string>& words = request.fields.by_row[i];
    const bool differs = field.in(plan) != field.in(usual) || field.path == "precision";
    if (!words.empty() || !differs) return;
    if (const auto word = format_word(field.in(plan))) words.push_back(*word);
  });
}

}  // namespace

SearchedPlan searched_plan(const FindPlanOptions& o) {
  SearchedPlan out;
  const std::string& file = o.plan_file;
  out.document = read_plan_document(read_text_file(file), file);
  if (o.target.gpus && *o.target.gpus != out.document.gpus)
    move_to_gpus(out.document, *o.target.gpus, file);
  TargetOptions target = o.target;
  // Another cluster is what the search is for; another model has other plans.
  if (!target.cluster.empty()) out.document.cluster = load_cluster(target.cluster).name;
  out.target = target_of_plan(target, out.document);
  out.numerics = o.search.numerics;
  if (out.numerics.mode == kNumericsModes.front()) take_formats(out.document.plan, out.numerics);
  require_valid({out.target.model, out.target.workload, out.document.plan, out.target.gpus}, file);
  return out;
}

}  // namespace pleat
