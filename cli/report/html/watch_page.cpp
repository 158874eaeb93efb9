// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/html/watch_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/report/html/charts.hpp"

namespace pleat::cli {
namespace {

constexpr std::size_t kStepsDrawn = 2000;  // a browser draws more slowly
const char* const kMeasured = "#4c78a8";
const char* const kPredicted = "#f58518";
const char* const kBand = "#8c959f";

// Of many steps every n-th, and the last.
std::vector<std::size_t> drawn_steps(std::size_t count) {
  const std::size_t every = count / kStepsDrawn + 1;
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < count; i += every) out.push_back(i);
  if (!out.empty() && out.back() + 1 != count) out.push_back(count - 1);
  return out;
}

void add_steps_chart(HtmlPage& page, const WatchReport& r) {
  Scatter chart{.x_title = "step", .y_title = "seconds of a step"};
  Scatter::Group steps{.name = "measured", .line = true, .colour = kMeasured};
  for (const std::size_t i : drawn_steps(r.steps.size())) {
    steps.x.push_back(static_cast<double>(r.steps[i].number));
    steps.y.push_back(r.steps[i].seconds);
  }
  const double first = steps.x.front(), last = steps.x.back();
  chart.groups.push_back(std::move(steps));
  const auto level = [&](const char* name, double seconds, const char* colour) {
    chart.groups.push_back({.name = name,
                            .x = {first, last},
                            .y = {seconds, seconds},
                            .dashed = true,
                            .colour = colour});
  };
  if (r.predicted) {
    const StepEstimate& e = r.predicted->estimate;
    level("predicted", e.step.base(), kPredicted);
    level("lower end of the band", e.low.base(), kBand);
    level("upper end of the band", e.high.base(), kBand);
  }
  page.chart(scatter(chart), 420, "Seconds of every step, with the prediction and its band");
}

void add_loss_chart(HtmlPage& page, const WatchReport& r) {
  Scatter::Group loss{.name = "loss", .line = true, .colour = kMeasured};
  for (const std::size_t i : drawn_steps(r.steps.size())) {
    const auto& said = r.steps[i].loss;
    if (!said || !std::isfinite(*said)) continue;
    loss.x.push_back(static_cast<double>(r.steps[i].number));
    loss.y.push_back(*said);
  }
  if (loss.x.size() < 2) return;
  Scatter chart{.x_title = "step", .y_title = "loss"};
  chart.groups.push_back(std::move(loss));
  page.heading("Loss");
  page.chart(scatter(chart), 320, "Loss by step");
}

// Fastest and slowest rank of each timer, and what the prediction has for it.
void add_timers(HtmlPage& page, const WatchReport& r) {
  if (r.timers.empty()) return;
  page.heading("Parts of a step, and ranks that differ");
  Table table{{{"timer", Align::left},
               {"fastest rank, s"},
               {"slowest rank, s"},
               {"differ, %"},
               {"predicted, s"},
               {"off, %"}},
              {}};
  for (const interop::RunTimer& t : r.timers) {
    const auto predicted = predicted_timer(r, t.name);
    table.rows.push_back({t.name, fmt::format("{:.4f}", t.least), fmt::format("{:.4f}", t.most),
                          t.least > 0 ? fmt::format("{:.1f}", 100 * (t.most / t.least - 1)) : "-",
                          predicted ? fmt::format("{:.4f}", *predicted) : "-",
                          predicted && *predicted > 0
                              ? fmt::format("{:+.1f}", 100 * (t.most / *predicted - 1))
                              : "-"});
  }
  page.table(table, false);
  page.paragraph(
      "Where the slowest rank is much over the fastest in a timer that takes long, stages or "
      "experts are loaded unevenly, or a GPU or link is slow. \"Off\" is the slowest rank against "
      "the prediction.");
}

}  // namespace

HtmlPage watch_page(const WatchReport& r, const std::string& log) {
  HtmlPage page(log, watch_line(r));
  Table facts{{{"what", Align::left}, {"so far", Align::left}}, {}};
  for (const auto& [name, what] : watch_facts(r)) facts.rows.push_back({name, what});
  page.table(facts, false);
  page.heading("Step time");
  add_steps_chart(page, r);
  add_loss_chart(page, r);
  add_timers(page, r);
  return page;
}

}  // namespace pleat::cli
