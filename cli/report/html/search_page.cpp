// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/html/search_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "application/request/typed_plan.hpp"
#include "cli/report/counter_words.hpp"
#include "cli/report/html/charts.hpp"
#include "cli/report/html/estimate_charts.hpp"
#include "core/quantity.hpp"
#include "planner/report/explain.hpp"

namespace pleat::cli {
namespace {

constexpr std::size_t kBars = 8;  // plans whose time is broken down

double gib(std::int64_t bytes) { return static_cast<double>(bytes) / kGiB; }

// Step time against peak memory; the front are the plans that nothing beats in both.
void add_pareto_chart(HtmlPage& page, const SearchResult& result,
                      const std::vector<Recipe>& recipes) {
  Scatter::Group front{"front", {}, {}, {}, true}, others{"other plans", {}, {}, {}, false},
      given{"recipes", {}, {}, {}, false};
  const auto add = [](Scatter::Group& group, const Candidate& c, const std::string& name) {
    group.x.push_back(gib(c.estimate.peak_bytes()));
    group.y.push_back(c.estimate.step.base());
    group.text.push_back(name + " " + summary(c.plan));
  };
  std::vector<std::size_t> order(result.best.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const StepEstimate &x = result.best[a].estimate, &y = result.best[b].estimate;
    return std::pair(x.peak_bytes(), x.step.base()) < std::pair(y.peak_bytes(), y.step.base());
  });
  double fastest = std::numeric_limits<double>::infinity();
  for (const std::size_t i : order) {
    const Candidate& c = result.best[i];
    const bool beaten = c.estimate.step.base() >= fastest;
    add(beaten ? others : front, c, fmt::format("#{}", i + 1));
    fastest = std::min(fastest, c.estimate.step.base());
  }
  for (const Recipe& r : recipes) add(given, r.candidate, r.name);
  Scatter chart{.groups = {std::move(others), std::move(front)},
                .x_title = "peak memory, GiB",
                .y_title = "step, s"};
  if (!given.x.empty()) chart.groups.push_back(std::move(given));
  page.chart(scatter(chart), 420, "Step time against peak memory of the plans");
}

// The best plan's step under each change.
void add_changes_chart(HtmlPage& page, const StepEstimate& best, const SensitivityAnswer& changes) {
  Tornado chart{.base = best.step.base(),
                .low_name = "20% less",
                .high_name = "20% more",
                .unit = "seconds of a step of #1"};
  for (const PlanSwing& s : changes.swings) {
    if (s.effect <= 0) continue;
    chart.inputs.push_back({s.input, s.less.own.base(), s.more.own.base()});
  }
  page.chart(tornado(chart), 140 + 26 * static_cast<int>(chart.inputs.size()),
             "Step of the best plan under each change of an input");
}

// "--tp 2 --pp 4": every plan of the table can be written to a file.
std::string typed(const Plan& plan) {
  return can_be_typed(plan) ? fmt::format("{}", fmt::join(typed_shape(plan), " ")) : "";
}

Table plans_table(const SearchResult& result) {
  Table table{{{"#"},
               {"step ms"},
               {"tokens/s/GPU"},
               {"MFU %"},
               {"bf16 MFU %"},
               {"peak GiB"},
               {"plan", Align::left},
               {"TP"},
               {"CP"},
               {"DP"},
               {"PP"},
               {"VPP"},
               {"EP"},
               {"ETP"},
               {"micro-batch"},
               {"against #1", Align::left},
               {"options of pleat predict", Align::left}},
              {}};
  for (std::size_t i = 0; i < result.best.size(); ++i) {
    const Candidate& c = result.best[i];
    const StepEstimate& e = c.estimate;
    const AttentionMapping& a = c.plan.attention;
    const auto n = [](auto value) { return std::to_string(value); };
    table.rows.push_back(
        {n(i + 1), fmt::format("{:.2f}", e.step.base() * 1e3),
         fmt::format("{:.1f}", e.tokens_per_second_per_gpu),
         fmt::format("{:.1f}", 100 * e.mfu_of_precision), fmt::format("{:.1f}", 100 * e.mfu),
         fmt::format("{:.2f}", gib(e.peak_bytes())), summary(c.plan), n(a.tp), n(a.cp), n(a.dp),
         n(a.pp), n(c.plan.vpp), n(c.plan.expert.ep), n(c.plan.expert.etp), n(c.plan.micro_batch),
         i == 0 ? "" : explain_difference(result.best.front(), c), typed(c.plan)});
  }
  return table;
}

Table rejected_table(const SearchResult& result) {
  Table table{{{"counter", Align::left}, {"plans"}, {"they", Align::left}}, {}};
  for (const auto& [name, count] : result.rejected) {
    table.rows.push_back({name, format_count(count), std::string(words_for_counter(name))});
  }
  return table;
}

Table recipes_table(const std::vector<Recipe>& recipes) {
  Table table{{{"recipe", Align::left},
               {"step ms"},
               {"peak GiB"},
               {"place"},
               {"plan", Align::left},
               {"source", Align::left}},
              {}};
  for (const Recipe& r : recipes) {
    const StepEstimate& e = r.candidate.estimate;
    table.rows.push_back({r.name, fmt::format("{:.2f}", e.step.base() * 1e3),
                          fmt::format("{:.2f}", gib(e.peak_bytes())),
                          r.place ? std::to_string(*r.place) : "-", summary(r.candidate.plan),
                          r.source});
  }
  return table;
}

}  // namespace

