// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/validation/validation_report.hpp"
#include "core/json/json_value.hpp"

namespace pleat::cli {
namespace {

JsonValue strings(const std::vector<std::string>& list) {
  JsonValue out = JsonValue::array();
  for (const std::string& text : list) out.push_back(text);
  return out;
}

template <class T>
JsonValue or_null(const std::optional<T>& value) {
  return value ? JsonValue(*value) : JsonValue();
}

JsonValue errors_json(const ErrorSummary& e) {
  JsonValue out = JsonValue::object();
  out.set("count", e.count)
      .set("median", e.median)
      .set("p90", e.p90)
      .set("mean", e.mean)
      .set("worst", e.worst)
      .set("bias", e.bias);
  return out;
}

void set_prediction(JsonValue& out, const RunPrediction& p) {
  JsonValue parts = JsonValue::object();
  for (const auto& [name, seconds] : largest_terms(p.estimate)) parts.set(name, seconds);
  JsonValue stages = JsonValue::array();
  for (const StageMemory& m : p.estimate.memory) stages.push_back(m.allocated());
  out.set("low", p.estimate.low.base())
      .set("high", p.estimate.high.base())
      .set("parts_s", std::move(parts))
      .set("predicted_peak_bytes", p.estimate.peak_allocated_bytes())
      .set("predicted_device_bytes", p.estimate.peak_bytes())
      .set("predicted_stage_peak_bytes", std::move(stages))
      .set("fits", p.estimate.fits)
      .set("plan", summary(p.plan))
      .set("broken_rules", strings(p.broken))
      .set("notes", strings(p.notes));
}

JsonValue row_json(const ComparedRun& row) {
  JsonValue out = JsonValue::object();
  out.set("id", row.run.id)
      .set("tier", row.run.tier)
      .set("era", row.run.era)
      .set("model", row.run.model_name)
      .set("cluster", row.run.cluster)
      .set("gpus", row.run.gpus)
      .set("precision", row.run.plan.precision.value_or(""))
      .set("group", row.run.group)
      .set("measured_step_s", row.step ? JsonValue(row.step->seconds) : JsonValue())
      .set("measured_from", row.step ? row.step->from : "")
      .set("predicted_step_s", row.prediction ? JsonValue(row.prediction->estimate.step.base())
                                              : JsonValue())
      .set("error", or_null(row.error))
      .set("measured_peak_bytes", or_null(row.run.measured.peak_bytes))
      .set("memory_error", or_null(row.memory_error));
  if (row.prediction) set_prediction(out, *row.prediction);
  else out.set("low", JsonValue()).set("high", JsonValue()).set("reason", row.reason);
  return out;
}

JsonValue line_json(const SummaryLine& line) {
  JsonValue out = JsonValue::object();
  return out.set("value", line.value)
      .set("missed", line.missed)
      .set("inside_band", line.inside_band)
      .set("error", errors_json(line.errors));
}

JsonValue predictors_json(const PeerTable& table) {
  JsonValue list = JsonValue::array();
  for (const PeerLine& p : table.lines) {
    JsonValue out = JsonValue::object();
    out.set("name", p.name)
        .set("gpus_2_to_8", errors_json(p.few))
        .set("gpus_64_to_512", errors_json(p.many))
        .set("all", errors_json(p.all))
        .set("memory", errors_json(p.memory))
        .set("mean_regret", p.choosing.mean_regret)
        .set("concordance", p.choosing.concordance);
    list.push_back(std::move(out));
  }
  return list;
}

JsonValue peers_json(const Summary& s) {
  JsonValue list = JsonValue::array();
  for (const PeerTable& table : s.peers) {
    list.push_back(JsonValue::object()
                       .set("tiers", table.tiers)
                       .set("rows", table.rows)
                       .set("choice_groups", table.lines.front().choosing.groups)
                       .set("choice_pairs", table.lines.front().choosing.pairs)
                       .set("predictors", predictors_json(table)));
  }
  return list;
}

JsonValue recipes_json(const Summary& s) {
  JsonValue list = JsonValue::array();
  for (const RecipePlace& p : s.recipes) {
    JsonValue one = JsonValue::object();
    one.set("id", p.id)
        .set("recipe", summary(p.recipe))
        .set("recipe_s", p.step.base())
        .set("fits", p.fits);
    if (p.best) {
      one.set("best", summary(*p.best))
          .set("best_s", p.best_step.base())
          .set("place", p.place)
          .set("differences", p.differences);
      if (p.same_techniques) one.set("same_techniques_s", p.same_techniques->base());
    }
    list.push_back(std::move(one));
  }
  return list;
}

JsonValue summary_json(const Summary& s) {
  JsonValue by = JsonValue::object();
  for (const SummaryTable& table : s.tables) {
    JsonValue lines = JsonValue::array();
    for (const SummaryLine& line : table.lines) lines.push_back(line_json(line));
    by.set(table.name, std::move(lines));
  }
  JsonValue missed = JsonValue::array();
  for (const MissedReason& m : s.reasons) {
    missed.push_back(
        JsonValue::object().set("reason", m.reason).set("count", m.ids.size()).set("ids",
                                                                                  strings(m.ids)));
  }
  JsonValue alike = JsonValue::array();
  for (const std::vector<std::string>& ids : s.not_told_apart) alike.push_back(strings(ids));
  JsonValue noise = JsonValue::object();
  noise.set("same_era", errors_json(s.noise.same_era)).set("any_era", errors_json(s.noise.any_era));
  JsonValue out = JsonValue::object();
  out.set("rows", s.rows)
      .set("predicted", s.predicted)
      .set("missed", s.missed)
      .set("error", errors_json(s.all))
      .set("memory_error", errors_json(s.memory))
      .set("by", std::move(by))
      .set("missed_reasons", std::move(missed))
      .set("not_told_apart", std::move(alike))
      .set("noise_floor", std::move(noise))
      .set("choosing", JsonValue::object()
                           .set("groups", s.choosing.groups)
                           .set("pairs", s.choosing.pairs)
                           .set("mean_regret", s.choosing.mean_regret)
                           .set("concordance", s.choosing.concordance))
      .set("peers", peers_json(s));
  if (!s.recipes.empty()) out.set("recipes", recipes_json(s));
  return out;
}

}  // namespace

std::string validation_json(const std::vector<ComparedRun>& rows, const Summary& s) {
  JsonValue list = JsonValue::array();
  for (const ComparedRun& row : rows) list.push_back(row_json(row));
  return JsonValue::object().set("rows", std::move(list)).set("summary", summary_json(s)).dump() +
         "\n";
}

}  // namespace pleat::cli
