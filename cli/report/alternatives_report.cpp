// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/alternatives_report.hpp"

#include <fmt/format.h>

#include "cli/report/plan_report.hpp"
#include "console/tables.hpp"

namespace pleat::cli {
namespace {

constexpr double kTokens = 1e12;  // what GPU-hours and days are given for

// To train kTokens without failures and checkpoints.
double hours(const StepEstimate& e, const WorkloadSpec& w) {
  const double tokens = static_cast<double>(w.global_batch) * static_cast<double>(w.seq_len);
  return kTokens / tokens * e.step.base() / 3600;
}

std::string two_digit_ms(Seconds s) { return fmt::format("{:.2f}", s.base() * 1e3); }

std::string sizes_text(const std::vector<SizeResult>& sizes, const WorkloadSpec& w,
                       std::size_t columns) {
  Table table{{{"GPUs"},
               {"step ms"},
               {"tokens/s/GPU"},
               {"days/1T tokens"},
               {"GPU-hours/1T tokens"},
               {"plan", Align::left}},
              {}};
  std::vector<const Plan*> plans;
  for (const SizeResult& s : sizes) {
    if (!s.result.best.empty()) plans.push_back(&s.result.best.front().plan);
  }
  const std::vector<std::string> common = common_words(plans);
  for (const SizeResult& s : sizes) {
    if (s.result.best.empty()) {
      table.rows.push_back({std::to_string(s.gpus), "-", "-", "-", "-", s.problem});
      continue;
    }
    const Candidate& best = s.result.best.front();
    const double h = hours(best.estimate, w);
    table.rows.push_back({std::to_string(s.gpus), two_digit_ms(best.estimate.step),
                          fmt::format("{:.1f}", best.estimate.tokens_per_second_per_gpu),
                          fmt::format("{:.1f}", h / 24), fmt::format("{:.0f}", h * s.gpus),
                          summary_without(best.plan, common)});
  }
  return "\n" +
         with_common_words("by size, before failures and saves (see `pleat capacity`)", common,
                           columns) +
         to_text(table, columns);
}

JsonValue sizes_json(const std::vector<SizeResult>& sizes, const WorkloadSpec& w) {
  JsonValue list = JsonValue::array();
  for (const SizeResult& s : sizes) {
    JsonValue one = JsonValue::object();
    one.set("gpus", s.gpus);
    if (s.result.best.empty()) {
      one.set("problem", s.problem);
    } else {
      const Candidate& best = s.result.best.front();
      one.set("plan", summary(best.plan))
          .set("step_s", best.estimate.step.base())
          .set("gpu_hours_per_1t_tokens", hours(best.estimate, w) * s.gpus);
    }
    list.push_back(std::move(one));
  }
  return list;
}

std::string front_text(const Front& front, double slack, bool robust, std::size_t columns) {
  Table table{{{"step ms"}, {"slower"}, {"peak GiB"}, {"plan", Align::left}}, {}};
  std::vector<const Plan*> plans;
  for (const Candidate& c : front.plans) plans.push_back(&c.plan);
  const std::vector<std::string> common = common_words(plans);
  for (const Candidate& c : front.plans) {
    const double slower =
        value_of(c.estimate, robust) / value_of(front.plans.front().estimate, robust) - 1;
    table.rows.push_back({two_digit_ms(c.estimate.step), fmt::format("{:.1f}%", 100 * slower),
                          fmt::format("{:.2f}", static_cast<double>(c.estimate.peak_bytes()) /
                                                    (1024.0 * 1024 * 1024)),
                          summary_without(c.plan, common)});
  }
  const std::string title =
      fmt::format("step time against memory, up to {:g}% slower{}{} ({} priced in all, {:.2f} s)",
                  100 * slack, robust ? " at the band's upper end" : "",
                  front.optimal ? "" : ", cut short", format_count(front.priced), front.seconds);
  return "\n" + with_common_words(title, common, columns) + to_text(table, columns);
}

JsonValue front_json(const Front& front) {
  JsonValue list = JsonValue::array();
  for (const Candidate& c : front.plans) {
    list.push_back(JsonValue::object()
                       .set("plan", summary(c.plan))
                       .set("step_s", c.estimate.step.base())
                       .set("low_s", c.estimate.low.base())
                       .set("high_s", c.estimate.high.base())
                       .set("peak_bytes", c.estimate.peak_bytes()));
  }
  return list;
}

JsonValue hint_json(const SizeResult& fewer) {
  const Candidate& best = fewer.result.best.front();
  return JsonValue::object()
      .set("gpus", fewer.gpus)
      .set("step_s", best.estimate.step.base())
      .set("plan", summary(best.plan));
}

}  // namespace

std::string alternatives_text(const PlanAnswer& answer, const Problem& problem, double slack,
                              std::size_t columns) {
  std::string text;
  if (!answer.sizes.empty()) text += sizes_text(answer.sizes, problem.workload, columns);
  if (answer.front) text += front_text(*answer.front, slack, answer.search.robust, columns);
  return text;
}

std::string hint_text(const PlanAnswer& answer, const Problem& problem) {
  const SizeResult& fewer = *answer.faster_on_fewer;
  const bool robust = answer.search.robust;
  const Seconds own = value_of(answer.result.best.front().estimate, robust);
  const StepEstimate& best = fewer.result.best.front().estimate;
  return fmt::format(
      "{} GPUs would be {:.1f}% faster, {} ms a step; {} sequences do not divide over {} "
      "(--objective time-to-train compares sizes)",
      fewer.gpus, 100 * (own / value_of(best, robust) - 1), two_digit_ms(best.step),
      problem.workload.global_batch, answer.search.gpus);
}

void set_alternatives(const PlanAnswer& answer, const Problem& problem, JsonValue& document) {
  if (!answer.sizes.empty()) document.set("sizes", sizes_json(answer.sizes, problem.workload));
  if (answer.front) {
    document.set("front", front_json(*answer.front))
        .set("front_optimal", answer.front->optimal)
        .set("front_priced", answer.front->priced);
  }
  if (answer.faster_on_fewer) document.set("hint", hint_json(*answer.faster_on_fewer));
}

}  // namespace pleat::cli
