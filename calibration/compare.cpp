// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace pleat {
namespace {

struct KeyTime {
  std::string category;
  double seconds = 0;  // of all ranks
  std::set<int> ranks;
  [[nodiscard]] double mean() const { return seconds / static_cast<double>(ranks.size()); }
};

std::map<OpKey, KeyTime> by_key(const Trace& trace) {
  std::map<OpKey, KeyTime> times;
  for (const Span& span : trace.spans) {
    KeyTime& t = times[span.key];
    t.category = span.category;
    t.seconds += span.duration_s;
    t.ranks.insert(span.rank);
  }
  return times;
}

void add(std::map<std::string, ComparedRow>& rows, const std::string& name, const KeyTime& measured,
         const KeyTime& predicted) {
  ComparedRow& row = rows[name];
  row.name = name;
  row.category = measured.category;
  ++row.keys;
  row.measured_s += measured.mean();
  row.predicted_s += predicted.mean();
}

double total_of(const std::map<OpKey, KeyTime>& times) {
  double sum = 0;
  for (const auto& [key, time] : times) sum += time.mean();
  return sum;
}

int stages_of(const std::map<OpKey, KeyTime>& times) {
  std::set<int> stages;
  for (const auto& [key, time] : times) stages.insert(key.stage);
  return static_cast<int>(stages.size());
}

std::vector<ComparedRow> largest_difference_first(const std::map<std::string, ComparedRow>& rows) {
  std::vector<ComparedRow> list;
  for (const auto& [name, row] : rows) list.push_back(row);
  std::stable_sort(list.begin(), list.end(), [](const ComparedRow& a, const ComparedRow& b) {
    return std::abs(a.predicted_s - a.measured_s) > std::abs(b.predicted_s - b.measured_s);
  });
  return list;
}

std::string table(const std::vector<ComparedRow>& rows, const char* title, std::size_t count) {
  std::string text = fmt::format("\n{:<30}{:<14}{:>8}{:>14}{:>14}{:>8}\n", title, "", "keys",
                                 "measured ms", "predicted ms", "ratio");
  for (std::size_t i = 0; i < std::min(count, rows.size()); ++i) {
    const ComparedRow& r = rows[i];
    text +=
        fmt::format("{:<30}{:<14}{:>8}{:>14.4f}{:>14.4f}{:>8}\n", r.name,
                    r.category == r.name ? "" : r.category, r.keys, r.measured_s * 1e3,
                    r.predicted_s * 1e3, r.measured_s > 0 ? fmt::format("{:.2f}", r.ratio()) : "-");
  }
  if (rows.size() > count) text += fmt::format("  and {} more\n", rows.size() - count);
  return text;
}

std::string unmatched(const std::vector<OpKey>& keys, const char* side, std::size_t count) {
  if (keys.empty()) return "";
  std::string text = fmt::format("\nonly in the {} trace: {} operations\n", side, keys.size());
  for (std::size_t i = 0; i < std::min(count, keys.size()); ++i)
    text += "  " + to_text(keys[i]) + "\n";
  if (keys.size() > count) text += fmt::format("  and {} more\n", keys.size() - count);
  return text;
}

std::string ratio_text(double predicted, double measured) {
  return measured > 0 ? fmt::format("{:.3f}", predicted / measured) : "-";
}

JsonValue rows_json(const std::vector<ComparedRow>& rows) {
  JsonValue list = JsonValue::array();
  for (const ComparedRow& r : rows) {
    list.push_back(
        JsonValue::object()
            .set("name", r.name)
            .set("category", r.category)
            .set("keys", r.keys)
            .set("measured_s", JsonValue::finite(r.measured_s))
            .set("predicted_s", JsonValue::finite(r.predicted_s))
            .set("ratio", r.measured_s > 0 ? JsonValue::finite(r.ratio()) : JsonValue()));
  }
  return list;
}

JsonValue keys_json(const std::vector<OpKey>& keys) {
  JsonValue list = JsonValue::array();
  for (const OpKey& k : keys) list.push_back(to_text(k));
  return list;
}

JsonValue seconds_json(double measured, double predicted) {
  return JsonValue::object()
      .set("measured", JsonValue::finite(measured))
      .set("predicted", JsonValue::finite(predicted));
}

}  // namespace

