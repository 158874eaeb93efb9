// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/html/capacity_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "cli/report/capacity_report.hpp"
#include "cli/report/html/capacity_tables.hpp"
#include "cli/report/html/charts.hpp"
#include "cli/report/run_commands.hpp"
#include "core/quantity.hpp"
#include "planner/capacity/amounts.hpp"
#include "planner/capacity/price_basis.hpp"

namespace pleat::cli {
namespace {

constexpr double kLeastDrawn = 1e-3;  // of days or dollars: what changes less is no bar

const char* const kColours[] = {"#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756",
                                "#72b7b2", "#eeca3b", "#9d755d", "#79706e", "#ff9da6"};

const char* confidence_name(Confidence c) { return c == Confidence::p50 ? "P50" : "P90"; }

int chart_height(std::size_t rows) { return std::min(1400, 140 + 26 * static_cast<int>(rows)); }

// Those that can be run, in the order of the answer.
std::vector<const Offer*> runnable(const CapacityAnswer& a) {
  std::vector<const Offer*> list;
  for (const Offer& o : a.offers) {
    if (o.problem.empty()) list.push_back(&o);
  }
  return list;
}

// Dollars are drawn in the largest of these that leaves no offer below 1.
struct Money {
  double unit = 1e6;
  const char* name = "million USD";
};
Money money_of(const std::vector<const Offer*>& offers) {
  for (const Offer* o : offers) {
    if (o->booking.dollars_p50 < 1e6) return {1e3, "thousand USD"};
  }
  return {};
}

struct Point {
  double days = 0, dollars = 0;
};
Point point_of(const Offer& o, Confidence c) {
  return {time_of(o.booking, c).base() / kDay, dollars_of(o.booking, c)};
}

void add_to(Scatter::Group& group, const Offer& o, Confidence c, Money money) {
  const Point p = point_of(o, c);
  group.x.push_back(p.days);
  group.y.push_back(p.dollars / money.unit);
  group.text.push_back(fmt::format("{} x {}<br>{:.1f} days, {}, {} GPUs paid<br>{}", o.gpus,
                                   o.cluster, p.days, dollars_text(p.dollars),
                                   o.booking.placement.paid_gpus, summary(o.job.plan)));
}

// A limit as a line over the span of the points.
Scatter::Group limit(const std::string& name, std::vector<double> x, std::vector<double> y) {
  return {.name = name, .x = std::move(x), .y = std::move(y), .dashed = true};
}

void add_limits(Scatter& chart, const CapacityAnswer& a, const std::vector<const Offer*>& offers,
                Money money) {
  const Confidence c = a.goal.confidence;
  Point least = point_of(*offers.front(), c), most = least;
  const auto widen = [&](const Point& p) {
    least = {std::min(least.days, p.days), std::min(least.dollars, p.dollars)};
    most = {std::max(most.days, p.days), std::max(most.dollars, p.dollars)};
  };
  for (const Offer* o : offers) widen(point_of(*o, c));
  const double deadline = a.goal.deadline ? a.goal.deadline->base() / kDay : least.days;
  const double budget = a.goal.budget.value_or(least.dollars);
  widen({deadline, budget});
  if (a.goal.deadline) {
    chart.groups.push_back(limit(fmt::format("deadline, {:.4g} days", deadline),
                                 {deadline, deadline},
                                 {least.dollars / money.unit, most.dollars / money.unit}));
  }
  if (a.goal.budget) {
    chart.groups.push_back(limit("budget, " + dollars_text(budget), {least.days, most.days},
                                 {budget / money.unit, budget / money.unit}));
  }
}

// Every cluster its points, the front joined, the recommended offers as stars, the goals as lines.
void add_pareto_chart(HtmlPage& page, const CapacityAnswer& a,
                      const std::vector<const Offer*>& offers) {
  const Confidence c = a.goal.confidence;
  const Money money = money_of(offers);
  Scatter chart{.x_title = fmt::format("days ({})", confidence_name(c)),
                .y_title = fmt::format("{} ({})", money.name, confidence_name(c)),
                .logarithmic = true};
  Scatter::Group front{.name = "front", .line = true, .colour = "#8c959f"};
  for (const std::size_t i : a.choice.front) add_to(front, a.offers[i], c, money);
  chart.groups.push_back(std::move(front));
  for (const Offer* o : offers) {
    if (chart.groups.back().name != o->cluster) {
      const char* colour = kColours[(chart.groups.size() - 1) % std::size(kColours)];
      chart.groups.push_back({.name = o->cluster, .colour = colour});
    }
    add_to(chart.groups.back(), *o, c, money);
  }
  const auto star = [&](const std::optional<std::size_t>& offer, const char* name,
                        const char* colour) {
    if (!offer) return;
    Scatter::Group group{.name = name, .colour = colour, .symbol = "star"};
    add_to(group, a.offers[*offer], c, money);
    chart.groups.push_back(std::move(group));
  };
  star(a.goal.deadline ? a.choice.cheapest : std::nullopt, "cheapest in time", "#2da44e");
  star(a.goal.budget ? a.choice.fastest : std::nullopt, "fastest within the budget", "#cf222e");
  add_limits(chart, a, offers, money);
  page.chart(scatter(chart), 480, "Days against dollars of every offer");
}

JsonValue numbers(const std::vector<double>& values, double unit) {
  JsonValue list = JsonValue::array();
  for (const double v : values) list.push_back(v * unit);
  return list;
}

JsonValue days_json(const WhatIf::Of& of, Confidence c) {
  JsonValue rows = JsonValue::array();
  for (const auto& row : of.finish) {
    JsonValue days = JsonValue::array();
    for (const auto& f : row) {
      const double seconds = !f ? INFINITY : (c == Confidence::p50 ? f->p50 : f->p90).base();
      days.push_back(std::isfinite(seconds) ? JsonValue(seconds / kDay) : JsonValue());
    }
    rows.push_back(std::move(days));
  }
  return rows;
}

// What what_if.js reads.
JsonValue what_if_json(const CapacityAnswer& a, const std::vector<const Offer*>& offers) {
  const Confidence c = a.goal.confidence;
  const Money money = money_of(offers);
  JsonValue json = JsonValue::object(), clusters = JsonValue::array(), list = JsonValue::array();
  std::vector<std::string> names;
  for (const WhatIf::Of& of : a.what_if->offers) {
    const Offer& o = a.offers[of.offer];
    if (names.empty() || names.back() != o.cluster) {
      clusters.push_back(JsonValue::object()
                             .set("name", o.cluster)
                             .set("price", o.rates.at(Rate::price))
                             .set("colour", kColours[names.size() % std::size(kColours)]));
      names.push_back(o.cluster);
    }
    JsonValue fits = JsonValue::array();
    for (const bool f : of.fits) fits.push_back(f);
    list.push_back(JsonValue::object()
                       .set("cluster", static_cast<int>(names.size() - 1))
                       .set("gpus", o.gpus)
                       .set("paid", o.booking.placement.paid_gpus)
                       .set("fits", std::move(fits))
                       .set("days", days_json(of, c)));
  }
  json.set("confidence", confidence_name(c)).set("unit", money.unit).set("unit_name", money.name);
  json.set("deadline", a.goal.deadline ? JsonValue(a.goal.deadline->base() / kDay) : JsonValue());
  json.set("budget", a.goal.budget ? JsonValue(*a.goal.budget) : JsonValue());
  json.set("tokens", numbers(a.what_if->tokens, a.tokens)).set("at_tokens", a.tokens);
  json.set("imbalance", numbers(a.what_if->imbalance, 1)).set("at_imbalance", 1);
  return json.set("clusters", std::move(clusters)).set("offers", std::move(list));
}

void add_what_if(HtmlPage& page, const CapacityAnswer& a, const std::vector<const Offer*>& offers) {
  if (!a.what_if || a.what_if->offers.empty()) return;
  page.heading("What if");
  const bool experts = a.what_if->imbalance.size() > 1;
  page.paragraph(fmt::format(
      "The plans stay as they are; a new search may find better ones. Days were computed for {} "
      "numbers of tokens{} when the page was made, and lie on lines between them; prices are "
      "multiplied in the page.{}",
      a.what_if->tokens.size(),
      experts ? fmt::format(" and {} loads of the busiest rank", a.what_if->imbalance.size()) : "",
      experts ? " The load is over the one that was asked for." : ""));
  page.what_if(what_if_json(a, offers));
}

// One tornado: what a fifth less and more of each input does.
void add_tornado(HtmlPage& page, const CapacityAnswer& a, double base, double unit,
                 const std::string& title,
                 const std::function<std::pair<double, double>(const Swing&)>& ends) {
  Tornado chart{
      .base = base / unit, .low_name = "a fifth less", .high_name = "a fifth more", .unit = title};
  for (const Swing& s : a.swings) {
    const auto [less, more] = ends(s);
    if (!std::isfinite(less) || !std::isfinite(more)) continue;
    if (std::max(std::abs(less - base), std::abs(more - base)) < kLeastDrawn * base) continue;
    chart.inputs.push_back({s.input, less / unit, more / unit});
  }
  if (chart.inputs.empty()) return;
  std::ranges::stable_sort(chart.inputs, std::greater{},
                           [](const Tornado::Input& i) { return std::abs(i.high - i.low); });
  page.chart(tornado(chart), chart_height(chart.inputs.size()), title);
}

void add_sensitivity(HtmlPage& page, const CapacityAnswer& a) {
  if (a.swings.empty() || !a.explained) return;
  const Offer& o = a.offers[*a.explained];
  const Confidence c = a.goal.confidence;
  page.heading(fmt::format("What matters most to {} x {}", o.gpus, o.cluster));
  page.paragraph(
      "Each input a fifth less and a fifth more, the rest as it is; inputs that change less "
      "than a thousandth are left out.");
  for (const Swing& s : a.swings) {
    if (std::isfinite(s.effect)) continue;
    page.paragraph(fmt::format("With a fifth {} it could not be run at all: {}.",
                               std::isfinite(s.time_less.base()) ? "more" : "less", s.input));
  }
  add_tornado(page, a, time_of(o.booking, c).base(), kDay, "days",
              [](const Swing& s) { return std::pair(s.time_less.base(), s.time_more.base()); });
  const Money money = money_of(runnable(a));
  add_tornado(page, a, dollars_of(o.booking, c), money.unit, money.name,
              [](const Swing& s) { return std::pair(s.dollars_less, s.dollars_more); });
}

std::string offer_name(const Offer& o) { return fmt::format("{} {}", o.gpus, o.cluster); }

// Paid time that trains nothing, in percent of all.
void add_losses_chart(HtmlPage& page, const std::vector<const Offer*>& offers) {
  StackedBars chart{.unit = "% of the GPU time paid for", .horizontal = true};
  for (const Offer* o : offers) chart.categories.push_back(offer_name(*o));
  const auto add = [&](const char* name, const char* colour, double PaidTime::*part) {
    StackedBars::Series series{name, {}, colour};
    for (const Offer* o : offers) {
      series.values.push_back(100 * (o->booking.paid.*part) / o->booking.paid.paid);
    }
    chart.series.push_back(std::move(series));
  };
  add("saves", "#4c78a8", &PaidTime::checkpoint);
  add("lost work", "#e45756", &PaidTime::lost);
  add("restarts", "#f58518", &PaidTime::restart);
  add("waiting for repairs", "#eeca3b", &PaidTime::waiting);
  add("idle spares", "#bab0ac", &PaidTime::idle);
  page.chart(stacked_bars(chart), chart_height(offers.size()),
             "Paid time of every offer that does not train, by kind");
}

void add_energy_chart(HtmlPage& page, const std::vector<const Offer*>& offers) {
  StackedBars chart{.unit = "MWh, expected", .horizontal = true};
  StackedBars::Series energy{"energy", {}, "#54a24b"};
  for (const Offer* o : offers) {
    chart.categories.push_back(offer_name(*o));
    energy.values.push_back(o->booking.energy_mwh);
  }
  chart.series.push_back(std::move(energy));
  page.chart(stacked_bars(chart), chart_height(offers.size()), "Energy of every offer");
}

void add_recommended(HtmlPage& page, const char* title, const CapacityAnswer& a,
                     const std::string& model, const Offer& o) {
  page.heading(fmt::format("{}: {} x {}", title, o.gpus, o.cluster));
  Table table{{{"", Align::left}, {"", Align::left}}, {}};
  for (const Fact& fact : offer_facts(o)) {
    table.rows.push_back(
        {fact.name, fmt::format("{}", fmt::join(fact.fields, fact.separator))});
  }
  page.table(table, false);
  page.paragraph("Its plan file, and the job:");
  page.command(plan_command(a, model, o) + "\n" +
               export_commands(Runtime::megatron, "plan.json"));
}

}  // namespace

HtmlPage capacity_page(const CapacityAnswer& a, const std::string& model,
                       const std::string& assumed) {
  HtmlPage page(fmt::format("What to book for {}", a.model), question_text(a));
  if (!a.complete) page.paragraph("Interrupted: offers are missing.");
  const std::vector<const Offer*> offers = runnable(a);
  if (!a.choice.cheapest && a.complete) page.paragraph(misses_text(a));
  if (a.goal.deadline && a.choice.cheapest) {
    add_recommended(page, "Cheapest that meets the deadline", a, model,
                    a.offers[*a.choice.cheapest]);
  }
  if (a.goal.budget && a.choice.fastest) {
    add_recommended(page, "Fastest within the budget", a, model, a.offers[*a.choice.fastest]);
  }
  if (!offers.empty()) {
    page.heading("Days against dollars");
    page.paragraph(
        "Each point is the best plan of one cluster and size. On the front no other is at "
        "least as fast and as cheap.");
    add_pareto_chart(page, a, offers);
    add_what_if(page, a, offers);
    add_sensitivity(page, a);
  }
  page.heading("Offers");
  page.table(offers_table(a), true);
  if (!offers.empty()) {
    page.heading("Paid time that does not train");
    page.paragraph(
        "The rest is useful. Goodput leaves idle spares out: it is a share of the run's time.");
    add_losses_chart(page, offers);
    page.heading("Energy");
    add_energy_chart(page, offers);
  }
  page.heading("Prices and failure rates");
  page.paragraph(price_basis_text(price_basis(a.offers)) +
                 ".\n--rate NAME=VALUE, --price and --mtbf override them.");
  page.table(rates_table(a), true);
  if (!assumed.empty()) page.paragraph(assumed);
  return page;
}

}  // namespace pleat::cli
