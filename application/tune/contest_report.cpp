// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/tune/contest_report.hpp"

#include <fmt/format.h>

#include <utility>

#include "console/tables.hpp"
#include "core/median.hpp"

namespace pleat {
namespace {

double over(Seconds a, Seconds b) { return a / b; }

// "exact", or how many bytes the model is off.
std::string byte_error(const Contender& c) {
  const std::int64_t off = c.recorded_bytes - c.measured_bytes;
  return off == 0 ? "exact" : fmt::format("{:+} B", off);
}

}  // namespace

std::string contest_text(const std::vector<Contender>& contenders, int cores) {
  Table table{{{"", Align::left},
               {"plan", Align::left},
               {"predicted"},
               {"vs winner"},
               {"measured"},
               {"vs winner"},
               {"error"},
               {"routing"},
               {"error"},
               {"spread"},
               {"core time"},
               {"predicted peak"},
               {"measured peak"},
               {"error"}},
              {}};
  for (const Contender& c : contenders) {
    const Contender& winner = contenders.front();
    const Seconds measured = measured_step(c);
    table.rows.push_back({c.label, summary(c.plan), format_seconds(c.predicted.step),
                          fmt::format("{:.2f}x", over(c.predicted.step, winner.predicted.step)),
                          format_seconds(measured),
                          fmt::format("{:.2f}x", over(measured, measured_step(winner))),
                          format_percent(over(c.predicted.step, measured) - 1),
                          fmt::format("{:.2f}", c.imbalance),
                          format_percent(over(c.recorded_step, measured) - 1),
                          fmt::format("{:.0f} %", 100 * round_spread(c)),
                          format_seconds(worked_step(c, cores)),
                          format_bytes(c.recorded_bytes), format_bytes(c.measured_bytes),
                          byte_error(c)});
  }
  return to_text(table) +
         "routing: rows of the busiest rank over the mean in the last step, and the error of a "
         "prediction that knows it\n"
         "core time: what the cores worked for a step, shared out evenly\n"
         "predicted peak: the memory model with the routed counts of the measured step\n";
}

JsonValue contest_json(const std::vector<Contender>& contenders) {
  JsonValue list = JsonValue::array();
  for (const Contender& c : contenders) {
    JsonValue medians = JsonValue::array();
    for (const double m : c.medians) medians.push_back(m);
    JsonValue json = JsonValue::object();
    json.set("label", c.label)
        .set("plan", summary(c.plan))
        .set("predicted_step_s", c.predicted.step.base())
        .set("measured_step_s", measured_step(c).base())
        .set("imbalance", c.imbalance)
        .set("recorded_routing_step_s", c.recorded_step.base())
        .set("medians_s", medians)
        .set("core_seconds", pleat::median(c.worked))
        .set("predicted_peak_bytes", c.recorded_bytes)
        .set("expected_routing_peak_bytes", c.predicted.peak_bytes())
        .set("measured_peak_bytes", c.measured_bytes);
    list.push_back(json);
  }
  return list;
}

std::string accuracy_text(const std::vector<Contender>& contenders, double others) {
  constexpr double kDisturbed = 0.05;
  std::string text;
  for (const auto& [known, when] : {std::pair{Foresight::before, "before the run"},
                                    {Foresight::recorded_routing, "knowing its routing"}}) {
    const Accuracy a = accuracy_of(contenders, known);
    text += fmt::format(
        "predicted {}: median error {:.1f} %; of {} pairs more than 20 % apart {} ran in that "
        "order\n",
        when, 100 * a.median_error, a.pairs, a.ranked);
  }
  if (others > kDisturbed) {
    text += fmt::format("other programs had {:.0f} % of the cores: the times mean little\n",
                        100 * others);
  }
  return text;
}

JsonValue accuracy_json(const std::vector<Contender>& contenders, double others) {
  const auto json = [&](Foresight known) {
    const Accuracy a = accuracy_of(contenders, known);
    return JsonValue::object()
        .set("median_error", a.median_error)
        .set("pairs", a.pairs)
        .set("ranked", a.ranked);
  };
  return json(Foresight::before)
      .set("cores_of_others", others)
      .set("recorded_routing", json(Foresight::recorded_routing));
}

}  // namespace pleat