TraceComparison compare(const Trace& measured, const Trace& predicted) {
  TraceComparison result{.model = measured.model,
                         .plan = measured.plan,
                         .measured_step_s = measured.step_s,
                         .predicted_step_s = predicted.step_s,
                         .measured_peak_bytes = measured.peak_bytes,
                         .predicted_peak_bytes = predicted.peak_bytes,
                         .operations = {},
                         .categories = {},
                         .stages = 0,
                         .only_measured = {},
                         .only_predicted = {}};
  const auto m = by_key(measured), p = by_key(predicted);
  std::map<std::string, ComparedRow> operations, categories;
  for (const auto& [key, time] : m) {
    const auto other = p.find(key);
    if (other == p.end()) {
      result.only_measured.push_back(key);
      continue;
    }
    add(operations, key.op, time, other->second);
    add(categories, time.category, time, other->second);
  }
  for (const auto& [key, time] : p) {
    if (!m.contains(key)) result.only_predicted.push_back(key);
  }
  result.stages = std::max(stages_of(m), stages_of(p));
  result.measured_rest_s = measured.step_s * result.stages - total_of(m);
  result.predicted_rest_s = predicted.step_s * result.stages - total_of(p);
  result.operations = largest_difference_first(operations);
  result.categories = largest_difference_first(categories);
  return result;
}

std::string print_comparison(const TraceComparison& c, std::size_t rows) {
  std::string text = fmt::format("{}  {}\n", c.model, c.plan);
  text += fmt::format("{:<10}{:>14}{:>14}{:>8}\n", "", "measured", "predicted", "ratio");
  text += fmt::format("{:<10}{:>11.3f} ms{:>11.3f} ms{:>8}\n", "step", c.measured_step_s * 1e3,
                      c.predicted_step_s * 1e3, ratio_text(c.predicted_step_s, c.measured_step_s));
  text += fmt::format("{:<10}{:>12} B{:>12} B{:>8}\n", "peak", c.measured_peak_bytes,
                      c.predicted_peak_bytes,
                      ratio_text(static_cast<double>(c.predicted_peak_bytes),
                                 static_cast<double>(c.measured_peak_bytes)));
  text += table(c.categories, "category", c.categories.size());
  const auto closing = [&](const std::string& name, double measured, double predicted) {
    text += fmt::format("{:<44}{:>8}{:>14.4f}{:>14.4f}{:>8}\n", name, "", measured * 1e3,
                        predicted * 1e3, measured > 0 ? ratio_text(predicted, measured) : "-");
  };
  double measured = c.measured_rest_s, predicted = c.predicted_rest_s;
  for (const ComparedRow& r : c.categories) {
    measured += r.measured_s;
    predicted += r.predicted_s;
  }
  const double steps_measured = c.measured_step_s * c.stages;
  const double steps_predicted = c.predicted_step_s * c.stages;
  if (!c.only_measured.empty() || !c.only_predicted.empty()) {
    closing("only in one trace", steps_measured - measured, steps_predicted - predicted);
  }
  closing("idle, and between operations", c.measured_rest_s, c.predicted_rest_s);
  closing(c.stages == 1 ? "the step" : fmt::format("the step, {} stages", c.stages), steps_measured,
          steps_predicted);
  text += table(c.operations, "operation", rows);
  text += unmatched(c.only_measured, "measured", rows);
  text += unmatched(c.only_predicted, "predicted", rows);
  return text;
}

JsonValue comparison_json(const TraceComparison& c) {
  return JsonValue::object()
      .set("schema_version", 1)
      .set("model", c.model)
      .set("plan", c.plan)
      .set("step_s", seconds_json(c.measured_step_s, c.predicted_step_s))
      .set("peak_bytes", JsonValue::object()
                             .set("measured", c.measured_peak_bytes)
                             .set("predicted", c.predicted_peak_bytes))
      .set("stages", c.stages)
      .set("rest_s", seconds_json(c.measured_rest_s, c.predicted_rest_s))
      .set("categories", rows_json(c.categories))
      .set("operations", rows_json(c.operations))
      .set("only_measured", keys_json(c.only_measured))
      .set("only_predicted", keys_json(c.only_predicted));
}

}  // namespace pleat