HtmlPage search_page(const Target& t, const SearchConfig& config, const SearchResult& result,
                     const std::vector<Recipe>& recipes, const SensitivityAnswer& changes,
                     const Trace& slots, const std::string& commands) {
  const Candidate& best = result.best.front();
  HtmlPage page(fmt::format("Plans for {} on {} x {}", t.model.name, t.gpus, t.cluster.name),
                fmt::format("{} sequences of {} tokens a step, {}, profile {}\nbest: {}",
                            t.workload.global_batch, t.workload.seq_len, precisions_text(config),
                            t.profile.name, summary(best.plan)));
  page.table(estimate_table(best.estimate, t.cluster), false);
  page.heading("Export and run the best plan");
  page.command(commands);
  page.heading("Time against memory");
  const std::size_t shown = result.best.size();
  page.paragraph(
      fmt::format("{}; {} were enumerated and {} priced.\n{}{}{}",
                  shown == 1 ? "The fastest plan" : fmt::format("The {} fastest plans", shown),
                  format_count(result.enumerated), format_count(result.priced),
                  certificate(result, layout_gap_of(result, t, config)),
                  result.neighbours ? "\n" : "", neighbours_text(result)));
  add_pareto_chart(page, result, recipes);
  page.heading("Where the time goes");
  std::vector<std::pair<std::string, const StepEstimate*>> bars;
  for (std::size_t i = 0; i < std::min(kBars, result.best.size()); ++i) {
    bars.push_back({fmt::format("#{}", i + 1), &result.best[i].estimate});
  }
  add_breakdown_chart(page, bars);
  page.heading("What would change the answer");
  page.paragraph(sensitivity_sentences(changes));
  add_changes_chart(page, best.estimate, changes);
  page.table(sensitivity_table(changes), false);
  page.heading("Plans");
  page.table(plans_table(result), true);
  if (!recipes.empty()) {
    page.heading("Recipes beside them");
    page.table(recipes_table(recipes), false);
  }
  page.heading("Memory of the best plan by stage");
  add_memory_chart(page, best.estimate, t.cluster);
  page.heading("Timeline of the best plan");
  add_timeline_chart(page, slots);
  if (!result.rejected.empty()) {
    page.heading("What became of the other plans");
    page.table(rejected_table(result), true);
  }
  if (!t.assumed.empty()) page.paragraph(assumed_text(t.assumed));
  return page;
}

}  // namespace pleat::cli
