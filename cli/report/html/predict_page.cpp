// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/html/predict_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/report/explain_report.hpp"
#include "cli/report/html/charts.hpp"
#include "cli/report/html/estimate_charts.hpp"
#include "simulator/estimate.hpp"

namespace pleat::cli {
namespace {

constexpr std::size_t kChangesDrawn = 20;
constexpr double kLeastPart = 1e-3;  // of the step

// What single changes gain and lose: the strongest, as bars from the plan's own step.
void add_changes_chart(HtmlPage& page, const StepEstimate& e, const Explanation& x) {
  Tornado chart{.base = e.step.base(),
                .low_name = "faster",
                .high_name = "slower",
                .unit = "seconds of a step"};
  for (const PricedChange& c : x.changes) {
    if (!c.fits || chart.inputs.size() == kChangesDrawn) break;
    const double step = c.step.base();
    if (std::abs(step - chart.base) < kLeastPart * chart.base) continue;
    chart.inputs.push_back({c.change.text, std::min(step, chart.base), std::max(step, chart.base)});
  }
  if (chart.inputs.empty()) return;
  page.chart(tornado(chart), 140 + 24 * static_cast<int>(chart.inputs.size()),
             "Step time under each single change that fits");
}

}  // namespace

HtmlPage predict_page(const Request& r, const Program& program, const StepEstimate& e,
                      const Explanation& x, const Trace& slots, const std::string& commands) {
  const Target& t = r.target;
  HtmlPage page(
      fmt::format("{} on {} x {}", t.model.name, t.gpus, t.cluster.name),
      fmt::format("{}\n{} sequences of {} tokens a step, {} microbatches; profile {} ({}), "
                  "constants {} at worst",
                  summary(r.plan), t.workload.global_batch, t.workload.seq_len,
                  program.plan.microbatches(t.workload.global_batch), t.profile.name,
                  runtime_name(program.runtime), source_name(e.source)));
  page.table(estimate_table(e, t.cluster), false);
  page.heading("Export and run this plan");
  page.command(commands);
  page.heading("What bounds the step");
  page.paragraph(bound_sentences(e, t.cluster, x));
  add_breakdown_chart(page, {{"step", &e}});
  page.heading("Memory by stage");
  add_memory_chart(page, e, t.cluster);
  page.heading("Timeline");
  add_timeline_chart(page, slots);
  page.heading("Single changes on the same GPUs");
  page.paragraph(change_sentences(e, x));
  add_changes_chart(page, e, x);
  page.table(changes_table(e, x.changes), true);
  page.heading(fmt::format("Operations of stage {}", x.stage));
  page.paragraph("Each alone on the device; overlap hides some of it.");
  page.table(ops_table(e, x, x.ops.size()), true);
  if (!t.assumed.empty()) page.paragraph(assumed_text(t.assumed));
  return page;
}

}  // namespace pleat::cli
