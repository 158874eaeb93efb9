// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat validate --html`.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/report/html/charts.hpp"
#include "cli/report/validation/validation_report.hpp"
#include "cli/report/validation/validation_sections.hpp"
#include "core/quantity.hpp"

namespace pleat::cli {
namespace {

constexpr std::size_t kFiltersFrom = 12;  // rows; smaller tables are read at a glance

void add_section(HtmlPage& page, const Section& s) {
  page.heading(s.title);
  if (!s.text.empty()) page.paragraph(s.text);
  if (!s.table.columns.empty()) page.table(s.table, s.table.rows.size() >= kFiltersFrom);
}

std::string hover(const ComparedRun& row, double measured, double predicted, const char* unit) {
  return fmt::format("{}<br>measured {:.4g} {}, predicted {:.4g}: {:+.1f}%", row.run.id, measured,
                     unit, predicted, 100 * (predicted / measured - 1));
}

// Both axes are logarithmic: rows span five orders of magnitude.
void add_time_chart(HtmlPage& page, const std::vector<ComparedRun>& rows) {
  std::map<std::string, Scatter::Group> tiers;
  for (const ComparedRun& row : rows) {
    if (!row.prediction || !row.step || !row.error) continue;
    Scatter::Group& group = tiers[row.run.tier];
    const double measured = row.step->seconds, predicted = row.prediction->estimate.step.base();
    group.x.push_back(measured);
    group.y.push_back(predicted);
    group.text.push_back(hover(row, measured, predicted, "s"));
  }
  Scatter chart{.x_title = "measured step, s",
                .y_title = "predicted step, s",
                .logarithmic = true,
                .diagonal = true};
  for (auto& [tier, group] : tiers) {
    group.name = "tier " + tier;
    chart.groups.push_back(std::move(group));
  }
  if (chart.groups.empty()) return;
  page.heading("Predicted against measured");
  page.chart(scatter(chart), 520, "Predicted against measured step times");
}

void add_error_chart(HtmlPage& page, const std::vector<ComparedRun>& rows) {
  std::map<std::string, std::vector<double>> tiers;
  for (const ComparedRun& row : rows) {
    if (row.error) tiers["tier " + row.run.tier].push_back(100 * *row.error);
  }
  if (tiers.empty()) return;
  Histogram chart{
      .groups = {tiers.begin(), tiers.end()}, .x_title = "error of the step time, %", .bin = 2.5};
  page.heading("Errors");
  page.chart(histogram(chart), 380, "Histogram of the errors of the step time");
}

void add_memory_chart(HtmlPage& page, const std::vector<ComparedRun>& rows) {
  std::map<std::string, Scatter::Group> tiers;
  for (const ComparedRun& row : rows) {
    if (!row.prediction || !row.memory_error || !row.run.measured.peak_bytes) continue;
    Scatter::Group& group = tiers[row.run.tier];
    const double measured = *row.run.measured.peak_bytes / kGiB;
    const double predicted = measured * (1 + *row.memory_error);
    group.x.push_back(measured);
    group.y.push_back(predicted);
    group.text.push_back(hover(row, measured, predicted, "GiB"));
  }
  if (tiers.empty()) return;
  Scatter chart{
      .x_title = "measured peak, GiB", .y_title = "predicted peak, GiB", .diagonal = true};
  for (auto& [tier, group] : tiers) {
    group.name = "tier " + tier;
    chart.groups.push_back(std::move(group));
  }
  page.heading("Peak memory");
  page.chart(scatter(chart), 480, "Predicted against measured peak memory");
}

}  // namespace

HtmlPage validation_page(const std::vector<ComparedRun>& rows, const Summary& s) {
  HtmlPage page("Predicted against published",
                fmt::format("{} rows: {} predicted, {} missed", s.rows, s.predicted, s.missed));
  add_time_chart(page, rows);
  add_error_chart(page, rows);
  add_memory_chart(page, rows);
  for (const Section& section : summary_sections(rows, s)) add_section(page, section);
  for (const Section& section : row_sections(rows)) add_section(page, section);
  return page;
}

}  // namespace pleat::cli
