// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Joins a measured and a predicted trace by operation key: where the prediction is wrong.
#pragma once

#include <string>
#include <vector>

#include "core/json/json_value.hpp"
#include "core/trace/trace.hpp"

namespace pleat {

// Totals of the keys that both traces have; a key seen on several ranks counts as their mean.
struct ComparedRow {
  std::string name;      // operation or category
  std::string category;  // of an operation
  int keys = 0;
  double measured_s = 0, predicted_s = 0;
  [[nodiscard]] double ratio() const { return measured_s > 0 ? predicted_s / measured_s : 0; }
  bool operator==(const ComparedRow&) const = default;
};

struct TraceComparison {
  std::string model, plan;
  double measured_step_s = 0, predicted_step_s = 0;
  std::int64_t measured_peak_bytes = 0, predicted_peak_bytes = 0;
  std::vector<ComparedRow> operations, categories;   // largest |difference| first
  // Stages times step, less all operations of either trace, joined or not: idle time, and what lies
  // between operations; less what ran beside others.
  int stages = 0;
  double measured_rest_s = 0, predicted_rest_s = 0;
  std::vector<OpKey> only_measured, only_predicted;  // in key order
};

[[nodiscard]] TraceComparison compare(const Trace& measured, const Trace& predicted);

// `rows`: operations shown, and unmatched keys of each side.
[[nodiscard]] std::string print_comparison(const TraceComparison&, std::size_t rows = 20);
[[nodiscard]] JsonValue comparison_json(const TraceComparison&);

}  // namespace pleat
