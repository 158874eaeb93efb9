// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The explanation of a step in plain words, and as JSON.
#pragma once

#include <string>
#include <vector>

#include "application/explain/explain_plan.hpp"
#include "console/tables.hpp"
#include "core/json/json_value.hpp"

namespace pleat::cli {

// The rubrics of the busiest stage, longest first, nothing below a thousandth of the step.
struct Bound {
  CostClass cls = CostClass::gemm;
  Seconds time;
  double share = 0;
};
[[nodiscard]] std::vector<Bound> bounds_of(const StepEstimate&);

// "The step is bound by …" and what memory allows; one sentence a line, no final newline.
[[nodiscard]] std::string bound_sentences(const StepEstimate&, const ClusterSpec&,
                                          const Explanation&);
// Which change helps most, "Nothing helps: …" if none does; one sentence a line.
[[nodiscard]] std::string change_sentences(const StepEstimate&, const Explanation&);

[[nodiscard]] Table ops_table(const StepEstimate&, const Explanation&, std::size_t most);
[[nodiscard]] Table changes_table(const StepEstimate&, const std::vector<PricedChange>&);

// In so many columns.
[[nodiscard]] std::string explanation_text(const StepEstimate&, const ClusterSpec&,
                                           const Explanation&, std::size_t columns);
[[nodiscard]] JsonValue explanation_json(const StepEstimate&, const ClusterSpec&,
                                         const Explanation&);

}  // namespace pleat::cli
